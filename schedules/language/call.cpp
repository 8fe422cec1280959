// What a word's function may ask of the use that it is applied to: its arguments as Halide takes
// them, and ways to hand results to Lua.

#include <algorithm>

#include "language/binding.h"

namespace halyard {

using namespace Halide;

Stage Call::stage() const {
    return self.stage ? *self.stage : stage_of(self.func, self.stage_index);
}

VarOrRVar Call::loop(size_t arg, size_t i) const {
    const LoopName &l = args[arg].loops[i];
    return VarOrRVar(unqualified(l.halide), l.is_rvar);
}

std::vector<VarOrRVar> Call::loops(size_t arg) const {
    std::vector<VarOrRVar> result;
    for (size_t i = 0; i < args[arg].loops.size(); i++) {
        result.push_back(loop(arg, i));
    }
    return result;
}

void Call::reorder(const std::vector<VarOrRVar> &order) {
    std::vector<VarOrRVar> all;
    size_t next = 0;
    for (const auto &l : loops_of(stage())) {
        const VarOrRVar loop(unqualified(l.halide), l.is_rvar);
        const bool named =
            std::any_of(order.begin(), order.end(), [&](const VarOrRVar &v) { return unqualified(v.name()) == loop.name(); });
        all.push_back(named && next < order.size() ? order[next++] : loop);
    }
    stage().reorder(next == order.size() ? all : order);
}

Var Call::dim(size_t arg) const {
    return Var(args[arg].texts[0]);
}

std::string Call::new_loop(size_t arg, const std::string &base) {
    if (arg < args.size() && args[arg].present) {
        return args[arg].text;
    }
    const auto taken = [&](const std::string &name) {
        for (const auto &l : loops_of(stage())) {
            if (l.name == name) {
                return true;
            }
        }
        return is_variable_of_loops(name);
    };
    std::string name = base;
    for (int n = 2; taken(name); n++) {
        name = base + std::to_string(n);
    }
    return name;
}

void Call::push_loop(const std::string &plain) {
    for (const auto &l : loops_of(stage())) {
        if (l.name == plain) {
            Handle h = self;
            h.kind = Handle::kLoop;
            h.stage = stage();
            h.loop = l;
            binding.push(L, std::move(h));
            results = results < 0 ? 1 : results + 1;
            return;
        }
    }
    fail("made no loop \"" + plain + "\"");
}

void Call::push_func(const Func &f, const std::string &name) {
    Handle h;
    h.kind = Handle::kFunc;
    h.func = f;
    h.func_name = binding.view().add(f, name);
    binding.push(L, std::move(h));
    results = 1;
}

void Call::push_stage(const Stage &s, int index) {
    Handle h = self;
    h.kind = Handle::kStage;
    h.stage = s;
    h.stage_index = index;
    binding.push(L, std::move(h));
    results = 1;
}

void Call::push_expr(const Expr &e) {
    Handle h;
    h.kind = Handle::kExpr;
    h.expr = e;
    binding.push(L, std::move(h));
    results = 1;
}

void Call::push_dimension(int d) {
    Handle h = self;
    h.kind = Handle::kDimension;
    h.dimension = d;
    binding.push(L, std::move(h));
    results = 1;
}

void Call::need_numbers(const std::vector<Expr> &sizes) const {
    for (const Expr &size : sizes) {
        if (!Internal::as_const_int(Internal::simplify(size))) {
            fail("takes sizes that are known before a call", "give numbers, or what p and target say");
        }
    }
}

void Call::fail(const std::string &message, const std::string &hint) const {
    Diagnostic d;
    d.word = binding.current_word() ? binding.current_word()->name : "";
    d.message = message;
    d.hint = hint;
    if (binding.applies()) {
        binding.host().fail_limit(std::move(d));
    }
    binding.host().raise(std::move(d));
}

}  // namespace halyard
