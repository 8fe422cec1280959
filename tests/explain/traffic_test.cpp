// The traffic analysis against numbers derived by hand and against an interpreter with a cache.

#include <catch2/catch.hpp>

#include "language/device_traffic.h"
#include "language/footprint.h"
#include "interpreter.h"
#include "language/lowered_tree.h"
#include "language/traffic.h"

using namespace Halide;
using halyard::BufferSizes;
using halyard::Moved;
using halyard::Traffic;

namespace {

constexpr int64_t kKiB = 1024;
const Target kTarget("x86-64-linux-avx-avx2-f16c-fma-sse41-no_runtime-no_asserts-no_bounds_query");

struct Case {
    Internal::Stmt lowered;
    BufferSizes sizes;
};

Case lower(Func out, const BufferSizes &sizes) {
    return {Internal::lower_main_stmt({out.function()}, out.name(), kTarget), sizes};
}

// Between a cache of that size and what is beyond, the first call.
Moved predicted(const Case &c, int64_t cache) {
    const auto tree = halyard::loop_tree(c.lowered, c.sizes, 32, 16);
    halyard::CacheSizes caches;
    caches.l1 = double(cache);
    const Traffic t = halyard::traffic(tree, {double(cache), double(cache), double(cache)});
    Moved sum;
    for (const auto &s : t.stages) {
        sum += s.memory;
    }
    return sum;
}

void check_against_interpreter(const Case &c, int64_t cache, double tolerance) {
    const Counted counted = interpret(c.lowered, c.sizes, cache, 16 * 32);
    const Moved moved = predicted(c, cache);
    INFO("cache of " << cache << " bytes: read " << moved.read << " against " << counted.read << ", written " << moved.written
                     << " against " << counted.written);
    CHECK(moved.read == Approx(double(counted.read)).epsilon(tolerance));
    CHECK(moved.written == Approx(double(counted.written)).epsilon(tolerance));
}

// y = x * x, z = y + x over rows of 512 columns.
struct Chain {
    ImageParam x{Float(32), 2, "x"};
    Func y{"y"}, z{"z"};
    Var c{"c"}, r{"r"};
    BufferSizes sizes{{x.name(), {512, 64}}, {z.name(), {512, 64}}};  // Halide numbers names that come twice

    Chain() {
        y(c, r) = x(c, r) * x(c, r);
        z(c, r) = y(c, r) + x(c, r);
        z.vectorize(c, 8);
    }
};

constexpr int64_t kChainArray = 512 * 64 * 4;

}  // namespace

TEST_CASE("Elementwise stages, unfused: every array goes through the cache once a stage", "[traffic]") {
    Chain p;
    p.y.compute_root().vectorize(p.c, 8);
    const Case c = lower(p.z, p.sizes);
    const Moved small = predicted(c, 4 * kKiB);
    // y reads x and writes y (and reads its lines first); z reads y and x and writes z likewise.
    CHECK(small.read == Approx(5 * kChainArray).epsilon(0.01));
    CHECK(small.written == Approx(2 * kChainArray).epsilon(0.01));
    check_against_interpreter(c, 4 * kKiB, 0.02);
    // All fits: y stays where it is from call to call, so only x comes in and z goes out.
    const Moved large = predicted(c, 1024 * kKiB);
    CHECK(large.read == Approx(2 * kChainArray).epsilon(0.01));
    CHECK(large.written == Approx(kChainArray).epsilon(0.01));
}

TEST_CASE("Elementwise stages, fused by rows: the intermediate stays in the cache", "[traffic]") {
    Chain p;
    p.y.compute_at(p.z, p.r).vectorize(p.c, 8);
    const Case c = lower(p.z, p.sizes);
    const Moved m = predicted(c, 16 * kKiB);
    CHECK(m.read == Approx(2 * kChainArray + 2048).epsilon(0.01));
    CHECK(m.written == Approx(kChainArray + 2048).epsilon(0.01));
    check_against_interpreter(c, 16 * kKiB, 0.02);
    check_against_interpreter(c, 2 * kKiB, 0.15);  // not even a row fits
}

TEST_CASE("Inlined: no intermediate at all", "[traffic]") {
    Chain p;
    const Case c = lower(p.z, p.sizes);
    check_against_interpreter(c, 4 * kKiB, 0.01);
    const auto tree = halyard::loop_tree(c.lowered, c.sizes, 32, 16);
    const Traffic t = halyard::executions(tree);
    REQUIRE(t.stages.size() == 1);
    CHECK(t.stages[0].elements == 512 * 64);
    CHECK(t.stages[0].work.flops == 2 * 512 * 64);
    CHECK(t.stages[0].work.scalar_flops == 0);
}

