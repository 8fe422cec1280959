// The loops over tiles, on emulated ones: every shape of block, and nothing touched beside it.

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

#include "bf16.h"
#include "emulated_tiles.h"
#include "runtime/mma_plain.h"
#include "tests/language/support.h"

using halyard_mma::Product;

namespace {

// Small integers, so that every order of summation gives the same.
template<typename C, typename A, typename B>
void check(int rows, int cols, int groups) {
    constexpr int kGroup = 4 / int(sizeof(A));
    INFO(rows << " x " << cols << " x " << groups << " groups of " << kGroup);
    const int lda = groups * kGroup + 3, ldb = (cols + 5) * kGroup, ldc = cols + 2;
    std::vector<A> a(size_t(rows * lda), A(99));
    std::vector<B> b(size_t(groups * ldb), B(99));
    std::vector<C> c(size_t(rows * ldc), C(7)), expected = c;
    uint32_t state = 1;
    const auto next = [&] {
        state = state * 1664525u + 1013904223u;
        return int(state >> 24) % 7;
    };
    for (int r = 0; r < rows; r++) {
        for (int k = 0; k < groups * kGroup; k++) {
            a[size_t(r * lda + k)] = A(next());
        }
    }
    for (int g = 0; g < groups; g++) {
        for (int k = 0; k < cols * kGroup; k++) {
            b[size_t(g * ldb + k)] = B(next() - 3);
        }
    }
    for (int r = 0; r < rows; r++) {
        for (int j = 0; j < cols; j++) {
            for (int k = 0; k < groups * kGroup; k++) {
                expected[size_t(r * ldc + j)] += C(a[size_t(r * lda + k)]) * C(b[size_t(k / kGroup * ldb + j * kGroup + k % kGroup)]);
            }
        }
    }
    using Tiles = emulated::Tiles<C, A, B>;
    Product p{{c.data(), ldc * 4},
              {a.data(), lda * ptrdiff_t(sizeof(A))},
              {b.data(), ldb * ptrdiff_t(sizeof(B))},
              rows,
              cols,
              groups,
              false,
              {},
              {},
              {},
              {}};
    Tiles::configure(halyard_mma::whole_tiles());
    halyard_mma::multiply<Tiles>(p);
    CHECK(c == expected);
    // What was there does not count where sums are fresh; tiles are found as they were left.
    std::vector<C> fresh(c.size(), C(50));
    p.fresh = true;
    p.c.data = fresh.data();
    halyard_mma::multiply<Tiles>(p);
    for (size_t i = 0; i < c.size(); i++) {
        expected[i] = int(i % size_t(ldc)) < cols ? C(expected[i] - C(7)) : C(50);
    }
    CHECK(fresh == expected);
    Tiles::release();
}

// A window of 2 by 3 over a: its taps overlap, those of b lie one after the other, with something between.
template<typename C, typename A, typename B>
void check_taps(int rows, int cols, int groups) {
    INFO(rows << " x " << cols << " x " << groups << " groups");
    constexpr int kGroup = 4 / sizeof(A);
    const int lda = groups * kGroup, ldb = cols * kGroup, outer = 2, inner = 3;
    const int a_outer = 5 * lda, a_inner = lda, b_outer = inner * groups * ldb + 8, b_inner = groups * ldb;
    std::vector<A> a(size_t(a_outer + (rows + inner) * lda));
    std::vector<B> b(size_t(2 * b_outer));
    uint32_t state = 1;
    const auto next = [&] {
        state = state * 1664525u + 1013904223u;
        return int(state >> 24) % 5;
    };
    for (A &x : a) {
        x = A(next());
    }
    for (B &x : b) {
        x = B(next() - 2);
    }
    std::vector<C> c(size_t(rows * cols), C(3)), expected = c;
    for (int r = 0; r < rows; r++) {
        for (int j = 0; j < cols; j++) {
            for (int tap = 0; tap < outer * inner; tap++) {
                const int o = tap / inner, i = tap % inner;
                for (int k = 0; k < groups * kGroup; k++) {
                    expected[size_t(r * cols + j)] += C(a[size_t(o * a_outer + i * a_inner + r * lda + k)]) *
                                                      C(b[size_t(o * b_outer + i * b_inner + k / kGroup * ldb + j * kGroup + k % kGroup)]);
                }
            }
        }
    }
    using Tiles = emulated::Tiles<C, A, B>;
    const auto bytes = [](int elements, size_t size) { return elements * ptrdiff_t(size); };
    Product p{{c.data(), cols * 4},
              {a.data(), bytes(lda, sizeof(A))},
              {b.data(), bytes(ldb, sizeof(B))},
              rows,
              cols,
              groups,
              false,
              {},
              {},
              {outer, bytes(a_outer, sizeof(A)), bytes(b_outer, sizeof(B))},
              {inner, bytes(a_inner, sizeof(A)), bytes(b_inner, sizeof(B))}};
    std::vector<C> plain = c;
    Tiles::configure(halyard_mma::whole_tiles());
    halyard_mma::multiply<Tiles>(p);
    Tiles::release();
    CHECK(c == expected);
    if constexpr (sizeof(A) == 1) {  // loops over bf16 have a type of their own
        p.c.data = plain.data();
        halyard_mma::multiply_plainly<C, A, B>(p);
        CHECK(plain == expected);
    }
}

// A schedule for CUDA with a tile in each block; line 10 is `words`, about the loop over steps.
std::string product_in_tiles(const std::string &op, const std::string &generator, int rows, int columns, const std::string &depth,
                             const std::string &words) {
    const std::string r = std::to_string(rows), c = std::to_string(columns);
    return "return schedule '" + op + "' { target = 'cuda', generator = { " + generator + " },\n" +
           "  apply = function(k)\n"
           "    k.y:split('col', " +
           c + ", 'guard', 'tile_col', 'c') k.y:split('row', " + r +
           ", 'guard', 'tile_row', 'r')\n"
           "    k.y:reorder('c', 'r', 'tile_col', 'tile_row'):gpu_blocks { 'tile_col', 'tile_row' }\n"
           "    k.acc:compute_at(k.y, 'tile_col'):store_in 'register'\n"
           "    k.acc:bound_extent('col', " +
           c + "):bound_extent('row', " + r +
           ")\n"
           "    local step = k.acc:update(0)\n"
           "    step:split('k', " +
           depth +
           ", 'guard', 'step', 'depth') step:reorder('depth', 'col', 'row', 'step')\n"
           "    k.y:never_partition_all() k.acc:never_partition_all() step:never_partition_all()\n"
           "    " +
           words +
           "\n"
           "  end }\n";
}

Finished build_cuda(const std::string &op, const std::string &devices, const std::string &script, const TempDir &dir) {
    return run_program({HALYARD_COMMAND, "build", op, "--quiet", "--target", "cuda", "--devices", devices, "--schedule", script, "-o",
                        dir.path() + "/out"});
}

}  // namespace

