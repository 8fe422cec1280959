#include "language/needed_work.h"

#include <functional>

#include "language/unfused.h"

namespace halyard {

using namespace Halide;

NeededWork::NeededWork(const Pipeline &pipeline, const Target &target, const BufferSizes &sizes) {
    try {
        const LoopTree tree = unfused_tree(pipeline, target, sizes);
        const Traffic t = executions(tree);
        for (const auto &s : t.stages) {
            instructions_[s.name.func] += s.work.instructions;
            flops_[s.name.func] += s.work.flops;
            if (s.name.update == 0) {
                elements_[s.name.func] += s.elements;
            }
        }
        for (const auto &l : t.loaded) {
            const std::string user = tree.stages[size_t(l.first.first)].func;
            const std::string used = tree.arrays[size_t(l.first.second)].name;
            if (user != used) {
                uses_[{user, used}] += l.second;
            }
        }
    } catch (const Halide::Error &) {
        // No recomputation is reported then.
    }
}

std::map<std::string, double> NeededWork::recomputed(const Traffic &scheduled) const {
    std::map<std::string, double> computed, times;
    for (const auto &s : scheduled.stages) {
        if (s.name.update == 0) {
            computed[s.name.func] += s.elements;
        }
    }
    for (const auto &[func, elements] : computed) {
        const auto needed = elements_.find(func);
        if (needed != elements_.end() && needed->second > 0) {
            times[func] = elements / needed->second;
        }
    }
    // A Func that has no stage of its own is computed wherever it is used.
    const std::function<double(const std::string &)> of = [&](const std::string &func) {
        const auto known = times.find(func);
        if (known != times.end()) {
            return known->second;
        }
        const auto needed = elements_.find(func);
        double sum = 0;
        for (const auto &u : uses_) {
            sum += u.first.second == func ? u.second * of(u.first.first) : 0;
        }
        return times[func] = needed != elements_.end() && needed->second > 0 ? sum / needed->second : 1;
    };
    for (const auto &f : elements_) {
        of(f.first);
    }
    return times;
}

double NeededWork::instructions(const std::string &func) const {
    const auto found = instructions_.find(func);
    return found == instructions_.end() ? 0 : found->second;
}

double NeededWork::flops(const std::string &func) const {
    const auto found = flops_.find(func);
    return found == flops_.end() ? 0 : found->second;
}

}  // namespace halyard
