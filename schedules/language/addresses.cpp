#include "language/addresses.h"

#include <algorithm>
#include <cmath>

namespace halyard {

using namespace Halide;

namespace {

// Along one loop by itself.
void add_loop(Access &a, LoopsAround &loops, size_t i, const Expr &index, int64_t base, int64_t size) {
    const Around &l = loops.all()[i];
    if (l.extent < 2) {
        return;
    }
    const auto f = [&] { return loops.value(index, 0).value_or(base); };
    const int64_t first = loops.at(i, 0, f), second = loops.at(i, 1, f), middle = loops.at(i, l.extent / 2, f),
                  last = loops.at(i, l.extent - 1, f);
    Access::Step s;
    s.loop = l.number;
    s.stride = (second - first) * size;
    s.count = l.extent;
    if (last - first != (second - first) * (l.extent - 1) || middle - first != (second - first) * (l.extent / 2)) {
        // Clamped at an end, or cut by a remainder: the usual step, as far as the values reach.
        const int64_t before = loops.at(i, std::max<int64_t>(l.extent / 2 - 1, 0), f);
        const int64_t usual = middle != before ? middle - before : second != first ? second - first : 0;
        s.stride = usual * size;
        if (usual != 0) {
            const int64_t farthest = std::max(std::abs(last - first), std::abs(middle - first));
            s.count = std::min(l.extent, farthest / std::abs(usual) + 1);
        }
        a.exact = a.exact && s.count >= l.extent - 1;
    }
    if (s.stride != 0) {
        a.steps.push_back(s);
    }
    a.base -= s.stride * std::min(l.now, s.count - 1);
}

// Lanes are runs of equal steps, and runs may repeat (four vectors of 16, say).
void add_lanes(Access &a, LoopsAround &loops, const Expr &index, int64_t base, int lanes, int64_t size) {
    if (lanes < 2) {
        return;
    }
    std::vector<int64_t> offsets;
    for (int i = 0; i < lanes; i++) {
        offsets.push_back(loops.value(index, i).value_or(base) - base);
    }
    const int64_t step = offsets[1];
    int run = 1;
    while (run < lanes && offsets[size_t(run)] == step * run) {
        run++;
    }
    const int64_t next = run < lanes ? offsets[size_t(run)] : 0;
    for (int i = 0; i < lanes; i++) {
        a.exact = a.exact && offsets[size_t(i)] == step * (i % run) + next * (i / run);
    }
    if (step != 0) {
        a.steps.push_back({-1, step * size, run});
    }
    if (run < lanes && next != 0) {
        a.steps.push_back({-1, next * size, (lanes + run - 1) / run});
    }
}

}  // namespace

Access addresses(LoopsAround &loops, const Type &type, const Expr &index) {
    Access a;
    const int64_t size = type.element_of().bytes();
    a.bytes = size * type.lanes();
    for (const Around &l : loops.all()) {
        a.anchors.emplace_back(l.number, double(l.now));
    }
    const auto base = loops.value(index, 0);
    if (!base) {
        a.known = a.exact = false;
        return a;
    }
    a.base = *base * size;
    for (size_t i = 0; i < loops.all().size(); i++) {
        add_loop(a, loops, i, index, *base, size);
    }
    add_lanes(a, loops, index, *base, type.lanes(), size);
    return a;
}

}  // namespace halyard
