// Pipelines with products that no op of ours has, for tests of what the tensor cores take: several products in a step, sums of several
// products, sums that are scaled in each step, and operands that are computed on the way in. Operands are 16-bit floats.

#include <Halide.h>

namespace {

using namespace Halide;
using Half = bfloat16_t;

Expr wide(const Expr &e) {
    return cast<float>(e);
}

// Rows and columns that a schedule rounds up read the last one there is.
Expr last(const Expr &i, const Expr &extent) {
    return min(i, extent - 1);
}

// y = relu(a b) c, with the columns of b in blocks.  a [k, m], b [k, n1], c [n2, n1], y [n2, m]
class BackToBack : public Generator<BackToBack> {
public:
    GeneratorParam<int> block{"block", 64};
    Input<Buffer<Half, 2>> a{"a"}, b{"b"}, c{"c"};
    Output<Buffer<Half, 2>> y{"y"};

    void generate() {
        const RDom k(0, a.width(), "k");
        const Expr inner = kb * block + j;
        t(j, row, kb) += wide(a(k, last(row, a.height()))) * wide(b(k, last(inner, b.height())));
        h(j, row, kb) = cast<Half>(select(inner < b.height(), max(t(j, row, kb), 0.0f), 0.0f));
        const RDom key(0, block, "key");
        pv(col, row, kb) += wide(h(key, row, kb)) * wide(c(col, last(kb * block + key, b.height())));
        const RDom blocks(0, (b.height() + block - 1) / block, "block");
        acc(col, row) = 0.0f;
        acc(col, row) = acc(col, row) + pv(col, row, blocks);
        y(col, row) = cast<Half>(acc(col, row));
    }

private:
    Var col{"col"}, row{"row"}, j{"j"}, kb{"kb"};
    Func t{"t"}, h{"h"}, pv{"pv"}, acc{"acc"};
};

// A gated block in one pass: y = (relu(a g) * (a u)) c.  g, u [k, n1]
class GatedBlock : public Generator<GatedBlock> {
public:
    GeneratorParam<int> block{"block", 64};
    Input<Buffer<Half, 2>> a{"a"}, g{"g"}, u{"u"}, c{"c"};
    Output<Buffer<Half, 2>> y{"y"};

    void generate() {
        const RDom k(0, a.width(), "k");
        const Expr inner = last(kb * block + j, g.height());
        gate(j, row, kb) += wide(a(k, last(row, a.height()))) * wide(g(k, inner));
        up(j, row, kb) += wide(a(k, last(row, a.height()))) * wide(u(k, inner));
        h(j, row, kb) = cast<Half>(select(kb * block + j < g.height(), max(gate(j, row, kb), 0.0f) * up(j, row, kb), 0.0f));
        const RDom key(0, block, "key");
        pv(col, row, kb) += wide(h(key, row, kb)) * wide(c(col, last(kb * block + key, g.height())));
        const RDom blocks(0, (g.height() + block - 1) / block, "block");
        acc(col, row) = 0.0f;
        acc(col, row) = acc(col, row) + pv(col, row, blocks);
        y(col, row) = cast<Half>(acc(col, row));
    }

private:
    Var col{"col"}, row{"row"}, j{"j"}, kb{"kb"};
    Func gate{"gate"}, up{"up"}, h{"h"}, pv{"pv"}, acc{"acc"};
};

// Two products of rows that an index says, each tile of them by its own matrix: y = relu(a[index] g[member]) * (a[index] u[member]). Of a
// tile `length` rows count.  a [k, m], g, u [k, n, members], index [block * tiles], member, length [tiles], y [n, block, tiles]
class GatheredGates : public Generator<GatheredGates> {
public:
    GeneratorParam<int> block{"block", 64};
    GeneratorParam<bool> across{"across", false};    // rows one after the other, not by the index
    GeneratorParam<bool> doubled{"doubled", false};  // and as many as `length` says itself, so that loops end there
    GeneratorParam<bool> twice{"twice", false};      // rows are computed on the way in
    Input<Buffer<Half, 2>> a{"a"};
    Input<Buffer<Half, 3>> g{"g"}, u{"u"};
    Input<Buffer<int32_t, 1>> index{"index"}, member{"member"}, length{"length"};
    Output<Buffer<Half, 3>> y{"y"};

