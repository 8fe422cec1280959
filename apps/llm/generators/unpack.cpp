// Weights in interleaved blocks as numbers of 16 bits, along k: what tensor cores multiply by rows of 16 bits.

#include <Halide.h>

#include "math/blocks.h"
#include "math/elements.h"
#include "math/number.h"
#include "math/panel_weights.h"

namespace {

using namespace Halide;
using namespace halyard;

class Unpack : public Generator<Unpack> {
public:
    GeneratorParam<Type> type{"type", Float(16)};  // of y: float32, float16 or bfloat16
    GeneratorParam<BlockFormat> format{"format", BlockFormat::kQ4_0, block_formats()};
    Number interleaved{"interleaved", 16, 8, 32};  // columns whose blocks are

    BlockWeights b;
    Output<Buffer<void, 2>> y{"y"};  // [k, n]

    void configure() {
        b.interleave(interleaved);
        b.add_to(*this, "b", format, BlockWeights::kBlock, false);
        y.set_type(storage_type(type));
    }

    void generate() {
        constexpr int kBlock = BlockWeights::kBlock, kLanes = BlockWeights::kLanes;
        const Expr depth = y.width();
        add_requirement(depth % b.multiple() == 0, "unpack: k is", depth, "and not a multiple of", b.multiple());
        add_requirement(b.interleaved_columns() >= y.height(), "unpack:", b.name(), "has", b.interleaved_columns(), "columns, and y",
                        y.height());
        const PanelWeights w(b, "w", {block}, block);
        const int columns = interleaved;
        y(k, col) = store_as(type, w.element(k % 4, k % kLanes / 4, k % kBlock / kLanes, k / kBlock, col % columns, col / columns));
        y.dim(0).set_min(0);
        y.dim(1).set_min(0);
        b.constrain(depth);
    }

private:
    Var k{"k"}, col{"col"}, block{"block"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Unpack, unpack)