TEST_CASE("A matrix product, with and without tiles", "[traffic]") {
    const int n = 96;
    ImageParam a{Float(32), 2, "a"}, b{Float(32), 2, "b"};
    for (const bool tiled : {false, true}) {
        Func acc("acc"), out("out");
        Var i("i"), j("j"), io("io"), jo("jo"), ii("ii"), ji("ji");
        RDom k(0, n, "k");
        acc(j, i) += a(k, i) * b(j, k);
        out(j, i) = acc(j, i);
        if (tiled) {
            out.tile(j, i, jo, io, ji, ii, 16, 8).vectorize(ji, 8);
            acc.compute_at(out, jo).vectorize(j, 8);
            acc.update(0).reorder(j, i, k).vectorize(j, 8);
        } else {
            acc.compute_root().vectorize(j, 8);
            acc.update(0).reorder(j, i, k).vectorize(j, 8);
            out.vectorize(j, 8);
        }
        const Case c = lower(out, {{a.name(), {n, n}}, {b.name(), {n, n}}, {out.name(), {n, n}}});
        INFO((tiled ? "tiled" : "plain"));
        const auto tree = halyard::loop_tree(c.lowered, c.sizes, 32, 16);
        double flops = 0;
        for (const auto &s : halyard::executions(tree).stages) {
            flops += s.work.flops;
        }
        CHECK(flops == 2.0 * n * n * n);
        // One panel of b and a few rows of a fit; next to nothing fits.
        for (const int64_t cache : {24 * kKiB, 4 * kKiB}) {
            check_against_interpreter(c, cache, 0.35);
        }
    }
}

TEST_CASE("Lanes that are masked off are no elements", "[traffic]") {
    ImageParam x{Float(32), 2, "x"};
    Func y("y");
    Var i("i"), r("r"), o("o"), lane("lane");
    y(i, r) = x(i, r) * 2.0f;
    y.split(i, o, lane, 8, TailStrategy::Predicate).vectorize(lane);
    const Case c = lower(y, {{x.name(), {12, 5}}, {y.name(), {12, 5}}});
    const Traffic t = halyard::executions(halyard::loop_tree(c.lowered, c.sizes, 32, 16));
    CHECK(t.stages[0].elements == Approx(60));
    CHECK(t.stages[0].masked == Approx(20));
    CHECK(t.stages[0].registers.written == Approx(240));
}

TEST_CASE("A tile stays in registers while a loop over its rows stores it", "[traffic]") {
    const int n = 96;
    ImageParam a{Float(32), 2, "a"}, b{Float(32), 2, "b"};
    Func acc("acc"), out("out");
    Var i("i"), j("j"), io("io"), jo("jo"), ii("ii"), ji("ji");
    RDom k(0, n, "k");
    acc(j, i) += a(k, i) * b(j, k);
    out(j, i) = acc(j, i) * 2.0f;
    out.tile(j, i, jo, io, ji, ii, 4, 32);  // the loop over ii has 32 iterations
    acc.compute_at(out, jo).vectorize(j, 4).update(0).reorder(j, i, k).vectorize(j, 4).unroll(i);
    const Case c = lower(out, {{a.name(), {n, n}}, {b.name(), {n, n}}, {out.name(), {n, n}}});
    for (const auto &array : halyard::loop_tree(c.lowered, c.sizes, 32, 16).arrays) {
        CHECK(array.in_registers == (array.name == acc.name()));
    }
}

TEST_CASE("A product of bytes is two operations", "[traffic]") {
    ImageParam a{UInt(8), 2, "a"}, b{Int(8), 2, "b"};
    Func acc("acc");
    Var i("i"), j("j");
    RDom k(0, 32, "k");
    acc(j, i) += cast<int32_t>(a(k, i)) * cast<int32_t>(b(j, k));
    acc.update(0).vectorize(j, 8);
    const Case c = lower(acc, {{a.name(), {32, 16}}, {b.name(), {64, 32}}, {acc.name(), {64, 16}}});
    double flops = 0;
    for (const auto &s : halyard::executions(halyard::loop_tree(c.lowered, c.sizes, 32, 16)).stages) {
        flops += s.work.flops;
    }
    CHECK(flops == 2.0 * 32 * 64 * 16);
}

TEST_CASE("Rows of tiles with others at their ends add up, however many they are", "[traffic]") {
    // 27 bands of 4 rows of 28 tiles of 4 pixels of 128 bytes. The first and the last tile of a row have loops of their own.
    using halyard::Access;
    using halyard::Region;
    const auto pixel = [](int64_t base, std::vector<Access::Step> more) {
        Access a;
        a.base = base;
        a.bytes = 128;
        a.steps = {{0, 57344, 27}, {1, 14336, 4}};
        a.steps.insert(a.steps.end(), more.begin(), more.end());
        a.steps.push_back({-1, 4, 32});
        return Region::of(a, 0, 3);
    };
    Region all;
    for (const int64_t at : {0, 128, 256, 384}) {
        all.add(pixel(at, {}));
        all.add(pixel(27 * 512 + at, {}));
        all.add(pixel(512 + at, {{2, 512, 26}}));
    }
    const double whole = 27.0 * 4 * 28 * 4 * 128;
    CHECK(all.bytes() == Approx(whole).epsilon(0.02));
    // The same again adds nothing.
    for (const int64_t at : {0, 128, 256, 384}) {
        all.add(pixel(512 + at, {{2, 512, 26}}));
    }
    CHECK(all.bytes() == Approx(whole).epsilon(0.02));
}

