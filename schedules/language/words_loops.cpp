// Words that make and mark loops.

#include "language/word.h"

#include <algorithm>

namespace halyard {

using namespace Halide;

namespace {

TailStrategy tail(const Argument &a) {
    return a.present ? TailStrategy(a.integer) : TailStrategy::Auto;
}

void split(Call &c) {
    const bool rvar = c.args[0].loops[0].is_rvar;
    const std::string base = c.args[0].loops[0].name;
    const std::string outer = c.new_loop(3, base + "_outer");
    const std::string inner = c.new_loop(4, base + "_inner");
    c.stage().split(c.loop(0), VarOrRVar(outer, rvar), VarOrRVar(inner, rvar), c.args[1].expr, tail(c.args[2]));
    c.push_loop(outer);
    c.push_loop(inner);
}

Internal::ForType type_of(const Call &c, const LoopName &loop) {
    for (const Internal::Dim &d : c.stage().get_schedule().dims()) {
        if (d.var == loop.halide) {
            return d.for_type;
        }
    }
    return Internal::ForType::Serial;
}

void fuse(Call &c) {
    // The one would run as the other does, and what is computed in it for every block would be for each thread.
    const Internal::ForType inner = type_of(c, c.args[0].loops[0]), outer = type_of(c, c.args[1].loops[0]);
    if ((Internal::is_gpu(inner) || Internal::is_gpu(outer)) && inner != outer) {
        c.fail("joins \"" + c.args[0].loops[0].name + "\" and \"" + c.args[1].loops[0].name +
                   "\", of which the device runs one in another way than the other",
               "fuse loops before saying which are blocks and which threads");
    }
    const bool rvar = c.args[0].loops[0].is_rvar;
    const std::string fused = c.new_loop(2, c.args[0].loops[0].name + "_" + c.args[1].loops[0].name);
    c.stage().fuse(c.loop(0), c.loop(1), VarOrRVar(fused, rvar));
    c.push_loop(fused);
}

void tile(Call &c) {
    const auto &loops = c.args[0].loops;
    if (loops.size() != c.args[1].exprs.size()) {
        c.fail("has " + std::to_string(loops.size()) + " loops but " + std::to_string(c.args[1].exprs.size()) + " sizes");
    }
    std::vector<VarOrRVar> outers, inners;
    std::vector<std::string> names;
    const auto name = [&](size_t arg, size_t i, const char *suffix) {
        const auto &given = c.args[arg];
        if (given.present && given.texts.size() != loops.size()) {
            c.fail("needs as many names as loops");
        }
        return given.present ? given.texts[i] : c.new_loop(c.args.size(), loops[i].name + suffix);
    };
    for (size_t i = 0; i < loops.size(); i++) {
        names.push_back(name(3, i, "_outer"));
        outers.emplace_back(names.back(), loops[i].is_rvar);
    }
    for (size_t i = 0; i < loops.size(); i++) {
        names.push_back(name(4, i, "_inner"));
        inners.emplace_back(names.back(), loops[i].is_rvar);
    }
    for (size_t i = 0; i < names.size(); i++) {
        if (std::count(names.begin(), names.begin() + std::ptrdiff_t(i), names[i]) > 0) {
            c.fail("makes two loops \"" + names[i] + "\"");
        }
    }
    for (size_t i = 0; i < loops.size(); i++) {
        c.stage().split(c.loop(0, i), outers[i], inners[i], c.args[1].exprs[i], tail(c.args[2]));
    }
    std::vector<VarOrRVar> order = inners;
    order.insert(order.end(), outers.begin(), outers.end());
    c.reorder(order);
    for (const auto &n : names) {
        c.push_loop(n);
    }
}

void vectorize(Call &c) {
    if (c.args[1].present) {
        c.stage().vectorize(c.loop(0), c.args[1].expr, tail(c.args[2]));
    } else {
        c.stage().vectorize(c.loop(0));
    }
}

void unroll(Call &c) {
    if (c.args[1].present) {
        c.stage().unroll(c.loop(0), c.args[1].expr, tail(c.args[2]));
    } else {
        c.stage().unroll(c.loop(0));
    }
}

void parallel(Call &c) {
    if (c.args[1].present) {
        c.stage().parallel(c.loop(0), c.args[1].expr, tail(c.args[2]));
    } else {
        c.stage().parallel(c.loop(0));
    }
}

void rename(Call &c) {
    const std::string name = c.new_loop(1, "");
    c.stage().rename(c.loop(0), VarOrRVar(name, c.args[0].loops[0].is_rvar));
    c.push_loop(name);
}

}  // namespace

const std::vector<Word> kLoopWords = {
    {"split", Handle::kStage, "loop:loop factor:size[1..16777216] tail:tail? outer:name? inner:name?", "outer:Loop inner:Loop",
     "Splits a loop in two: the inner one runs `factor` times. `tail` says what happens where the extent is no "
     "multiple of the factor.",
     "for row in 0..n", "for row_outer in 0..n/4\n  for row_inner in 0..4", split},
    {"fuse", Handle::kStage, "inner:loop outer:loop name:name?", "fused:Loop",
     "Joins two loops that stand directly in one another into one over all their pairs.", "for row\n  for col",
     "for col_row in 0..rows*cols", fuse},
    {"tile", Handle::kStage, "loops:loops sizes:sizes[1..16777216] tail:tail? outers:names? inners:names?", "outers:Loop... inners:Loop...",
     "Splits several loops and moves the inner ones inside all outer ones. Loops are named from the innermost out.", "for row\n  for col",
     "for row_outer\n  for col_outer\n    for row_inner in 0..6\n      for col_inner in 0..64", tile},
    {"vectorize", Handle::kStage, "loop:loop lanes:size[1..1024]? tail:tail?", "self",
     "Runs the loop as one SIMD operation. With `lanes` the loop is split first and its inner part is vectorised; "
     "the loop keeps its name.",
     "for col in 0..n", "for col in 0..n/16\n  vectorized in 0..16", vectorize},
    {"unroll", Handle::kStage, "loop:loop factor:size[1..4096]? tail:tail?", "self",
     "Writes the body out once for each iteration. With `factor` the loop is split first.", "for i in 0..4: body",
     "body(0) body(1) body(2) body(3)", unroll},
    {"parallel", Handle::kStage, "loop:loop task:size[1..16777216]? tail:tail?", "self",
     "Runs the iterations on the thread pool. With `task` that many iterations make one task.", "for row", "parallel row", parallel},
    {"serial", Handle::kStage, "loop:loop", "self", "Runs the loop in order on one thread, which is the default.", "parallel row",
     "for row", [](Call &c) { c.stage().serial(c.loop(0)); }},
    {"rename", Handle::kStage, "loop:loop name:name", "loop:Loop", "Gives a loop another name.", "for col", "for x", rename},
};

}  // namespace halyard