TEST_CASE("products in tiles, for every shape of block", "[mma]") {
    for (const int rows : {1, 15, 16, 17, 31, 32, 33, 50}) {
        for (const int cols : {1, 16, 17, 31, 32, 33, 48, 63, 64, 65, 80}) {
            for (const int groups : {1, 15, 16, 17, 40}) {
                check<float, Bf16, Bf16>(rows, cols, groups);
                check<int32_t, uint8_t, int8_t>(rows, cols, groups);
            }
        }
    }
    check<int32_t, int8_t, int8_t>(33, 33, 33);
    check<float, Bf16, Bf16>(3, 4, 0);
}

TEST_CASE("a product over the taps of a window, for every shape of block", "[mma]") {
    for (const int rows : {7, 16, 28, 32}) {
        for (const int cols : {16, 32, 40, 48, 64}) {
            for (const int groups : {2, 16, 32, 40}) {
                check_taps<float, Bf16, Bf16>(rows, cols, groups);
                check_taps<int32_t, uint8_t, int8_t>(rows, cols, groups);
            }
        }
    }
}

TEST_CASE("a block of four tiles takes four products a step", "[mma]") {
    emulated::configurations = emulated::multiplications = 0;
    check<float, Bf16, Bf16>(32, 32, 64);  // twice: onto sums, and fresh
    CHECK(emulated::configurations == 1);
    CHECK(emulated::multiplications == 2 * 16);
}

TEST_CASE("an odd column of tiles goes with two others", "[mma]") {
    emulated::configurations = emulated::multiplications = 0;
    check<float, Bf16, Bf16>(32, 48, 64);
    CHECK(emulated::configurations == 1);
    CHECK(emulated::multiplications == 2 * 24);
    emulated::configurations = emulated::multiplications = 0;
    check<float, Bf16, Bf16>(32, 80, 40);  // groups that do not fill a tile as well
    CHECK(emulated::configurations == 1);
    CHECK(emulated::multiplications == 2 * 30);
}

