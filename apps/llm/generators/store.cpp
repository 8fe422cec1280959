// Keys or values of tokens on their way into a cache of another type. In 8 bits a head of a token has a scale: its largest by 127.

#include <Halide.h>

#include "head_rounding.h"
#include "math/elements.h"

namespace {

using namespace Halide;
using namespace halyard;

class Store : public Generator<Store> {
public:
    GeneratorParam<Type> type{"type", Float(16)};  // float16, bfloat16 or int8

    Input<Buffer<float, 3>> x{"x"};             // [d, heads, tokens]
    Output<Buffer<void, 3>> y{"y"};             // the same
    Output<Buffer<float, 2>> *scale = nullptr;  // [heads, tokens]

    void configure() {
        y.set_type(type);
        if (rounds()) {
            scale = add_output<Buffer<float, 2>>("scale");
        }
    }

    void generate() {
        if (!rounds()) {
            y(d, head, token) = store_as(type, x(d, head, token));
            return;
        }
        RDom r(0, x.dim(0).extent(), "depth");
        largest(head, token) = 0.0f;
        largest(head, token) = max(largest(head, token), abs(x(r, head, token)));
        const Expr most = largest(head, token);
        inverse(head, token) = halyard_llm::inverse_head_scale(most);
        y(d, head, token) = halyard_llm::rounded_to_8_bits(x(d, head, token), inverse(head, token));
        (*scale)(head, token) = halyard_llm::head_scale(most);
        scale->dim(0).set_stride(Expr());
        y.dim(0).set_bounds(0, x.dim(0).extent());
    }

private:
    bool rounds() const {
        return type.value() == Int(8);
    }

    Var d{"d"}, head{"head"}, token{"token"};
    Func largest{"largest"}, inverse{"inverse"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Store, store)