    void generate() {
        count(tile) = clamp(length(tile), 0, block);
        RDom k(0, a.width(), "k");
        k.where(count(tile) > 0);
        const Expr at = tile * block + row, from = across ? last(at, a.height()) : clamp(index(at), 0, a.height() - 1),
                   of = clamp(member(tile), 0, g.dim(2).extent() - 1);
        const Expr element = twice ? wide(cast<Half>(wide(a(k, from)) * 2)) : wide(a(k, from));
        const Expr v = select(row < (doubled ? length(tile) : count(tile)), element, 0.0f);
        gate(col, row, tile) += v * wide(g(k, last(col, g.height()), of));
        up(col, row, tile) += v * wide(u(k, last(col, g.height()), of));
        y(col, row, tile) = cast<Half>(max(gate(col, row, tile), 0.0f) * up(col, row, tile));
    }

private:
    Var col{"col"}, row{"row"}, tile{"tile"};
    Func count{"count"}, gate{"gate"}, up{"up"};
};

// A product that is stored in the first half of the rows, and 7 in the others. `doubled`: its rows are computed on the way in.
class HalfOfRows : public Generator<HalfOfRows> {
public:
    GeneratorParam<bool> doubled{"doubled", false};
    GeneratorParam<bool> within{"within", false};  // for a stage that comes after
    Input<Buffer<Half, 2>> a{"a"}, b{"b"};
    Output<Buffer<Half, 2>> y{"y"};

    void generate() {
        const RDom k(0, a.width(), "k"), r(0, (a.height() + 1) / 2, "r");
        const Expr of_row = wide(a(k, last(row, a.height())));
        acc(col, row) += (doubled ? wide(cast<Half>(of_row * 2)) : of_row) * wide(b(k, last(col, b.height())));
        Func rows = within ? half : Func(y);
        rows(col, row) = cast<Half>(7);
        rows(col, r) = cast<Half>(acc(col, r));
        if (within) {
            y(col, row) = half(col, row);
        }
    }

private:
    Var col{"col"}, row{"row"};
    Func acc{"acc"}, half{"half"};
};

// Weights of 8 bits with a scale for each column: y = (a b) * s.  b [k, n] or, across, [n, k]
class Weights8 : public Generator<Weights8> {
public:
    GeneratorParam<bool> across{"across", false};
    Input<Buffer<Half, 2>> a{"a"};
    Input<Buffer<int8_t, 2>> b{"b"};
    Input<Buffer<float, 1>> s{"s"};
    Output<Buffer<Half, 2>> y{"y"};

    void generate() {
        const RDom k(0, a.width(), "k");
        const Expr weight = across ? b(last(col, b.width()), k) : b(k, last(col, b.height()));
        acc(col, row) += wide(a(k, last(row, a.height()))) * wide(cast<Half>(weight));
        y(col, row) = cast<Half>(acc(col, row) * s(col));
    }

private:
    Var col{"col"}, row{"row"};
    Func acc{"acc"};
};

// Weights of 4 bits, two in a byte, with a scale and a zero point for each 32 of a column.  b [k / 2, n], s, z [k / 32, n]
class Weights4 : public Generator<Weights4> {
public:
    Input<Buffer<Half, 2>> a{"a"};
    Input<Buffer<uint8_t, 2>> b{"b"};
    Input<Buffer<Half, 2>> s{"s"};
    Input<Buffer<uint8_t, 2>> z{"z"};
    Output<Buffer<Half, 2>> y{"y"};

