#ifndef HALYARD_MMA_F32_H
#define HALYARD_MMA_F32_H

/** \file
 * Products of float32 by tile instructions of bf16 (mma.h; a group of float32 is one element).
 *
 * Of the nine products of two numbers' parts (mma_parts.h) the six largest are summed in float32. That leaves out at most
 * 2^-22 |a b|, mostly much less and of either sign: sums of float32 are off by more (Henry, Tang, Heinecke: Leveraging the
 * bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations, ARITH 2019). Tile instructions take
 * numbers below 2^-126 for 0, so that a number below 2^-110 has fewer digits.
 *
 * Where a sum is no finite number, the block it is in is multiplied again in plain loops: an infinity times a part
 * that is 0 would be no number, and numbers above the largest of bf16 become infinite.
 */

#include "mma_columns.h"

namespace halyard_mma {

/** The pairs of parts that are multiplied, of which each shares one with the pair before: what is loaded decides
 * the speed. */
struct Pair {
    int a, b;
};
constexpr Pair kPairs[] = {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}, {0, 2}};
constexpr int kPairCount = 6;

/** Sums of Rows x Cols tiles, 1 x 1 to 2 x 2 whole ones, in registers. */
template<typename Tiles, typename Vectors, int Rows, int Cols>
class SumOfParts {
public:
    static void clear() {
        each<0, Rows * Cols>([](auto t) { Tiles::template zero<t.value>(); });
    }

    /** Adds the products of a step. The next parts of columns are made meanwhile, as other ports of the processor do that. All of
     * them before the products would take longer. */
    static void step(const RowParts &a, int s, const char *b, ColumnParts &columns) {
        const char *upper = a.tile(0, s), *lower = a.tile(Rows - 1, s);
        const bool more = columns.more();
        const int tiles = more ? columns.whole() : 0;
        if (tiles > 0) {
            const ColumnParts::Rows next = columns.rows();
            tiles == 2 ? pairs<2, 0>(upper, lower, b, next) : pairs<1, 0>(upper, lower, b, next);
            columns.made();
        } else {
            if (more) {
                columns.make<Vectors>();
            }
            pairs<0, 0>(upper, lower, b, {});
        }
    }

    static void store(const Matrix<void> &c) {
        each<0, Rows * Cols>(
            [&](auto t) { Tiles::template store<t.value>(c.at(t.value / Cols * kTileRows, t.value % Cols * kTileGroups), c.stride); });
    }

private:
    template<int I>
    struct Index {
        static constexpr int value = I;
    };

    template<int I, int End, typename F>
    static void each(F f) {
        if constexpr (I < End) {
            f(Index<I>());
            each<I + 1, End>(f);
        }
    }

    // All loads of a pair stand before its products. What is slower: each load as soon as its register is free, which is what pays for
    // bf16 (mma.h); prefetches of the next lines into L1; two by three tiles.
    //
    // Next   tiles of the unit that is made beside them
    template<int Next, int P>
    static void pairs(const char *upper, const char *lower, const char *b, ColumnParts::Rows next) {
        if constexpr (P < kPairCount) {
            constexpr Pair now = kPairs[P], before = P == 0 ? Pair{-1, -1} : kPairs[P - (P > 0)];
            if constexpr (now.a != before.a) {
                Tiles::template load<kA>(upper + now.a * kTileBytes, kRowBytes);
                if constexpr (Rows == 2) {
                    Tiles::template load<kA + 1>(lower + now.a * kTileBytes, kRowBytes);
                }
            }
            if constexpr (now.b != before.b) {
                each<0, Cols>([&](auto j) { Tiles::template load<kB + j.value>(b + (j.value * kParts + now.b) * kTileBytes, kRowBytes); });
            }
            constexpr int rows = Next > 0 ? kTileRows : 0;
            each<rows * P / kPairCount, rows *(P + 1) / kPairCount>([&](auto) { next.make_one<Tiles, Vectors, Next>(); });
            each<0, Rows * Cols>([](auto t) { Tiles::template multiply<t.value, kA + t.value / Cols, kB + t.value % Cols>(); });
            pairs<Next, P + 1>(upper, lower, b, next);
        }
    }
};