TEST_CASE("tiles that are filled partly are configured for their block alone", "[mma]") {
    emulated::configurations = 0;
    check<float, Bf16, Bf16>(40, 64, 32);      // two blocks of 32 rows, two of 8, whose 1 x 4 tiles take all 64 columns
    CHECK(emulated::configurations == 1 + 2);  // and what was is restored; fresh sums of 8 rows are made with 8 before them
}

TEST_CASE("rows of several lines are one line where a and c have the same between them, and lines of their own where not", "[mma]") {
    using Tiles = emulated::Tiles<float, Bf16, Bf16>;
    const int groups = 16, cols = 32, k = 2 * groups;
    for (const int width : {7, 14, 20}) {
        for (const int lines : {1, 2, 5}) {
            for (const int pitch_of_c : {width, width + 2, 3 * width}) {
                const int pitch = pitch_of_c == 3 * width ? pitch_of_c : width + 2;
                INFO(width << " rows of " << lines << " lines, " << pitch << " and " << pitch_of_c << " apart");
                std::vector<Bf16> a(size_t(lines * pitch * k)), b(size_t(groups * cols * 2));
                for (size_t i = 0; i < a.size(); i++) {
                    a[i] = Bf16(float(i * 7 % 5));
                }
                for (size_t i = 0; i < b.size(); i++) {
                    b[i] = Bf16(float(i * 3 % 7) - 3);
                }
                std::vector<float> c(size_t(lines * pitch_of_c * cols), 9), plain = c;
                Product p{{c.data(), cols * 4},
                          {a.data(), k * 2},
                          {b.data(), cols * 4},
                          width,
                          cols,
                          groups,
                          true,
                          {},
                          {},
                          {},
                          {},
                          {lines, pitch * k * 2, pitch_of_c * cols * 4}};
                emulated::multiplications = 0;
                Tiles::configure(halyard_mma::whole_tiles());
                halyard_mma::multiply<Tiles>(p);
                const int rows = pitch == pitch_of_c && pitch <= 2 * width ? pitch * (lines - 1) + width : 0;
                if (rows > 0) {  // pairs of tiles
                    CHECK(emulated::multiplications == (rows + 15) / 16 * 2);
                }
                for (int line = 0; line < lines; line++) {
                    for (int r = 0; r < width; r++) {
                        for (int j = 0; j < cols; j++) {
                            float sum = 0;
                            for (int i = 0; i < k; i++) {
                                sum += float(a[size_t((line * pitch + r) * k + i)]) * float(b[size_t(i / 2 * cols * 2 + j * 2 + i % 2)]);
                            }
                            REQUIRE(c[size_t((line * pitch_of_c + r) * cols + j)] == sum);
                        }
                    }
                }
                Tiles::release();
            }
        }
    }
}

TEST_CASE("of no lines nothing is read or written", "[mma]") {
    std::vector<float> c(17 * 32, 9);
    const std::vector<float> before = c;
    using Tiles = emulated::Tiles<float, Bf16, Bf16>;
    for (const int pitch : {17, 20}) {
        const Product p{
            {c.data(), 32 * 4}, {nullptr, 64}, {nullptr, 128}, 17, 32, 16, true, {}, {}, {}, {}, {0, pitch * 64, pitch * 32 * 4}};
        Tiles::configure(halyard_mma::whole_tiles());
        halyard_mma::multiply<Tiles>(p);
        Tiles::release();
        halyard_mma::multiply_plainly<float, uint16_t, uint16_t>(p);
        CHECK(c == before);
    }
}

TEST_CASE("a second row of tiles that is not full is moved up", "[mma]") {
    emulated::configurations = emulated::multiplications = 0;
    check<float, Bf16, Bf16>(56, 48, 64);  // 32 rows and 24, by three columns of tiles
    CHECK(emulated::configurations == 1);
    CHECK(emulated::multiplications == 2 * 2 * 24);
}

TEST_CASE("rows that are touched later are prefetched, each line once", "[mma]") {
    using Tiles = emulated::Tiles<float, Bf16, Bf16>;
    const int rows = 32, cols = 48, k = 200;
    std::vector<Bf16> a(rows * k), b(size_t(cols * k));
    std::vector<float> c(rows * cols), y(rows * 1000);
    std::vector<uint16_t> x(rows * 500);
    Product p{{c.data(), cols * 4}, {a.data(), k * 2}, {b.data(), cols * 4}, rows, cols, k / 2, true, {}, {}, {}, {}};
    p.written = {reinterpret_cast<const char *>(y.data()), 4000, rows, cols * 4};
    p.read = {reinterpret_cast<const char *>(x.data()), 1000, rows, cols * 2};
    std::vector<const void *> lines;
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < 3; i++) {
            lines.push_back(p.written.data + r * 4000 + 64 * i);
        }
        for (int i = 0; i < 2; i++) {
            lines.push_back(p.read.data + r * 1000 + 64 * i);
        }
    }
    emulated::prefetched.clear();
    Tiles::configure(halyard_mma::whole_tiles());
    halyard_mma::multiply<Tiles>(p);
    Tiles::release();
    std::sort(lines.begin(), lines.end());
    std::sort(emulated::prefetched.begin(), emulated::prefetched.end());
    CHECK(emulated::prefetched == lines);
}

