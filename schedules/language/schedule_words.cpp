#include "language/schedule_words.h"

#include <algorithm>
#include <stdexcept>

#include "language/binding.h"
#include "language/lua_text.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool kind_before(const Definition *was, const Dim &d) {
    if (!was) {
        return false;
    }
    const auto &dims = was->schedule().dims();
    return std::any_of(dims.begin(), dims.end(), [&](const Dim &o) { return o.var == d.var && o.for_type == d.for_type; });
}

void add_gpu(const char *kind, const std::vector<std::string> &loops, std::vector<std::string> &words) {
    if (loops.size() == 1) {
        words.push_back(lua_word(kind, {in_quotes(loops[0])}));
    } else if (!loops.empty()) {
        words.push_back(std::string(":") + kind + " { " + all_in_quotes(loops) + " }");
    }
}

}  // namespace

void no_words(const std::string &what) {
    throw std::runtime_error("there are no words for " + what);
}

int64_t constant_value(const Expr &e, const std::string &what) {
    const auto value = e.defined() ? as_const_int(simplify(e)) : std::nullopt;
    if (!value) {
        no_words(what + " that is no number");
    }
    return *value;
}

std::string value_name(const char *kind, int value) {
    for (const auto &v : named_values(kind)) {
        if (v.value == value) {
            return in_quotes(v.name);
        }
    }
    no_words(std::string("a ") + kind + " of this kind");
}

std::string lua_word(const std::string &name, const std::vector<std::string> &args) {
    if (args.size() == 1 && args[0][0] == '"') {
        return ":" + name + " " + args[0];
    }
    std::string all;
    for (const auto &a : args) {
        all += (all.empty() ? "" : ", ") + a;
    }
    return ":" + name + "(" + all + ")";
}

void add_storage_words(const Function &f, const std::vector<StorageDim> &was, std::vector<std::string> &words) {
    const auto &now = f.schedule().storage_dims();
    std::vector<std::string> names, own;
    for (const auto &d : now) {
        names.push_back(loop_name(d.var));
    }
    for (const auto &a : f.args()) {
        own.push_back(loop_name(a));
    }
    if (!was.empty()) {
        own.clear();
        for (const auto &d : was) {
            own.push_back(loop_name(d.var));
        }
    }
    if (names != own) {
        words.push_back(":reorder_storage(" + all_in_quotes(names) + ")");
    }
    for (const auto &d : now) {
        StorageDim old;
        for (const auto &o : was) {
            old = o.var == d.var ? o : old;
        }
        const std::string dim = in_quotes(loop_name(d.var));
        const auto add = [&](const char *name, const Expr &value, const Expr &before) {
            if (value.defined() && !(before.defined() && equal(value, before))) {
                words.push_back(lua_word(name, {dim, std::to_string(constant_value(value, "a size of memory"))}));
            }
        };
        add("align_storage", d.alignment, old.alignment);
        add("bound_storage", d.bound, old.bound);
        add("fold_storage", d.fold_factor, old.fold_factor);
        if (d.fold_factor.defined() && !d.fold_forward) {
            no_words("storage that is folded backwards");
        }
    }
}

std::string bound_word(const Bound &b) {
    const std::string dim = in_quotes(loop_name(b.var));
    if (b.modulus.defined()) {
        const std::string modulus = std::to_string(constant_value(b.modulus, "a bound"));
        return b.remainder.defined() ? lua_word("align_bounds", {dim, modulus, std::to_string(constant_value(b.remainder, "a bound"))})
                                     : lua_word("align_extent", {dim, modulus});
    }
    const std::string extent = std::to_string(constant_value(b.extent, "a bound"));
    return b.min.defined() ? lua_word("bound", {dim, std::to_string(constant_value(b.min, "a bound")), extent})
                           : lua_word("bound_extent", {dim, extent});
}

void add_order_word(const StageLoops &l, const std::set<int> &hidden, std::vector<std::string> &words) {
    std::vector<int> then, now;
    const auto shown = [&](int loop) { return hidden.count(loop) == 0; };
    std::copy_if(l.unordered.begin(), l.unordered.end(), std::back_inserter(then), shown);
    std::copy_if(l.order.begin(), l.order.end(), std::back_inserter(now), shown);
    if (then != now && now.size() > 1) {
        std::vector<std::string> names;
        for (const int loop : now) {
            names.push_back(l.loops[size_t(loop)].name);
        }
        words.push_back(":reorder(" + all_in_quotes(names) + ")");
    }
}

void add_kind_words(const Stage &stage, const Definition &now, const Definition *was, const StageLoops &l, const std::set<int> &hidden,
                    const std::map<int, std::string> &ends, std::vector<std::string> &words) {
    if (now.schedule().atomic() && !(was && was->schedule().atomic())) {
        words.emplace_back(":atomic()");
    }
    const bool races = now.schedule().allow_race_conditions() && !(was && was->schedule().allow_race_conditions());
    if (now.schedule().override_atomic_associativity_test() || races) {
        no_words("loops that run in parallel without a proof that this is right");
    }
    std::vector<int> outwards = l.order;
    std::reverse(outwards.begin(), outwards.end());
    std::vector<std::string> blocks, threads;
    for (const int loop : outwards) {
        const Dim *d = l.dim(loop, stage);
        const std::string &name = l.loops[size_t(loop)].name;
        if (d->for_type == ForType::GPUBlock) {
            blocks.insert(blocks.begin(), name);
        } else if (d->for_type == ForType::GPUThread) {
            threads.insert(threads.begin(), name);
        }
    }
    if (!l.single_thread) {
        add_gpu("gpu_blocks", blocks, words);
        add_gpu("gpu_threads", threads, words);
    }
    for (const int loop : outwards) {
        const Dim *d = l.dim(loop, stage);
        const std::string name = in_quotes(l.loops[size_t(loop)].name);
        const char *kind = d->for_type == ForType::Parallel     ? "parallel"
                           : d->for_type == ForType::Vectorized ? "vectorize"
                           : d->for_type == ForType::Unrolled   ? "unroll"
                           : d->for_type == ForType::GPULane    ? "gpu_lanes"
                                                                : "";
        if (*kind && hidden.count(loop) == 0 && !kind_before(was, *d)) {
            words.push_back(lua_word(kind, {name}));
        }
        if (const auto end = ends.find(loop); end != ends.end()) {
            words.push_back(end->second);
        }
        if (d->partition_policy != Partition::Auto) {
            words.push_back(lua_word("partition", {name, value_name("partition", int(d->partition_policy))}));
        }
    }
}

}  // namespace halyard
