#include "language/loops_around.h"

#include <algorithm>

namespace halyard {

using namespace Halide;

void LoopsAround::push_variable(const std::string &name, int64_t min) {
    value.push_loop(name, min);
    mins_[name].push_back(min);
}

void LoopsAround::pop_variable(const std::string &name) {
    mins_[name].pop_back();
    value.pop(name);
}

void LoopsAround::push(const Around &loop) {
    around_.push_back(loop);
    place(loop.variable);
}

void LoopsAround::pop() {
    around_.pop_back();
}

// Sets the variable of a loop from the iterations of its parts.
void LoopsAround::place(const std::string &variable) {
    int64_t v = mins_.at(variable).back();
    for (const Around &a : around_) {
        if (a.variable == variable) {
            v += a.step * a.now;
        }
    }
    value.set_loop(variable, v);
}

int64_t LoopsAround::at(size_t loop, int64_t iteration, const std::function<int64_t()> &f) {
    Around &a = around_[loop];
    const int64_t before = a.now;
    a.now = iteration;
    place(a.variable);
    const int64_t result = f();
    a.now = before;
    place(a.variable);
    return result;
}

void LoopsAround::at_iterations(const Iterations &where, const std::function<void()> &f) {
    std::vector<int64_t> before;
    for (const auto &w : where) {
        before.push_back(around_[w.first].now);
        around_[w.first].now = w.second;
        place(around_[w.first].variable);
    }
    f();
    for (size_t i = 0; i < where.size(); i++) {
        around_[where[i].first].now = before[i];
        place(around_[where[i].first].variable);
    }
}

std::optional<LoopsAround::Mean> LoopsAround::mean(const Expr &e) {
    const auto now = value(e);
    if (!now) {
        return std::nullopt;
    }
    Mean m;
    m.value = double(*now);
    const auto f = [&] { return value(e).value_or(*now); };
    std::vector<size_t> varying;
    for (size_t i = 0; i < around_.size(); i++) {
        const int64_t n = around_[i].extent;
        for (const int64_t it : {int64_t(0), int64_t(1), n / 3, n - 2, n - 1}) {
            if (it >= 0 && it < n && at(i, it, f) != *now) {
                varying.push_back(i);
                break;
            }
        }
    }
    if (varying.empty()) {
        return m;
    }
    // All iterations of one loop, evenly spread ones of two; of more, the two innermost.
    if (varying.size() > 2) {
        m.of_two = true;
        varying.erase(varying.begin(), varying.end() - 2);
    }
    const int64_t most = varying.size() == 1 ? 4096 : 64;
    double sum = 0, count = 0;
    const std::function<void(size_t)> walk = [&](size_t k) {
        if (k == varying.size()) {
            const int64_t v = f();
            sum += double(v);
            count++;
            auto &seen = v > 0 ? m.yes : m.no;
            if (seen.empty()) {
                for (size_t i : varying) {
                    seen.emplace_back(i, around_[i].now);
                }
            }
            return;
        }
        const size_t loop = varying[k];
        const int64_t n = around_[loop].extent, samples = std::min(n, most);
        for (int64_t s = 0; s < samples; s++) {
            at(loop, samples == n ? s : s * (n - 1) / (samples - 1), [&] {
                walk(k + 1);
                return int64_t(0);
            });
        }
    };
    walk(0);
    m.value = sum / count;
    return m;
}

}  // namespace halyard