TEST_CASE("what a block stores is prefetched where it is larger than half of L2, and never behind a GELU", "[mma]") {
    const TempDir dir;
    for (const std::string activation : {"relu", "gelu_erf"}) {
        const Finished f =
            run_program({HALYARD_COMMAND, "build", "gemm", "--quiet", "-o", dir.path(), "--schedule", "mma", "--set", "tiles=always",
                         "--param", "activation=" + activation, "--target", "avx512", "--fact", "l2=3M", "--emit", "stmt"});
        INFO(f.err);
        REQUIRE(f.exit_code == 0);
        const std::string stmt = read_file(dir.path() + "/gemm.stmt");
        REQUIRE(stmt.find(activation == "relu" ? "halyard_mma_bf16(acc, " : "halyard_mma_bf16_take(mma_ahead, acc, ") != std::string::npos);
        const std::string larger = "select((((int64)2*int64(_halide_buffer_get_extent(y.buffer, 0)))*"
                                   "int64(_halide_buffer_get_extent(y.buffer, 1))) > (int64)1572864, ";
        INFO(activation);
        CHECK((stmt.find(larger) != std::string::npos) == (activation == "relu"));
    }
}

TEST_CASE("the next block is begun in the loop over the rows of one, if that does enough", "[mma]") {
    const TempDir dir;
    for (const std::string activation : {"none", "gelu_erf"}) {
        const auto built = [&](const std::string &target, const std::string &emit) {
            const Finished f = run_program({HALYARD_COMMAND, "build", "gemm", "--quiet", "-o", dir.path(), "--schedule", "mma", "--set",
                                            "tiles=always", "--param", "activation=" + activation, "--target", target, "--emit", emit});
            INFO(f.err);
            REQUIRE(f.exit_code == 0);
            return read_file(dir.path() + "/gemm." + (emit == "stmt" ? "stmt" : "s"));
        };
        INFO(activation);
        const bool begun = activation == "gelu_erf";
        const std::string stmt = built("avx512_sapphirerapids", "stmt");
        const size_t take = stmt.find("halyard_mma_bf16_take("), begin = stmt.find("halyard_mma_bf16_begin("),
                     step = stmt.find("halyard_mma_bf16_step(");
        CHECK((step != std::string::npos) == begun);
        if (begun) {
            CHECK(stmt.find("halyard_mma_bf16_open(") < take);
            CHECK(take < begin);
            CHECK(begin < step);
        }
        // Inlined, with the instructions of tiles where there are any.
        CHECK((built("avx512_sapphirerapids", "assembly").find("tdpbf16ps") != std::string::npos) == begun);
        const std::string elsewhere = built("avx2", "assembly");
        CHECK(elsewhere.find("_step") == std::string::npos);
        CHECK(elsewhere.find("tdpbf16ps") == std::string::npos);
    }
}

