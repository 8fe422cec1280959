// Words on the order of loops, their versions, and how reductions may run.

#include "language/word.h"

#include <set>

namespace halyard {

using namespace Halide;

namespace {

// Halide 21 takes a kept loop to be within its reduction's bounds without looking, and reads behind the end of an array where it is
// rounded up. So the bounds are asked for; lowering takes the question away where its answer is known.
class AskForBounds : public Internal::IRMutator {
    using IRMutator::visit;

    Expr visit(const Internal::Call *op) override {
        const bool promise = op->is_intrinsic(Internal::Call::promise_clamped) || op->is_intrinsic(Internal::Call::unsafe_promise_clamped);
        const auto *loop = promise ? op->args[0].as<Internal::Variable>() : nullptr;
        if (loop && kept_.count(loop->name)) {
            return Internal::Call::make(op->type, op->name, {clamp(op->args[0], op->args[1], op->args[2]), op->args[1], op->args[2]},
                                        op->call_type);
        }
        // Its own element is where it is stored.
        return op->call_type == Internal::Call::Halide && op->name == func_ ? Expr(op) : IRMutator::visit(op);
    }

    const std::string func_;
    const std::set<std::string> kept_;

public:
    AskForBounds(std::string func, std::set<std::string> kept) : func_(std::move(func)), kept_(std::move(kept)) {}
};

void rfactor(Call &c) {
    const auto &loops = c.args[0].loops;
    if (c.self.stage_index == 0 && c.self.stage == std::nullopt) {
        c.fail("works on an update stage", "write `" + c.self.func_name + ":update(0):rfactor(...)`");
    }
    std::vector<std::pair<RVar, Var>> kept;
    for (size_t i = 0; i < loops.size(); i++) {
        if (!loops[i].is_rvar) {
            c.fail("\"" + loops[i].name + "\" is not a reduction loop");
        }
        const std::string name = c.args[1].present && i < c.args[1].texts.size() ? c.args[1].texts[i] : loops[i].name + "_lane";
        kept.emplace_back(c.loop(0, i).rvar, Var(name));
    }
    const Func partial = c.stage().rfactor(kept);
    std::set<std::string> names;
    for (const auto &loop : kept) {
        names.insert(loop.second.name());
    }
    AskForBounds ask(partial.name(), names);
    partial.function().mutate(&ask);
    c.push_func(partial, c.self.func_name + "_partial");
}

void compute_with(Call &c) {
    const auto align = c.args[1].present ? LoopAlignStrategy(c.args[1].integer) : LoopAlignStrategy::Auto;
    c.stage().compute_with(*c.args[0].level, align);
}

void specialize(Call &c) {
    c.push_stage(c.stage().specialize(c.args[0].expr), c.self.stage_index);
}

void update(Call &c) {
    const int count = c.func().num_update_definitions();
    const int64_t i = c.args[0].present ? c.args[0].integer : 0;
    if (i < 0 || i >= count) {
        c.fail(count ? c.self.func_name + " has no update " + std::to_string(i) + "; it has " + std::to_string(count) + ", counted from 0"
                     : c.self.func_name + " has no updates");
    }
    c.push_stage(stage_of(c.func(), int(i) + 1), int(i) + 1);
}

void reduction(Call &c) {
    const int update = c.self.stage_index - 1;
    if (update < 0) {
        c.fail("works on an update stage", "write `" + c.self.func_name + ":update(0):reduction(0)`");
    }
    const LoopNamer name(c.stage().get_schedule());
    const auto &rvars = c.stage().get_schedule().rvars();
    const int64_t i = c.args[0].present ? c.args[0].integer : 0;
    const std::string stage = c.self.func_name + ":update(" + std::to_string(update) + ")";
    if (i >= int64_t(rvars.size())) {
        c.fail(rvars.empty() ? stage + " sums over no loop"
                             : stage + " has no reduction loop " + std::to_string(i) + "; it has " + std::to_string(rvars.size()) +
                                   ", counted from 0");
    }
    const std::string wanted = name(rvars[size_t(i)].var);
    for (const auto &l : loops_of(c.stage())) {
        if (l.name == wanted && l.is_rvar) {
            c.push_loop(wanted);
            return;
        }
    }
    c.fail("the loop \"" + wanted + "\" of " + stage + " is no more: it was split, fused or renamed", "ask for it before that");
}

void has_condition(Call &c) {
    const int update = c.self.stage_index - 1;
    const bool found = update >= 0 && !is_const_one(c.func().function().update(update).predicate());
    lua_pushboolean(c.L, found);
    c.results = 1;
}

void prefetch(Call &c) {
    const Handle &what = c.args[0].handles[0];
    const Expr offset = c.args[3].present ? c.args[3].expr : Expr(1);
    const auto strategy = c.args[4].present ? PrefetchBoundStrategy(c.args[4].integer) : PrefetchBoundStrategy::GuardWithIf;
    if (what.parameter.defined()) {
        c.stage().prefetch(what.parameter, c.loop(1), c.loop(2), offset, strategy);
    } else {
        c.stage().prefetch(what.func, c.loop(1), c.loop(2), offset, strategy);
    }
}

}  // namespace

const std::vector<Word> kOrderWords = {
    {"reorder", Handle::kStage, "loops:loop...", "self", "Puts loops in the order given, innermost first.", "for row\n  for col",
     "for col\n  for row", [](Call &c) { c.reorder(c.loops(0)); }},
    {"compute_with", Handle::kStage, "level:level align:align?", "self",
     "Runs this stage inside the loops of another, down to the loop named: horizontal fusion. Both must have loops "
     "of the same names and extents outside it.",
     "for row: f(row)\nfor row: g(row)", "for row\n  f(row)\n  g(row)", compute_with},
    {"rfactor", Handle::kStage, "loops:loop_or_loops names:names?", "partial:Func",
     "Splits an associative reduction: a new Func reduces all but the loops named, which become pure and so can be "
     "vectorised or made parallel; this stage then reduces over them.",
     "for r: sum += x(r)", "for lane: partial(lane) += x(r, lane)\nfor lane: sum += partial(lane)", rfactor},
    {"specialize", Handle::kStage, "condition:condition", "stage:Stage",
     "Makes a second version of the stage's loops, run when the condition holds. Words on the result schedule it.", "for row",
     "if (rows % 8 == 0)\n  for row\nelse\n  for row", specialize},
    {"specialize_fail", Handle::kStage, "message:string", "self",
     "The general version fails at run time with the message: only specialisations remain.", "else\n  for row", "else\n  error(message)",
     [](Call &c) { c.stage().specialize_fail(c.args[0].text); }},
    {"update", Handle::kFunc, "index:int[0..<updates]?", "stage:Stage", "An update stage of the Func, counted from 0.",
     "sum(row) = 0\nsum(row) += x", "the second of the two", update},
    {"reduction", Handle::kStage, "index:int[0..63]?", "loop:Loop",
     "A loop of the reduction by its place, counted from 0, the innermost first: for a reduction whose loops have no names, "
     "and for schedules of several algorithms.",
     "for r_y\n  for r_x: counts(x) += 1", "r_x is the loop 0, r_y the loop 1", reduction},
    {"has_condition", Handle::kStage, "", "condition:boolean",
     "Whether the algorithm leaves out part of a reduction's loops by a condition. What rfactor makes of such a one needs "
     "all of what it reads.",
     "for r: if (r < n) sum += x(r)", "true", has_condition},
    {"atomic", Handle::kStage, "", "self",
     "Updates are atomic, so that a reduction loop can be made parallel or be vectorised. An update that is not associative is an "
     "error.",
     "for r: h(x(r)) += 1", "parallel r: atomic h(x(r)) += 1", [](Call &c) { c.stage().atomic(); }},
    {"prefetch", Handle::kStage, "func:func at:loop from:loop offset:size[0..1048576]? strategy:prefetch?", "self",
     "Prefetches, in each iteration of `at`, what `func` needs `offset` iterations of `from` later.", "for col: x(col)",
     "for col: prefetch x(col + 8); x(col)", prefetch},
    {"partition", Handle::kStage, "loop:loop policy:partition", "self",
     "Whether the loop is cut into prologue, steady state and epilogue, so that the middle runs without guards.", "for i: if (i < n) body",
     "for i in 0..n: body", [](Call &c) { c.stage().partition(c.loop(0), Partition(c.args[1].integer)); }},
    {"never_partition", Handle::kStage, "loops:loop...", "self", "partition with \"never\", for several loops.", "for i", "for i",
     [](Call &c) { c.stage().never_partition(c.loops(0)); }},
    {"never_partition_all", Handle::kStage, "", "self", "never_partition for all loops of the stage.", "for i", "for i",
     [](Call &c) { c.stage().never_partition_all(); }},
    {"always_partition", Handle::kStage, "loops:loop...", "self", "partition with \"always\", for several loops.", "for i", "for i",
     [](Call &c) { c.stage().always_partition(c.loops(0)); }},
    {"unscheduled", Handle::kStage, "", "self", "States that the stage is meant to have no schedule, which silences Halide's warning.",
     "for row", "for row", [](Call &c) { c.stage().unscheduled(); }},
    {"always_partition_all", Handle::kStage, "", "self", "always_partition for all loops of the stage.", "for i", "for i",
     [](Call &c) { c.stage().always_partition_all(); }},
};

}  // namespace halyard