/** What a task keeps: the rows of its blocks, and columns. */
struct TaskParts {
    KeptRowParts<16> a;  // 32 rows each
    ColumnParts b;

    void forget() {
        a.forget();
        b.forget();
    }
    void release() {
        a.release();
        b.release();
    }
    size_t bytes() const {
        return a.bytes() + b.bytes();
    }
};

/** A product of float32, in blocks. */
template<typename Tiles, typename Vectors>
class ProductOfParts {
public:
    /** parts    keeps what is made for calls with the same operands
     * next_b    b of a product of the same size that comes after `calls` calls with this b, or null */
    ProductOfParts(const Product &p, TaskParts &parts, const void *next_b = nullptr, int calls = 1)
        : p_(p), parts_(parts), next_b_(next_b), calls_(calls), prefetches_{{p.written, steps()}, {p.read, steps()}} {}

    void run() {
        for (int row = 0; row < p_.rows; row += kBlock) {
            const int rows = least(kBlock, p_.rows - row);
            if (rows <= kSkinny) {
                Vectors::multiply_few(part(row, rows, 0, p_.cols));
                continue;
            }
            RowParts *a = parts_.a.find({p_.a.at(row, 0), p_.a.stride}, rows, p_.groups);
            if (!a || !parts_.b.begin<Vectors>({p_.b, p_.cols, p_.groups}, next_b_, calls_ * blocks())) {
                multiply_plainly<float, float, float>(part(row, rows, 0, p_.cols));
                continue;
            }
            a->make<Vectors>();
            for (int col = 0; col < p_.cols; col += kBlock) {
                const int cols = least(kBlock, p_.cols - col);
                const Product block = part(row, rows, col, cols);
                if (rows > kTileRows) {
                    cols > kTileGroups ? run<2, 2>(block, *a, col) : run<2, 1>(block, *a, col);
                } else {
                    cols > kTileGroups ? run<1, 2>(block, *a, col) : run<1, 1>(block, *a, col);
                }
            }
        }
    }

private:
    static constexpr int kBlock = ColumnParts::kColumns;
    // So few rows are multiplied by vectors, which are quicker up to some 10 rows.
    static constexpr int kSkinny = 8;
    static_assert(kBlock == 2 * kTileRows, "two by two tiles");

    int blocks() const {
        return (p_.rows + kBlock - 1) / kBlock;
    }
    int steps() const {
        return steps_of(p_.groups) * blocks() * ((p_.cols + kBlock - 1) / kBlock);
    }

    Product part(int row, int rows, int col, int cols) const {
        return {{p_.c.at(row, col), p_.c.stride},
                {p_.a.at(row, 0), p_.a.stride},
                {p_.b.at(0, col), p_.b.stride},
                rows,
                cols,
                p_.groups,
                p_.fresh,
                {},
                {},
                {},
                {},
                {}};
    }

    template<int Rows, int Cols>
    void run(const Product &block, const RowParts &a, int col) {
        using Sum = SumOfParts<Tiles, Vectors, Rows, Cols>;
        Sum::clear();
        const int count = steps_of(p_.groups);
        for (int s = 0; s < count; s++) {
            prefetches_.some();
            Sum::step(a, s, parts_.b.unit(col / kBlock * count + s), parts_.b);
        }
        const bool in_place = block.fresh && block.rows == Rows * kTileRows && block.cols == Cols * kTileGroups;
        alignas(64) float sums[Rows * kTileRows][Cols * kTileGroups];
        const Matrix<void> made = in_place ? block.c : Matrix<void>{sums, sizeof(sums[0])};
        Sum::store(made);
        for (int r = 0; r < block.rows; r++) {
            if (!Vectors::finite(static_cast<const float *>(made.at(r, 0)), block.cols)) {
                multiply_plainly<float, float, float>(block);
                return;
            }
        }
        for (int r = 0; r < block.rows && !in_place; r++) {
            Vectors::put(sums[r], block.cols, block.fresh, static_cast<float *>(block.c.at(r, 0)));
        }
    }

    const Product &p_;
    TaskParts &parts_;
    const void *next_b_;
    int calls_;
    Prefetches<Tiles> prefetches_;
};

}  // namespace halyard_mma

#endif
