// Planning takes no more than some power of the number of stages and of what they read: pipelines that fork at every stage
// have more paths than anybody can walk.

#include <chrono>

#include <catch2/catch.hpp>

#include "explore/space/graph.h"
#include "explore/space/planner.h"
#include "explore/space/product.h"

using namespace halyard::explore;

namespace {

constexpr double kExtent = 1024;

// A read of a Func whose dimensions are x and y, some elements away, at a multiple of the loops.
Read at(const std::string &func, int64_t dx, int64_t dy, int64_t factor = 1) {
    Read r{func, {}};
    for (const auto &[loop, offset] : {std::pair<std::string, int64_t>("x", dx), {"y", dy}}) {
        Index i;
        i.loops[loop] = factor;
        i.offset = offset;
        r.index.push_back(i);
    }
    return r;
}

Func pixelwise(const std::string &name, std::vector<Read> reads, double cost, double extent = kExtent) {
    Func f;
    f.name = name;
    f.types = {"float"};
    f.dims = {"x", "y"};
    Stage s;
    s.loops = {{"x", false, extent}, {"y", false, extent}};
    s.elements = extent * extent;
    s.instructions = cost * s.elements;
    s.reads = std::move(reads);
    f.stages = {s};
    return f;
}

std::string stage(int i) {
    return "stage_" + std::to_string(1000 + i);
}

Description pipeline(std::vector<Func> funcs) {
    Description d;
    funcs.back().output = true;
    for (Func &f : funcs) {
        d.funcs[f.name] = std::move(f);
    }
    d.buffers["input"] = {"input", "float", 4, {int64_t(kExtent), int64_t(kExtent)}};
    return d;
}

// Each stage is a window over the one before.
Description windows(int stages) {
    std::vector<Func> funcs;
    for (int i = 0; i < stages; i++) {
        std::vector<Read> reads;
        for (int dy = -2; dy <= 2; dy++) {
            for (int dx = -2; dx <= 2; dx++) {
                reads.push_back(at(i == 0 ? "input" : stage(i - 1), dx, dy));
            }
        }
        funcs.push_back(pixelwise(stage(i), reads, 50));
    }
    return pipeline(funcs);
}

// Each stage is made of the two before it, which cost so much that they are stored or so little that they may be inlined.
Description forks(int stages, double cost) {
    std::vector<Func> funcs;
    for (int i = 0; i < stages; i++) {
        funcs.push_back(pixelwise(stage(i), {at(i < 1 ? "input" : stage(i - 1), 0, 0), at(i < 2 ? "input" : stage(i - 2), 0, 0)}, cost));
    }
    return pipeline(funcs);
}

// Pictures that become ever smaller, and are put together again.
Description pyramid(int levels) {
    std::vector<Func> funcs;
    double extent = kExtent;
    for (int i = 0; i < levels; i++, extent = std::max(1.0, extent / 2)) {
        const std::string from = i == 0 ? "input" : stage(i - 1);
        funcs.push_back(pixelwise(stage(i), {at(from, 0, 0, 2), at(from, 1, 0, 2), at(from, 0, 1, 2), at(from, 1, 1, 2)}, 1, extent));
    }
    return pipeline(funcs);
}

// A chain of products in which each factor comes of the product before.
Description products(int stages) {
    std::vector<Func> funcs;
    for (int i = 0; i < stages; i++) {
        Func f = pixelwise(stage(i), {}, 0);
        Stage sum = f.stages[0];
        sum.loops.push_back({"k", true, kExtent});
        const std::string from = i == 0 ? "input" : stage(i - 1) + "_of";
        Read a{from, {}}, b{from, {}};
        for (const auto &[read, first, second] : {std::make_tuple(&a, "k", "y"), std::make_tuple(&b, "x", "k")}) {
            for (const char *loop : {first, second}) {
                Index index;
                index.loops[loop] = 1;
                read->index.push_back(index);
            }
        }
        Index x, y;
        x.loops["x"] = 1;
        y.loops["y"] = 1;
        sum.reads = {a, b};
        sum.stored = {x, y};
        sum.factors = {{0}, {1}};
        sum.associative = true;
        sum.instructions = 2 * sum.elements * kExtent;
        f.stages.push_back(sum);
        funcs.push_back(f);
        funcs.push_back(pixelwise(stage(i) + "_of", {at(f.name, 0, 0)}, 5));
    }
    return pipeline(funcs);
}

double seconds_to_plan(const Description &d, const Answers &answers = {}) {
    const auto begin = std::chrono::steady_clock::now();
    Choices choices(answers);
    const Plan plan = make_plan(d, choices, 2);
    CHECK(plan.placed.size() == d.funcs.size());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// All that may be inlined, as a search may ask for.
Answers all_inlined(const Description &d) {
    Answers answers;
    for (const auto &f : d.funcs) {
        answers["inline " + f.first] = "yes";
    }
    return answers;
}

}  // namespace

TEST_CASE("300 stages are planned in seconds", "[depth]") {
    constexpr double kSeconds = 20;  // on a machine that does other things; without a memory it would be years
    CHECK(seconds_to_plan(windows(300)) < kSeconds);
    CHECK(seconds_to_plan(forks(300, 50)) < kSeconds);
    CHECK(seconds_to_plan(forks(300, 0.5)) < kSeconds);
    CHECK(seconds_to_plan(pyramid(30)) < kSeconds);
    Description d = products(60);
    add_copies(d);
    CHECK(seconds_to_plan(d) < kSeconds);
}

TEST_CASE("answers that inline whatever they can are planned in seconds, and no text grows without end", "[depth]") {
    constexpr double kSeconds = 20;
    for (const Description &d : {windows(60), forks(60, 50), pyramid(30)}) {
        CHECK(seconds_to_plan(d, all_inlined(d)) < kSeconds);
        Choices choices(all_inlined(d));
        const Plan plan = make_plan(d, choices, 2);
        std::set<std::string> inlined;
        for (const auto &p : plan.placed) {
            if (p.second.place == Place::kInlined) {
                inlined.insert(p.first);
            }
        }
        Uses uses(d, inlined);
        for (const auto &name : inlined) {
            CHECK(uses.copies(name) <= 256);
        }
    }
}
