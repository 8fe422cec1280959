// Products of tiles that are begun while something else is done, on emulated tiles: whatever was done of them when they are taken,
// the sums are those of products from the beginning.

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

#include "bf16.h"
#include "emulated_tiles.h"
#include "runtime/mma_ahead.h"
#include "runtime/mma_plain.h"

using halyard_mma::Ahead;
using halyard_mma::Pairs;
using halyard_mma::Product;

namespace {

// Blocks of rows of a, by columns of b, with two taps; small integers, so that every order of summation gives the same.
template<typename C, typename A, typename B>
struct Operands {
    static constexpr int kGroup = 4 / int(sizeof(A));

    Operands(int rows, int cols, int groups, int taps)
        : rows(rows), cols(cols), groups(groups), taps(taps), a(size_t(kBlocks * rows + taps) * lda()), b(size_t(taps * groups * ldb())) {
        uint32_t state = 1;
        const auto next = [&] {
            state = state * 1664525u + 1013904223u;
            return int(state >> 24) % 5;
        };
        std::generate(a.begin(), a.end(), [&] { return A(next()); });
        std::generate(b.begin(), b.end(), [&] { return B(next() - 2); });
    }

    Product shape() const {
        return {{nullptr, cols * 4},
                {nullptr, lda() * ptrdiff_t(sizeof(A))},
                {nullptr, ldb() * ptrdiff_t(sizeof(B))},
                0,
                0,
                groups,
                true,
                {},
                {},
                {},
                {taps, lda() * ptrdiff_t(sizeof(A)), groups * ldb() * ptrdiff_t(sizeof(B))},
                {}};
    }

    const A *block(int i) const {
        return a.data() + size_t(i * rows) * size_t(lda());
    }

    std::vector<C> expected(int i) const {
        std::vector<C> c(size_t(rows * cols));
        for (int r = 0; r < rows; r++) {
            for (int j = 0; j < cols; j++) {
                for (int tap = 0; tap < taps; tap++) {
                    for (int k = 0; k < groups * kGroup; k++) {
                        c[size_t(r * cols + j)] += C(block(i)[(r + tap) * lda() + k]) *
                                                   C(b[size_t((tap * groups + k / kGroup) * ldb() + j * kGroup + k % kGroup)]);
                    }
                }
            }
        }
        return c;
    }

    int lda() const {
        return groups * kGroup;
    }
    int ldb() const {
        return cols * kGroup;
    }

    static constexpr int kBlocks = 3;
    int rows, cols, groups, taps;
    std::vector<A> a;
    std::vector<B> b;
};

// Takes block after block, with so many turns between, of those that were said to come.
template<typename C, typename A, typename B>
void check(int rows, int cols, int groups, int taps, int turns, int said, int pairs) {
    INFO(rows << " x " << cols << " x " << groups << " groups x " << taps << ", " << turns << " of " << said << " turns, " << pairs);
    using Tiles = emulated::Tiles<C, A, B>;
    const Operands<C, A, B> o(rows, cols, groups, taps);
    Ahead<Tiles> ahead(o.shape());
    Tiles::configure(halyard_mma::whole_tiles());
    for (int i = 0; i < o.kBlocks; i++) {
        std::vector<C> c(size_t(rows * cols), C(77));
        ahead.take(c.data(), o.block(i), o.b.data(), rows, cols, {});
        CHECK(c == o.expected(i));
        ahead.begin(o.block((i + 1) % o.kBlocks), o.b.data(), rows, cols, said, pairs);
        for (int turn = 0; turn < turns; turn++) {
            ahead.step(turn);
        }
        ahead.turns = turns;
    }
    // What is begun is not what comes.
    std::vector<C> c(size_t(rows * cols), C(77));
    ahead.take(c.data(), o.block(1), o.b.data(), rows, cols, {});
    CHECK(c == o.expected(1));
    Tiles::release();
}

}  // namespace

TEST_CASE("a product that was begun is the same as one that was not", "[mma]") {
    for (const int rows : {16, 17, 28, 32}) {
        for (const int cols : {32, 48, 64}) {
            for (const int turns : {0, 1, 5, 28, 100}) {
                check<float, Bf16, Bf16>(rows, cols, 64, 1, turns, 28, 1);
                check<int32_t, uint8_t, int8_t>(rows, cols, 64, 2, turns, 28, 2);
            }
        }
    }
    for (const int groups : {16, 40, 48, 96, 16 * (Pairs::kMostSteps + 3)}) {
        for (const int said : {0, 1, 7, 32, 200}) {
            for (const int pairs : {1, 3, 4}) {
                check<float, Bf16, Bf16>(32, 32, groups, 1, 32, said, pairs);
            }
        }
    }
    check<int32_t, int8_t, int8_t>(32, 32, 64, 3, 9, 32, 1);
}

TEST_CASE("pairs of tiles are spread over the turns that come, and none is done twice", "[mma]") {
    using Tiles = emulated::Tiles<float, Bf16, Bf16>;
    const Operands<float, Bf16, Bf16> o(32, 32, 64, 1);  // four steps, 16 pairs
    Ahead<Tiles> ahead(o.shape());
    std::vector<float> c(32 * 32);
    Tiles::configure(halyard_mma::whole_tiles());
    ahead.take(c.data(), o.block(0), o.b.data(), 32, 32, {});
    ahead.begin(o.block(1), o.b.data(), 32, 32, 32, 4);
    emulated::multiplications = 0;
    std::vector<int> done;
    for (int turn = 0; turn < 32; turn++) {
        ahead.step(turn);
        done.push_back(emulated::multiplications);
    }
    for (int turn = 0; turn < 32; turn++) {
        CHECK(done[size_t(turn)] == turn / 2 + 1);
    }
    ahead.turns = 32;
    emulated::multiplications = 0;
    ahead.take(c.data(), o.block(1), o.b.data(), 32, 32, {});
    CHECK(emulated::multiplications == 0);
    CHECK(c == o.expected(1));
    ahead.step(0);  // of nothing that is begun
    CHECK(emulated::multiplications == 0);
    Tiles::release();
}