TEST_CASE("A stencil: neighbouring rows come back from the cache", "[traffic]") {
    ImageParam x{Float(32), 2, "x"};
    Func blur("blur");
    Var c("c"), r("r");
    blur(c, r) = x(c, r) + x(c, r + 1) + x(c, r + 2);
    blur.vectorize(c, 8);
    const Case small = lower(blur, {{x.name(), {512, 66}}, {blur.name(), {512, 64}}});
    check_against_interpreter(small, 32 * kKiB, 0.02);
    check_against_interpreter(small, 2 * kKiB, 0.05);  // each row three times
}

TEST_CASE("Recomputation shows in the elements that are stored", "[traffic]") {
    ImageParam x{Float(32), 1, "x"};
    Func y("y"), z("z");
    Var i("i"), o("o");
    y(i) = x(i) * 2.0f;
    z(i) = y(i) + y(i + 1) + y(i + 2) + y(i + 3);
    z.split(i, o, i, 8);
    y.compute_at(z, o);
    const Case c = lower(z, {{x.name(), {67}}, {z.name(), {64}}});
    const auto tree = halyard::loop_tree(c.lowered, c.sizes, 32, 16);
    for (const auto &s : halyard::executions(tree).stages) {
        if (s.name.func == y.name()) {
            CHECK(s.elements == 8 * 11);
        }
    }
}

TEST_CASE("Sizes as the plugin takes them", "[traffic]") {
    const auto sizes = halyard::parse_sizes("x:4096x64,weight:4096,s:");
    CHECK(sizes.at("x") == std::vector<int64_t>{4096, 64});
    CHECK(sizes.at("weight") == std::vector<int64_t>{4096});
    CHECK(sizes.at("s").empty());
    for (const char *wrong : {"x", ":4", "x:a", "x:4x", "x:-4"}) {
        INFO(wrong);
        if (std::string(wrong) == "x:4x") {
            CHECK(halyard::parse_sizes(wrong).at("x").size() == 1);
        } else {
            CHECK_THROWS_AS(halyard::parse_sizes(wrong), std::invalid_argument);
        }
    }
}

TEST_CASE("Kernels of a GPU", "[traffic]") {
    const Target gpu("x86-64-linux-cuda-no_runtime-no_asserts-no_bounds_query");
    // The kernels as the CUDA backend gets them.
    class Take : public Internal::IRMutator {
    public:
        Internal::Stmt taken;
        using IRMutator::mutate;
        Internal::Stmt mutate(const Internal::Stmt &s) override {
            taken = taken.defined() ? taken : s;
            return Internal::Evaluate::make(0);
        }
    };
    constexpr double kArray = 512 * 64 * 4;
    const auto kernels = [&](bool fused) {
        ImageParam x(Float(32), 2, "x");
        Func y("y"), z("z");
        Var c("c"), r("r"), lane("lane");
        y(c, r) = x(c, r) * x(c, r);
        z(c, r) = y(c, r) + x(c, r);
        z.bound(c, 0, 512).split(c, c, lane, 128).reorder(lane, c, r).gpu_blocks(r).gpu_threads(lane);
        if (fused) {
            y.compute_at(z, r).gpu_threads(c);
        } else {
            y.compute_root().gpu_blocks(r).gpu_threads(c);
        }
        Take take;
        Internal::lower_main_stmt({z.function()}, z.name(), gpu, {}, false, {&take});
        return halyard::kernels_of(halyard::loop_tree(take.taken, {{x.name(), {512, 64}}, {z.name(), {512, 64}}}, 32, 16));
    };
    const auto once = [](const halyard::KernelTraffic &k) {
        Moved sum;
        for (const auto &a : k.arrays) {
            sum += a.once;
        }
        return sum;
    };
    const auto unfused = kernels(false), fused = kernels(true);
    REQUIRE(unfused.size() == 2);
    CHECK(unfused[0].blocks == 64);
    CHECK(once(unfused[0]).read == kArray);      // x
    CHECK(once(unfused[0]).written == kArray);   // y
    CHECK(once(unfused[1]).read == 2 * kArray);  // x, y
    CHECK(once(unfused[1]).written == kArray);
    // y is in shared memory, and x is read in both halves of the block, but comes from memory once.
    REQUIRE(fused.size() == 1);
    CHECK(once(fused[0]).read == kArray);
    CHECK(once(fused[0]).written == kArray);
    CHECK(fused[0].arrays.size() == 2);
    double flops = 0;
    for (const auto &s : fused[0].stages) {
        flops += s.flops;
    }
    CHECK(flops == 2 * 512 * 64);
}
