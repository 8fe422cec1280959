#ifndef HALYARD_MMA_F32_H
#define HALYARD_MMA_F32_H

/** \file
 * Products of float32 by tile instructions of bf16 (mma.h; a group of float32 is one element).
 *
 * Of the nine products of two numbers' parts (mma_parts.h) the six largest are summed in float32. That leaves out at most
 * 2^-23 |a b|, mostly much less and of either sign: sums of float32 are off by more (Henry, Tang, Heinecke: Leveraging the
 * bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations, ARITH 2019). Tile instructions take
 * numbers below 2^-126 for 0, so that a number below 2^-110 has fewer digits.
 *
 * Where a sum is no finite number, the block it is in is multiplied again in plain loops: an infinity times a part
 * that is 0 would be no number, and numbers above the largest of bf16 become infinite.
 */

#include "mma_parts.h"

namespace halyard_mma {

/** The pairs of parts that are multiplied, of which each shares one with the pair before: what is loaded decides
 * the speed. */
struct Pair {
    int a, b;
};
constexpr Pair kPairs[] = {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}, {0, 2}};
constexpr int kPairCount = 6;

/** What is done beside the products, some of it at each pair: lines are asked for, and the next panel is taken apart, which
 * other ports do meanwhile. Emerald Rapids, 256 x 1536 x 384: 241 GFLOP/s without, 285 with it; 64 rows 168 and 197. */
template<typename Tiles, typename Vectors>
struct Beside {
    Prefetches<Tiles> prefetches;
    Parts *next = nullptr;
    int rows = 0;  // of its tiles, each time

    void some() {
        prefetches.some();
        if (next) {
            next->template split_columns<Tiles, Vectors>(rows);
        }
    }
};

/** Sums of Rows x Cols tiles, as Block in mma.h has them: all tiles are whole here. */
template<typename Tiles, int Rows, int Cols, typename Beside>
class SumOfParts {
public:
    SumOfParts(const Parts &a, const Parts &b, int b_strip, Beside &beside)
        : a_(a), b_(b), b_strip_(b_strip), beside_(beside) {
    }

    /** Leaves the sums in `c`. */
    void run(const Matrix<void> &c) {
        each<0, Rows * Cols>([&](auto t) { Tiles::template zero<t.value>(); });
        for (int s = 0; s < a_.steps(); s++) {
            each<0, kPairCount>([&](auto pair) {
                beside_.some();
                if constexpr (kTurns) {
                    in_turns<pair.value>(s);
                } else {
                    in_order<pair.value>(s);
                }
            });
        }
        each<0, Rows * Cols>([&](auto t) {
            Tiles::template store<t.value>(c.at(t.value / Cols * kTileRows, t.value % Cols * kTileGroups), c.stride);
        });
    }

private:
    static constexpr bool kSquare = Rows == 2 && Cols == 2, kTurns = Rows == 2 && Cols == 3;

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

    template<int I, int Part>
    void load_a(int step) {
        Tiles::template load<kTurns ? kTurnsA : kA + I>(a_.tile(I, step, Part), 64);
    }
    template<int J, int Part>
    void load_b(int step) {
        Tiles::template load<kTurns ? kTurnsB : b_tile(J)>(b_.tile(b_strip_ + J, step, Part), 64);
    }

    static constexpr int b_tile(int j) {
        return kA + Rows + j % (4 - Rows);
    }

    // The row of tiles that a pair begins with: the one whose part is loaded still.
    static constexpr int first_row(int pair) {
        return pair > 0 && kPairs[pair].a == kPairs[pair - 1].a ? 1 - first_row(pair - 1) : 0;
    }

    // There and back along the columns of b, with one register for each operand.
    template<int P>
    void in_turns(int s) {
        constexpr int row = first_row(P), other = 1 - row;
        if constexpr (P == 0 || kPairs[P].a != kPairs[P - 1].a) {
            load_a<row, kPairs[P].a>(s);
        }
        if constexpr (P == 0 || kPairs[P].b != kPairs[P - 1].b) {
            load_b<0, kPairs[P].b>(s);
        }
        Tiles::template multiply<row * Cols, kTurnsA, kTurnsB>();
        load_b<1, kPairs[P].b>(s);
        Tiles::template multiply<row * Cols + 1, kTurnsA, kTurnsB>();
        load_b<2, kPairs[P].b>(s);
        Tiles::template multiply<row * Cols + 2, kTurnsA, kTurnsB>();
        load_a<other, kPairs[P].a>(s);
        Tiles::template multiply<other * Cols + 2, kTurnsA, kTurnsB>();
        load_b<1, kPairs[P].b>(s);
        Tiles::template multiply<other * Cols + 1, kTurnsA, kTurnsB>();
        load_b<0, kPairs[P].b>(s);
        Tiles::template multiply<other * Cols, kTurnsA, kTurnsB>();
    }

