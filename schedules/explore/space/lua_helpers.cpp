#include "explore/space/lua_helpers.h"

#include <algorithm>

#include <fmt/format.h>

#include "language/lua_text.h"

namespace halyard::explore {

namespace {

using Names = std::vector<std::string>;

// Sums in lanes, and nothing else.
bool sums_in_lanes(const Placed &p) {
    return p.updates.size() == 1 && p.updates[0].kind == UpdateBody::kLanes && p.store_level.empty() && !p.on_stack && p.constant.empty() &&
           p.vector.empty() && p.unrolled.empty() && p.order.empty();
}

// What a helper of lib.gemm or lib.mma is told of a product's tile, one by one.
class Options {
public:
    std::string text;

    void add(const std::string &name, const std::string &value) {
        text += (text.empty() ? "" : ", ") + name + " = " + value;
    }

    // Loops that are not called as they mostly are, and those around the sum; `order` is columns, rows, the sum, ...
    void add_loops(const Names &order) {
        const char *const usual[] = {"col", "row", "k"};
        for (size_t i = 0; i < 3; i++) {
            if (order[i] != usual[i]) {
                add(usual[i], in_quotes(order[i]));
            }
        }
        add_around("around", order);
    }

    void add_rest(const Names &order, const std::string &k) {
        if (order[2] != k + "_rest") {
            add("rest", in_quotes(order[2]));
        }
        add_around("rest_around", order);
    }

private:
    void add_around(const std::string &name, const Names &order) {
        if (order.size() > 3) {
            add(name, "{ " + all_in_quotes(Names(order.begin() + 3, order.end())) + " }");
        }
    }
};

// A tile of registers in one Func, as lib.gemm has it: its columns are SIMD lanes, all of it is unrolled. As options of
// the helper; "" where it is something else.
std::string register_tile(const Func &f, const Placed &p) {
    if (!p.on_stack || !p.store_level.empty() || f.permuted || p.vectors != 1 || p.width != 0 || !p.order.empty() ||
        p.unrolled.size() != 2 || p.unrolled[0] != p.vector || p.constant.size() != 1 || p.constant.begin()->first != p.vector ||
        p.updates.empty()) {
        return "";
    }
    const std::string &col = p.vector, &row = p.unrolled[1];
    const UpdateBody &sum = p.updates[0];
    const auto is_tile = [&](const UpdateBody &u) {
        return u.kind == UpdateBody::kTile && u.vector == col && u.unrolled == p.unrolled && u.order.size() >= 3 && u.order[0] == col &&
               u.order[1] == row;
    };
    if (!is_tile(sum) || p.updates.size() != (sum.group > 1 ? 2u : 1u)) {
        return "";
    }
    Options options;
    options.add("columns", std::to_string(p.constant.begin()->second));
    options.add("lanes", "lanes");
    options.add_loops(sum.order);
    if (sum.group == 1) {
        return options.text;
    }
    const UpdateBody &rest = p.updates[1];
    if (sum.grouped != sum.order[2] || !is_tile(rest) || rest.group != 1) {
        return "";
    }
    options.add("group", std::to_string(sum.group));
    if (sum.dot) {
        options.add("dot", "true");
    }
    options.add_rest(rest.order, sum.grouped);
    return options.text;
}

// The same for a block that tile instructions make.
std::string mma_block(const Placed &p) {
    const UpdateBody &sum = p.updates[0];
    Options options;
    options.add("columns", std::to_string(p.constant.begin()->second));
    options.add("rows", std::to_string(p.at_most.begin()->second));
    options.add("lanes", "lanes");
    options.add("group", std::to_string(sum.group));
    if (sum.depth > 0) {
        options.add("depth", std::to_string(sum.depth));
    }
    options.add_loops(sum.order);
    if (sum.group > 1) {
        options.add_rest(p.updates[1].order, sum.grouped);
    }
    return options.text;
}

}  // namespace

std::optional<HelperCall> helper_of(const Func &f, const Placed &p, const std::string &self, const std::string &consumer) {
    if (p.place != Place::kAt || f.output || f.permuted) {
        return std::nullopt;
    }
    if (sums_in_lanes(p)) {
        return HelperCall{"reduce",
                          fmt::format("reduce.in_lanes({}, {}, {{ at = {{ {}, {} }}, lanes = lanes, accum = {} }})", self,
                                      in_quotes(p.updates[0].lanes_loop), consumer, in_quotes(p.level), p.updates[0].accumulators)};
    }
    if (!p.updates.empty() && p.updates[0].kind == UpdateBody::kMma) {
        return HelperCall{"mma", fmt::format("mma.in_tiles({}, {}, {}, {{ {} }})", self, consumer, in_quotes(p.level), mma_block(p))};
    }
    if (const std::string options = register_tile(f, p); !options.empty()) {
        return HelperCall{"gemm", fmt::format("gemm.in_registers({}, {}, {}, {{ {} }})", self, consumer, in_quotes(p.level), options)};
    }
    return std::nullopt;
}

std::optional<HelperCall> helper_of(const Func &f, const Nest &n, const std::string &self, bool named) {
    const bool tasks = f.output && f.dims == Names{"col", "row"} && !f.permuted && n.stage == 0 && n.cuts.size() == 1 &&
                       n.cuts[0].dim == "row" && n.cuts[0].tile == 1 && n.cuts[0].task > 0 && !n.cuts[0].registers &&
                       n.levels.size() == 3 && n.levels[0].name == "col" && n.job == Names{"row_task"} && n.vector == "col" &&
                       n.vectors == 1 && !n.whole_vectors && n.stream && !n.unroll_rows && !n.one_piece && !n.half_vectors &&
                       !n.cuts[0].keeps_name && n.with.empty();
    if (!tasks || named) {
        return std::nullopt;
    }
    return HelperCall{"rows", fmt::format("rows.tasks(k, {}, {{ rows = {}, lanes = lanes }})", self, n.cuts[0].task)};
}

}  // namespace halyard::explore