TEST_CASE("tiles of few rows that there are not are an error with its line", "[mma]") {
    const TempDir dir;
    const struct {
        const char *weights, *devices;
        int rows, columns;
        const char *depth, *words, *message;
    } cases[] = {
        {"nk", "sm_90a", 24, 32, "128", "step:mma()", "has tiles of 24 rows; take 16, 32, 64, 128 or 192"},
        {"nk", "sm_90a", 16, 40, "128", "step:mma()", "has tiles of 40 columns; with 16 rows take a multiple of 16, up to 256"},
        {"nk", "sm_80", 32, 256, "128", "step:mma()", "has tiles of 256 columns; with 32 rows take a multiple of 16, up to 128"},
        {"kn", "sm_90a", 16, 48, "128", "step:mma()",
         "has tiles of 48 columns, which are neighbours in memory; take 32 or a multiple of 64"},
        {"nk", "sm_90a", 16, 32, "32", "step:mma()", "has steps of 32; for tiles of 16 rows take 64, 128 or 256"},
        {"nk", "sm_90a", 16, 32, "128", "step:mma():split_k_cluster(2)",
         "has tiles of 16 rows, whose steps the warps of a block share; take split_k_cluster(1)"},
        {"nk", "sm_90a", 16, 32, "128", "step:mma():split_k_warps(2)", "stands in no loop with a second product; take split_k_warps(1)"},
        {"nk", "sm_90a", 16, 64, "128", "step:mma():pipeline(16)",
         "takes 327936 bytes of shared memory, and a block has 232448; take fewer stages or smaller tiles"},
    };
    for (const auto &c : cases) {
        const std::string generator = "type = 'float16', weights = '" + std::string(c.weights) + "'";
        const std::string script = dir.write("wrong.lua", product_in_tiles("gemm", generator, c.rows, c.columns, c.depth, c.words));
        const Finished f = build_cuda("gemm", c.devices, script, dir);
        INFO(generator << " " << c.rows << " x " << c.columns << " x " << c.depth << "\n" << f.err);
        CHECK(f.exit_code == 1);
        CHECK(f.err.find(script + ":10: error: mma: ") == 0);
        CHECK(f.err.find(c.message) != std::string::npos);
    }
}

TEST_CASE("a product that the tensor cores have not is an error with its line", "[mma]") {
    const TempDir dir;
    const struct {
        const char *op, *generator, *devices, *depth, *message;
    } cases[] = {
        {"gemm", "type = 'float32', weights = 'nk'", "sm_90a", "64",
         "there are tensor cores for float16 by float16, bfloat16 by bfloat16, float32 that is cut to TF32 (as by tf32=true of gemm), "
         "8-bit integers by 8-bit integers, and numbers of float8_e4m3 or float8_e5m2 by each other, not for float32 by float32"},
        {"gemm", "type = 'float32', tf32 = 'true', weights = 'kn'", "sm_90a", "32",
         "reads b by columns; the tensor cores take operands of TF32 whose neighbours run along k"},
        {"gemm", "type = 'float16', weights = 'nk'", "sm_90a", "128", "has steps of 128; take 64"},
        {"gemm", "type = 'float16', weights = 'nk'", "sm_80", "16", "has steps of 16; take 32 or 64"},
        {"gemm_int8", "weights = 'nk'", "sm_90a", "64", "has steps of 64; take 128"},
        {"gemm_int8", "weights = 'nk'", "sm_80", "32", "has steps of 32; take 64 or 128"},
    };
    for (const auto &c : cases) {
        const std::string script = dir.write("wrong.lua", product_in_tiles(c.op, c.generator, 64, 64, c.depth, "step:mma()"));
        const Finished f = build_cuda(c.op, c.devices, script, dir);
        INFO(c.op << " " << c.generator << "\n" << f.err);
        CHECK(f.exit_code == 1);
        CHECK(f.err.find(script + ":10: error: mma: ") == 0);
        CHECK(f.err.find(c.message) != std::string::npos);
    }
}

TEST_CASE("a nest that is no product of tiles is an error with its line", "[mma]") {
    const TempDir dir;
    const struct {
        const char *schedule, *message;
    } cases[] = {
        {"k.acc:compute_root() k.acc:update(0):mma()", "neighbouring columns of packed b"},
        {"k.acc:compute_root() k.acc:update(0):vectorize('col', 8):mma()", "the product is vectorized"},
        {"k.acc:compute_root() k.acc:update(0):parallel('row'):mma()", "is not serial"},
        {"k.a_f:compute_root() k.acc:compute_root() k.acc:update(0):mma()", "there is no tile instruction that multiplies"},
        {"k.acc:compute_root() k.acc:update(0):split('row', 7, 'guard') k.acc:update(0):mma()",
         "the loop acc.s1.row.row_inner is none of a product of tiles"},
    };
    for (const auto &c : cases) {
        const std::string script = dir.write("wrong.lua", "return schedule 'gemm' {\n"
                                                          "  generator = { type = 'bfloat16', weights = 'packed' },\n"
                                                          "  apply = function(k)\n"
                                                          "    " +
                                                              std::string(c.schedule) +
                                                              "\n"
                                                              "  end }\n");
        const Finished f =
            run_program({HALYARD_COMMAND, "build", "gemm", "--quiet", "--target", "avx2", "--schedule", script, "-o", dir.path() + "/out"});
        INFO(c.schedule << "\n" << f.err);
        CHECK(f.exit_code == 1);
        CHECK(f.err.find(script + ":4: error: mma: ") == 0);
        CHECK(f.err.find(c.message) != std::string::npos);
    }
}
