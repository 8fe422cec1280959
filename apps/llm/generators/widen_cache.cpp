// Keys and values of a cache as f16, which the tensor cores multiply: y = x, times the scale of its head and token where it is in 8 bits.

#include <Halide.h>

#include "math/elements.h"

namespace {

using namespace Halide;
using namespace halyard;

class WidenCache : public Generator<WidenCache> {
public:
    GeneratorParam<Type> from{"from", BFloat(16)};  // bfloat16 or int8

    Input<Buffer<void, 4>> x{"x"};          // [d, keys, key_heads, 2]: keys, then values
    Input<Buffer<float>> *scale = nullptr;  // [keys, key_heads, 2], of 8 bits
    Output<Buffer<float16_t, 4>> y{"y"};    // as x

    void configure() {
        const bool scaled = from.value() == Int(8);
        x.set_type(scaled ? Int(8) : storage_type(from));
        if (scaled) {
            scale = add_input<Buffer<float>>("scale", 3);
        }
    }

    void generate() {
        const Expr value = scale ? cast<float>(x(col, key, head, part)) * (*scale)(key, head, part) : load_f32(x(col, key, head, part));
        y(col, key, head, part) = store_as(Float(16), value);
    }

private:
    Var col{"col"}, key{"key"}, head{"head"}, part{"part"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(WidenCache, widen_cache)
