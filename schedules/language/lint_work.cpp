#include "language/lint_work.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "language/nest.h"

namespace halyard {

namespace {

// Instructions. What takes less than some tens of microseconds is nobody's bottleneck.
constexpr double kLittle = 1e5;

const Node *kernel_of(const Spot &s) {
    const auto block = std::find_if(s.loops.begin(), s.loops.end(), [](const Node *l) { return l->block; });
    return block == s.loops.end() ? nullptr : *block;
}

}  // namespace

std::string count_text(double n) {
    std::ostringstream text;
    text.precision(n < 10 ? 2 : 10);
    text << (n < 10 ? n : std::round(n));
    return text.str();
}

std::string LintNote::text() const {
    return file + (line > 0 ? ":" + std::to_string(line) : "") + ": note: " + message;
}

LintWork::LintWork(const LintView &view) : v(view) {
    std::vector<const Node *> loops;
    walk(v.tree.root, 1, loops);
    std::set<const Node *> kernels;
    for (const Spot &s : spots) {
        if (is_product(s) && kernel_of(s)) {
            kernels.insert(kernel_of(s));
        }
    }
    product_kernels_ = std::move(kernels);
    for (const Spot &s : spots) {
        total += is_product(s) ? 0 : s.cost;
    }
    total = std::max(total, kLittle / kWorthALine);
    whole = total;
    for (const auto &func : v.products) {
        whole += v.needed.flops(func) / 2 / v.multiply_adds;
    }
}

void LintWork::walk(const Node &n, double times, std::vector<const Node *> &loops) {
    times *= n.times;
    if (n.kind == Node::kStatement) {
        Spot s;
        s.node = &n;
        s.loops = loops;
        s.times = times;
        double moved = 0;
        for (size_t i = n.first_access; i < n.last_access; i++) {
            const Access &a = v.tree.accesses[i];
            const int64_t size = element_bytes(a), lanes = a.bytes / std::max<int64_t>(size, 1);
            s.vector = s.vector || lanes > 1;
            if (!v.tree.arrays[size_t(a.array)].in_registers) {
                const int64_t apart = std::abs(lane_stride(a));
                moved += apart > size ? double(lanes) : std::ceil(double(a.bytes) / v.vector_bytes);
            }
        }
        s.vector = s.vector || n.work.scalar_flops < n.work.flops / 2;
        s.cost = (n.work.instructions + moved) * times;
        spots.push_back(std::move(s));
        return;
    }
    const bool loop = n.kind == Node::kLoop;
    if (loop) {
        loops.push_back(&n);
    }
    for (const Node &c : n.children) {
        walk(c, times * (loop ? n.extent : 1), loops);
    }
    if (loop) {
        loops.pop_back();
    }
}

bool LintWork::is_product(const Spot &s) const {
    return v.products.count(stage(s).func) > 0 || product_kernels_.count(kernel_of(s)) > 0;
}

bool LintWork::is_own(const Spot &s, const Node &loop) const {
    const std::string prefix = stage(s).func + ".s" + std::to_string(stage(s).update) + ".";
    return loop.name.compare(0, prefix.size(), prefix) == 0;
}

int64_t LintWork::stride(const Access &a, int loop) {
    for (const auto &s : a.steps) {
        if (s.loop == loop) {
            return s.stride;
        }
    }
    return 0;
}

int64_t LintWork::lane_stride(const Access &a) {
    return stride(a, -1);
}

int64_t LintWork::element_bytes(const Access &a) const {
    return v.tree.arrays[size_t(a.array)].element_bytes;
}

void LintWork::for_each_access(const Spot &s, const std::function<void(const Access &)> &visit) const {
    for (size_t i = s.node->first_access; i < s.node->last_access; i++) {
        const Access &a = v.tree.accesses[i];
        if (!v.tree.arrays[size_t(a.array)].in_registers) {
            visit(a);
        }
    }
}

const Access *LintWork::store_of(const Spot &s) const {
    for (size_t i = s.node->first_access; i < s.node->last_access; i++) {
        if (v.tree.accesses[i].store) {
            return &v.tree.accesses[i];
        }
    }
    return nullptr;
}

const Access *LintWork::reload_of(const Spot &s) const {
    const Access *store = store_of(s);
    for (size_t i = s.node->first_access; store && store->known && i < s.node->last_access; i++) {
        const Access &a = v.tree.accesses[i];
        const bool same_steps = a.steps.size() == store->steps.size() &&
                                std::equal(a.steps.begin(), a.steps.end(), store->steps.begin(),
                                           [](const auto &x, const auto &y) { return x.loop == y.loop && x.stride == y.stride; });
        if (!a.store && a.array == store->array && a.base == store->base && same_steps) {
            return &a;
        }
    }
    return nullptr;
}

std::string LintWork::name(const StageName &s) const {
    return "k." + v.view.name_of(s.func) + (s.update > 0 ? ":update(" + std::to_string(s.update - 1) + ")" : "");
}

std::string LintWork::loop_name(const Node &loop) {
    return halyard::loop_name(without_halides(loop.name));
}

std::string LintWork::func_of(const Node &loop) const {
    return loop.name.substr(0, loop.name.find(".s"));
}

const Touch *LintWork::touch_of(const std::string &func, const std::string &loop) const {
    const Touch *found = nullptr;
    for (const Touch &t : v.touches) {
        const bool named = loop.empty() || std::find(t.loops.begin(), t.loops.end(), loop) != t.loops.end();
        if (t.func == func && named && t.place.line > 0) {
            found = &t;
        }
    }
    return found;
}

LintNote LintWork::note(const std::string &halide_func, const std::string &loop, const std::string &other,
                        const std::string &message) const {
    const std::string func = v.view.name_of(halide_func);
    const Touch *t = touch_of(func, loop);
    t = t ? t : touch_of(func, "");
    t = t || other.empty() ? t : touch_of(v.view.name_of(other), "");
    t = t ? t : touch_of(v.view.name_of(v.view.outputs().front().name()), "");
    return t ? LintNote{t->place.file, t->place.line, message} : LintNote{v.script, v.line, message};
}

// The loops that do nothing but repeat what is computed in them are the innermost ones, as far as their turns make up `times`.
std::string LintWork::further_out(const std::string &func, const Spot &spot, double times, bool device) const {
    const std::string f = "k." + v.view.name_of(func);
    std::vector<const Node *> around;
    for (const Node *l : spot.loops) {
        if (func_of(*l) != func && l->name[0] != '.') {
            around.push_back(l);
        }
    }
    const auto same_loop = [&](size_t i, size_t j) { return around[i]->name == around[j]->name; };
    constexpr double kNear = 0.1;
    const auto near = [&](double turns) { return std::abs(turns / times - 1) < kNear; };
    const Access *store = store_of(spot);
    const double lanes = store ? double(store->bytes) / double(element_bytes(*store)) : 1;
    double turns = 1;
    for (size_t i = around.size(); i > 0 && !device; i--) {
        turns *= around[i - 1]->extent;
        if ((!near(turns) && !near(turns * lanes)) || (i > 1 && same_loop(i - 1, i - 2))) {
            continue;
        }
        if (i == 1) {
            return "say " + f + ":compute_root()";
        }
        return "say " + f + ":compute_at(k." + v.view.name_of(func_of(*around[i - 2])) + ", \"" + loop_name(*around[i - 2]) + "\")";
    }
    if (around.empty() || device) {
        return "compute it further out, with " + f + ":compute_at(...), or once, with " + f + ":compute_root()";
    }
    return "compute it outside of \"" + loop_name(*around.back()) + "\", with " + f + ":compute_at(...), or once, with " + f +
           ":compute_root()";
}

void LintWork::add_recomputed(std::vector<LintNote> &notes, bool device) const {
    constexpr double kOften = 2;
    const Traffic counted = executions(v.tree);
    const auto recomputed = v.needed.recomputed(counted);
    std::map<std::string, Group> funcs;
    double needed = 0;
    for (const Spot &s : spots) {
        if (!is_product(s)) {
            Group &g = funcs[stage(s).func];
            g.cost += s.cost;
            g.first = !g.first || s.times > g.first->times ? &s : g.first;
        }
    }
    for (const auto &r : recomputed) {
        needed += v.needed.instructions(r.first);
    }
    for (const auto &[func, times] : recomputed) {
        const auto own = funcs.find(func);
        const auto entry = v.view.funcs().find(v.view.name_of(func));
        const bool inner = entry != v.view.funcs().end() && !entry->second.parameter.defined() && !entry->second.is_output;
        // Copies that a kernel makes of what its threads share overlap.
        const bool copied = device && v.needed.instructions(func) == 0;
        // Registers that a block has are divided among its threads by a pass of ours, which this tree comes before.
        const bool divided = device && inner && entry->second.function.schedule().memory_type() == Halide::MemoryType::Register;
        if (times <= kOften || !inner || copied || divided) {
            continue;  // an output is computed again where a loop's end is shifted inwards
        }
        const std::string f = "k." + v.view.name_of(func);
        const std::string often = " is computed " + count_text(times) + " times over: ";
        if (own != funcs.end()) {
            if (own->second.cost * (1 - 1 / times) > kWorthALine * whole) {
                const Spot &spot = *own->second.first;
                std::string consumer = v.view.outputs().front().name();
                for (const Node *l : spot.loops) {
                    consumer = func_of(*l) != func && touch_of(v.view.name_of(func_of(*l)), "") ? func_of(*l) : consumer;
                }
                notes.push_back(note(func, "", consumer, f + often + further_out(func, spot, times, device)));
            }
        } else if (!device && v.needed.instructions(func) * (times - 1) > kWorthALine * whole && whole > kOften * needed) {
            // It has no loops of its own. Where all there is to do is not much more, the compiler took it out of the loops.
            notes.push_back(note(func, "", "",
                                 f + " is computed inline, " + count_text(times) + " times over: say " + f + ":compute_at(...) or " + f +
                                     ":compute_root()"));
        }
    }
}

void LintWork::add_sums_in_memory(std::vector<LintNote> &notes) const {
    constexpr double kShort = 4;
    struct Sums {
        double cost = 0;
        const Node *step = nullptr, *inside = nullptr;
    };
    std::map<int, Sums> stages;
    for (const Spot &s : spots) {
        const Access *store = store_of(s);
        if (stage(s).update == 0 || is_product(s) || !reload_of(s) || v.tree.arrays[size_t(store->array)].in_registers ||
            v.tree.arrays[size_t(store->array)].in_kernel) {
            continue;
        }
        const Node *step = nullptr, *inside = nullptr;
        for (const Node *l : s.loops) {
            const bool mine = is_own(s, *l) && l->extent >= kShort;
            const bool moves = stride(*store, l->loop) != 0;
            inside = mine && moves && step ? l : inside;
            step = mine && !moves && !inside ? l : step;
        }
        if (step && inside) {
            Sums &sums = stages[s.node->stage];
            sums.cost += s.cost;
            sums.step = step;
            sums.inside = inside;
        }
    }
    for (const auto &[number, sums] : stages) {
        if (sums.cost > kWorthALine * total) {
            const StageName &stage = v.tree.stages[size_t(number)];
            const std::string step = loop_name(*sums.step), inside = loop_name(*sums.inside);
            notes.push_back(note(stage.func, inside, "",
                                 name(stage) + " loads and stores its values at every turn of \"" + step + "\": let \"" + step +
                                     "\" run inside of \"" + inside + "\", say " + name(stage) + ":reorder(\"" + step + "\", \"" + inside +
                                     "\"), and split, vectorize and unroll a tile inside of both that fits the registers"));
        }
    }
}

}  // namespace halyard
