// A product of many rows with weights in the blocks of a GGUF file, which become f32 in panels of columns: y = a w + residual.
//
// For few rows there is gemm_q, which never stores a weight. Here a panel is stored once, for all rows that meet it.

#include <Halide.h>

#include <map>
#include <string>

namespace {

using namespace Halide;

enum class Format { kQ4_0, kQ4_1, kQ8_0 };

class BlockGemm : public Generator<BlockGemm> {
public:
    GeneratorParam<Format> format{"format", Format::kQ4_1, {{"q4_0", Format::kQ4_0}, {"q4_1", Format::kQ4_1}, {"q8_0", Format::kQ8_0}}};

    Input<Buffer<float, 2>> a{"a"};                // [k, m]
    Input<Buffer<uint8_t, 3>> b{"b"};              // [bytes of a block, k / 32, n]
    Input<Buffer<float, 2>> residual{"residual"};  // [n, m]
    Output<Buffer<float, 2>> y{"y"};               // [n, m]

    void generate() {
        constexpr int kBlock = 32;
        const Expr depth = a.width(), columns = y.dim(0).max() + 1;
        add_requirement(depth % kBlock == 0, "block_gemm: k is", depth, "and not a multiple of", kBlock);
        // Columns that a panel has beyond the last are read as the last.
        b_rows(k, col) = weight(k % kBlock, k / kBlock, min(col, columns - 1));
        b_f(col, k) = b_rows(k, col);
        RDom r(0, depth, "k");
        acc(col, row) += a(r, row) * b_f(col, r);
        y(col, row) = acc(col, row) + residual(col, row);
        b.dim(0).set_bounds(0, bytes());
        b.dim(1).set_bounds(0, depth / kBlock);
        b.dim(2).set_min(0);
        residual.dim(0).set_min(0);
    }

private:
    int bytes() const {
        return format == Format::kQ8_0 ? 34 : format == Format::kQ4_1 ? 20 : 18;
    }

    Expr half(int at, const Expr &block, const Expr &column) const {
        return cast<float>(reinterpret(Float(16), cast<uint16_t>(b(at, block, column)) | cast<uint16_t>(b(at + 1, block, column)) << 8));
    }

    Expr weight(const Expr &i, const Expr &block, const Expr &column) const {
        const Expr scale = half(0, block, column);
        if (format == Format::kQ8_0) {
            return cast<float>(reinterpret<int8_t>(b(2 + i, block, column))) * scale;
        }
        const int header = format == Format::kQ4_1 ? 4 : 2;
        const Expr byte = cast<int32_t>(b(header + i % 16, block, column));
        const Expr q = select(i < 16, byte & 15, byte >> 4);
        return format == Format::kQ4_1 ? cast<float>(q) * scale + half(2, block, column) : cast<float>(q - 8) * scale;
    }

    Var col{"col"}, row{"row"}, k{"k"};
    Func b_rows{"b_rows"}, b_f{"b_f"}, acc{"acc"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(BlockGemm, block_gemm)