    void generate() {
        const RDom k(0, a.width(), "k");
        const Expr column = last(col, b.height()), byte = b(k / 2, column);
        const Expr number = cast<float>((byte >> cast<uint8_t>(k % 2 * 4)) & 15) - cast<float>(z(k / 32, column));
        acc(col, row) += wide(a(k, last(row, a.height()))) * wide(cast<Half>(number * wide(s(k / 32, column))));
        y(col, row) = cast<Half>(acc(col, row));
    }

private:
    Var col{"col"}, row{"row"};
    Func acc{"acc"};
};

// A weight for each element of a's rows, as of RMSNorm, and one for each row: y = (a * w * r) b.
class ScaledRows : public Generator<ScaledRows> {
public:
    Input<Buffer<Half, 2>> a{"a"}, b{"b"};
    Input<Buffer<Half, 1>> w{"w"};
    Input<Buffer<float, 1>> r{"r"};
    Output<Buffer<Half, 2>> y{"y"};

    void generate() {
        const RDom k(0, a.width(), "k");
        const Expr i = last(row, a.height());
        aw(kk, row) = cast<Half>(wide(a(kk, i)) * wide(w(kk)) * r(i));
        acc(col, row) += wide(aw(k, row)) * wide(b(k, last(col, b.height())));
        y(col, row) = cast<Half>(acc(col, row));
    }

private:
    Var col{"col"}, row{"row"}, kk{"kk"};
    Func acc{"acc"}, aw{"aw"};
};

// Two products in one sum, as LoRA's and the two parts of MLA's scores: y = (a b + a2 b2) r, with a number for each row.
class TwoSums : public Generator<TwoSums> {
public:
    GeneratorParam<bool> doubled{"doubled", false};  // the rows of both are computed on the way in
    Input<Buffer<Half, 2>> a{"a"}, b{"b"}, a2{"a2"}, b2{"b2"};
    Input<Buffer<float, 1>> r{"r"};
    Output<Buffer<Half, 2>> y{"y"};

    void generate() {
        const RDom k(0, a.width(), "k"), k2(0, a2.width(), "k2");
        const auto of_row = [&](const Expr &x) { return doubled ? wide(cast<Half>(wide(x) * 2)) : wide(x); };
        acc(col, row) += of_row(a(k, last(row, a.height()))) * wide(b(k, last(col, b.height())));
        acc(col, row) += of_row(a2(k2, last(row, a.height()))) * wide(b2(k2, last(col, b.height())));
        y(col, row) = cast<Half>(acc(col, row) * r(row));
    }

private:
    Var col{"col"}, row{"row"};
    Func acc{"acc"};
};

// Sums of 64 of the depth, each scaled: acc += part * s.  s [k / 64, m]
class BlockScaled : public Generator<BlockScaled> {
public:
    Input<Buffer<Half, 2>> a{"a"}, b{"b"};
    Input<Buffer<float, 2>> s{"s"};
    Output<Buffer<Half, 2>> y{"y"};

    void generate() {
        const RDom k(0, 64, "k"), kb(0, a.width() / 64, "kb");
        part(col, row, step) += wide(a(step * 64 + k, last(row, a.height()))) * wide(b(step * 64 + k, last(col, b.height())));
        acc(col, row) = 0.0f;
        acc(col, row) = acc(col, row) + part(col, row, kb) * s(kb, last(row, a.height()));
        y(col, row) = cast<Half>(acc(col, row));
    }

private:
    Var col{"col"}, row{"row"}, step{"step"};
    Func acc{"acc"}, part{"part"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(BackToBack, back_to_back)
HALIDE_REGISTER_GENERATOR(GatedBlock, gated_block)
HALIDE_REGISTER_GENERATOR(HalfOfRows, half_of_rows)
HALIDE_REGISTER_GENERATOR(GatheredGates, gathered_gates)
HALIDE_REGISTER_GENERATOR(Weights8, weights_8)
HALIDE_REGISTER_GENERATOR(Weights4, weights_4)
HALIDE_REGISTER_GENERATOR(ScaledRows, scaled_rows)
HALIDE_REGISTER_GENERATOR(TwoSums, two_sums)
HALIDE_REGISTER_GENERATOR(BlockScaled, block_scaled)