    // All loads before the products. Emerald Rapids, 256 x 64 x 384 in L2: 177 ns a step of 24 products, which take 132 by
    // themselves; each load as soon as its register is free, which is what pays for bf16, 416; with the next lines prefetched
    // into L1 260. Two by three tiles 195.
    template<int P>
    void in_order(int s) {
        if constexpr (P == 0 || kPairs[P].a != kPairs[P - 1].a) {
            each<0, Rows>([&](auto i) { load_a<i.value, kPairs[P].a>(s); });
        }
        if constexpr (kSquare && (P == 0 || kPairs[P].b != kPairs[P - 1].b)) {
            each<0, Cols>([&](auto j) { load_b<j.value, kPairs[P].b>(s); });
        }
        each<0, Cols>([&](auto j) {
            if constexpr (!kSquare) {
                load_b<j.value, kPairs[P].b>(s);
            }
            each<0, Rows>([&](auto i) { Tiles::template multiply<i.value * Cols + j.value, kA + i.value, b_tile(j.value)>(); });
        });
    }

    const Parts &a_, &b_;
    int b_strip_;
    Beside &beside_;
};

/** A product of float32, in blocks. */
template<typename Tiles, typename Vectors>
class ProductOfParts {
public:
    /** parts    keeps what is made for calls with the same operands
     * next_b    b of a product of the same size that comes after `calls` calls with this b, or null */
    ProductOfParts(const Product &p, TaskParts &parts, const void *next_b = nullptr, int calls = 1)
        : p_(p), parts_(parts), next_b_(next_b), calls_(calls) {
    }

    void run() {
        Parts *b = parts_.b.find(p_.b, p_.cols, p_.groups);
        if (b) {
            b->template split_columns<Tiles, Vectors>(b->rows());
        }
        auto beside = what_is_beside(b);
        for (int row = 0; row < p_.rows; row += 2 * kTileRows) {
            const int rows = least(2 * kTileRows, p_.rows - row);
            Parts *a = parts_.a.find({p_.a.at(row, 0), p_.a.stride}, rows, p_.groups);
            if (a) {
                a->template split_rows<Vectors>();
            }
            for (int col = 0, cols = 0; col < p_.cols; col += cols) {
                const int left = p_.cols - col, tiles_left = (left + kTileGroups - 1) / kTileGroups;
                const int tiles = rows <= kTileRows ? least(4, tiles_left) : tiles_left == 3 ? 3 : least(2, tiles_left);
                cols = least(tiles * kTileGroups, left);
                const Product block = part(row, rows, col, cols);
                if (!a || !b) {
                    multiply_plainly<float, float, float>(block);
                } else if (rows > kTileRows) {
                    tiles == 3   ? run<2, 3>(block, *a, *b, col, beside)
                    : tiles == 2 ? run<2, 2>(block, *a, *b, col, beside)
                                 : run<2, 1>(block, *a, *b, col, beside);
                } else {
                    tiles == 4   ? run<1, 4>(block, *a, *b, col, beside)
                    : tiles == 3 ? run<1, 3>(block, *a, *b, col, beside)
                    : tiles == 2 ? run<1, 2>(block, *a, *b, col, beside)
                                 : run<1, 1>(block, *a, *b, col, beside);
                }
            }
        }
    }

private:
    Beside<Tiles, Vectors> what_is_beside(const Parts *b) const {
        const int steps = (p_.groups + kTileDepth - 1) / kTileDepth;
        const int blocks = (p_.rows + 2 * kTileRows - 1) / (2 * kTileRows) * ((p_.cols + 4 * kTileGroups - 1) / (4 * kTileGroups));
        const int times = steps * kPairCount * blocks;
        Parts *next = next_b_ && times > 0 ? parts_.b.find({next_b_, p_.b.stride}, p_.cols, p_.groups, b) : nullptr;
        const int all = times * calls_;
        return {{{p_.written, times}, {p_.read, times}}, next, next ? (next->rows() + all - 1) / all : 0};
    }

    Product part(int row, int rows, int col, int cols) const {
        return {{p_.c.at(row, col), p_.c.stride}, {p_.a.at(row, 0), p_.a.stride}, {p_.b.at(0, col), p_.b.stride},
                rows, cols, p_.groups, p_.fresh, {}, {}};
    }

    template<int Rows, int Cols>
    void run(const Product &block, const Parts &a, const Parts &b, int col, Beside<Tiles, Vectors> &beside) {
        SumOfParts<Tiles, Rows, Cols, Beside<Tiles, Vectors>> sum(a, b, col / kTileGroups, beside);
        const bool in_place = block.fresh && block.rows == Rows * kTileRows && block.cols == Cols * kTileGroups;
        alignas(64) float sums[Rows * kTileRows][Cols * kTileGroups];
        const Matrix<void> made = in_place ? block.c : Matrix<void>{sums, sizeof(sums[0])};
        sum.run(made);
        for (int r = 0; r < block.rows; r++) {
            if (!Vectors::finite(static_cast<const float *>(made.at(r, 0)), block.cols)) {
                multiply_plainly<float, float, float>(block);
                return;
            }
        }
        for (int r = 0; r < block.rows && !in_place; r++) {
            float *c = static_cast<float *>(block.c.at(r, 0));
            for (int i = 0; i < block.cols; i++) {
                c[i] = block.fresh ? sums[r][i] : c[i] + sums[r][i];
            }
        }
    }

    const Product &p_;
    TaskParts &parts_;
    const void *next_b_;
    int calls_;
};

}  // namespace halyard_mma

#endif
