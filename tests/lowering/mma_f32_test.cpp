// Products of float32 by tiles of bf16, on emulated ones: as exact as a chain of float32, for every shape of block, and where
// numbers are no usual ones.

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "bf16.h"
#include "emulated_tiles.h"
#include "runtime/mma_f32.h"

using namespace halyard_mma;

namespace {

using Tiles = emulated::Tiles<float, Bf16, Bf16>;

struct Operands {
    int rows, cols, depth;
    int lda = depth + 3, ldb = cols + 5, ldc = cols + 2;
    std::vector<float> a, b;

    Operands(int rows, int cols, int depth, unsigned seed = 1)
        : rows(rows), cols(cols), depth(depth), a(size_t(rows * lda), 99), b(size_t(depth * ldb), 99) {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal;
        for (int r = 0; r < rows; r++) {
            for (int k = 0; k < depth; k++) {
                a[size_t(r * lda + k)] = normal(random);
            }
        }
        for (int k = 0; k < depth; k++) {
            for (int c = 0; c < cols; c++) {
                b[size_t(k * ldb + c)] = normal(random);
            }
        }
    }

    Product product(std::vector<float> &c, bool fresh) const {
        return {{c.data(), ldc * 4}, {a.data(), lda * 4}, {b.data(), ldb * 4}, rows, cols, depth, fresh, {}, {}, {}, {}};
    }
};

void multiply(const Product &p, TaskParts &parts, const void *next_b = nullptr, int calls = 1) {
    Tiles::configure(whole_tiles());
    ProductOfParts<Tiles, PlainVectors>(p, parts, next_b, calls).run();
    Tiles::release();
}

// The worst error, in roundoffs of the sum of magnitudes: of each number's last digit one, and of each of the sums one.
void check(const Operands &o, TaskParts &parts, float before = 0) {
    INFO(o.rows << " x " << o.cols << " x " << o.depth);
    std::vector<float> c(size_t(o.rows * o.ldc), before);
    multiply(o.product(c, before == 0), parts);
    for (int r = 0; r < o.rows; r++) {
        for (int col = 0; col < o.ldc; col++) {
            double sum = before, magnitude = std::abs(before);
            for (int k = 0; col < o.cols && k < o.depth; k++) {
                const double term = double(o.a[size_t(r * o.lda + k)]) * o.b[size_t(k * o.ldb + col)];
                sum += term;
                magnitude += std::abs(term);
            }
            const double is = c[size_t(r * o.ldc + col)];
            INFO(r << ", " << col << ": " << is << " for " << sum);
            REQUIRE(std::abs(is - sum) <= (2 + std::sqrt(double(o.depth))) * std::ldexp(magnitude, -24));
        }
    }
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("products of float32 in tiles of bf16 are as exact as a chain of float32", "[mma]") {
    TaskParts parts;
    unsigned seed = 0;
    for (const int rows : {1, 15, 16, 17, 32, 33, 50}) {
        for (const int cols : {1, 16, 17, 32, 33, 48, 64, 65, 80}) {
            for (const int depth : {1, 31, 32, 33, 100}) {
                parts.forget();
                const Operands o(rows, cols, depth, ++seed);
                check(o, parts);
                check(o, parts, 3);
            }
        }
    }
    parts.forget();
    check(Operands(3, 4, 0), parts);
    parts.forget();
    check(Operands(32, 64, 1536), parts);
    parts.release();
}

TEST_CASE("a number is the sum of its three parts", "[mma]") {
    std::mt19937 random(1);
    for (int i = 0; i < 1000; i++) {
        const float x = std::ldexp(float(random()) - 2147483648.0f, int(random() % 100) - 80);
        alignas(64) char tiles[kParts * kTileBytes];
        for (const bool first : {true, false}) {
            PlainVectors::split(&x, first, &x, !first, tiles);
            double sum = 0;
            for (int part = 0; part < kParts; part++) {
                uint16_t bits;
                memcpy(&bits, tiles + part * kTileBytes + (first ? 0 : 2), 2);
                sum += widen(bits);
            }
            REQUIRE(sum == double(x));
        }
    }
}

TEST_CASE("sums that are infinite or no number are as f32 has them, and change no others by more than rounding", "[mma]") {
    for (const float odd : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::max()}) {
        for (const bool in_a : {true, false}) {
            Operands o(40, 70, 50);
            (in_a ? o.a[size_t(3 * o.lda + 7)] : o.b[size_t(7 * o.ldb + 3)]) = odd;
            std::vector<float> c(size_t(o.rows * o.ldc)), expected = c;
            TaskParts parts;
            multiply(o.product(c, true), parts);
            multiply_plainly<float, float, float>(o.product(expected, true));
            int not_finite = 0;
            for (size_t i = 0; i < c.size(); i++) {
                INFO(i << ": " << c[i] << " for " << expected[i]);
                not_finite += !std::isfinite(expected[i]);
                REQUIRE(std::isnan(c[i]) == std::isnan(expected[i]));
                REQUIRE((std::isnan(c[i]) || c[i] == expected[i] || std::abs(c[i] - expected[i]) < 1e-4f));
            }
            CHECK((odd == std::numeric_limits<float>::max() || not_finite >= 40));
            parts.release();
        }
    }
}

TEST_CASE("parts are made once for the calls of a task, and again for what was forgotten", "[mma]") {
    Operands o(32, 64, 64);
    TaskParts parts;
    check(o, parts);
    o.a[5] += 1;
    std::vector<float> before(size_t(o.rows * o.ldc)), after = before;
    multiply(o.product(before, true), parts);  // by the parts of what a was
    parts.forget();
    multiply(o.product(after, true), parts);
    CHECK(before != after);
    check(o, parts);
    parts.release();
}

TEST_CASE("parts of the next columns are made beside the products of some", "[mma]") {
    for (const int calls : {1, 2, 3}) {
        for (const auto &[rows, cols, depth] : {std::array{32, 32, 64}, {32, 32, 32}, {10, 40, 100}, {40, 64, 96}, {32, 32, 1500}}) {
            INFO(calls << " calls, " << rows << " x " << cols << " x " << depth);
            Operands o(rows, cols, depth);
            const int panels = 4, ldb = o.ldb;
            const std::vector<float> first = o.b;
            for (int i = 1; i < panels; i++) {  // panels one after the other, each other numbers
                for (const float x : first) {
                    o.b.push_back(x * float(i + 1));
                }
            }
            TaskParts parts;
            std::vector<float> c(size_t(o.rows * o.ldc)), alone = c;
            for (int i = 0; i < panels; i++) {
                Product p = o.product(c, true);
                p.b.data = o.b.data() + i * o.depth * ldb;
                const void *next = i + 1 < panels ? o.b.data() + (i + 1) * o.depth * ldb : nullptr;
                TaskParts none;
                p.c.data = alone.data();
                multiply(p, none);
                none.release();
                p.c.data = c.data();
                for (int call = 0; call < calls; call++) {
                    std::fill(c.begin(), c.end(), 0.0f);
                    multiply(p, parts, next, calls);
                    CHECK(c == alone);
                }
            }
            parts.release();
        }
    }
}

TEST_CASE("all units of columns but the first are made beside the products of another", "[mma]") {
    struct Counting : PlainVectors {
        static int &count() {
            static int splits = 0;
            return splits;
        }
        static void split(const float *x, const float *y, char *row) {
            count()++;
            PlainVectors::split(x, y, row);
        }
        static void split(const float *x, int count_x, const float *y, int count_y, char *row) {
            count()++;
            PlainVectors::split(x, count_x, y, count_y, row);
        }
    };
    const int depth = 96, unit = 2 * 16, units = 3, of_a = 32 * units;
    Operands o(32, 32, depth);
    o.ldb = 32;
    o.b.resize(2 * size_t(depth * o.ldb), 1);
    std::vector<float> c(size_t(o.rows * o.ldc));
    const auto splits_of_calls = [&](int calls) {
        TaskParts parts;
        std::vector<int> made;
        for (int call = 0; call < 2 * calls; call++) {
            Product p = o.product(c, true);
            const void *next = call < calls ? &o.b[size_t(depth * o.ldb)] : nullptr;
            p.b.data = call < calls ? &o.b[0] : &o.b[size_t(depth * o.ldb)];
            const int before = Counting::count();
            Tiles::configure(whole_tiles());
            ProductOfParts<Tiles, Counting>(p, parts, next, calls).run();
            Tiles::release();
            made.push_back(Counting::count() - before);
        }
        parts.release();
        return made;
    };
    const int all = units * unit;
    CHECK(splits_of_calls(1) == std::vector<int>{of_a + all + unit, all - unit});
    CHECK(splits_of_calls(2) == std::vector<int>{of_a + all + unit, all, all, all - unit});
}

TEST_CASE("a pair of parts shares one with the pair before, so that six pairs take seven loads of two tiles", "[mma]") {
    emulated::multiplications = emulated::loads = 0;
    Operands o(32, 64, 64);
    TaskParts parts;
    check(o, parts);  // two blocks of 2 x 2 tiles, two steps
    CHECK(emulated::multiplications == 2 * 2 * 6 * 4);
    CHECK(emulated::loads == 2 * 2 * 14);
    parts.release();
}
