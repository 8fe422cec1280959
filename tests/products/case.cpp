#include "case.h"

#include <algorithm>

#include <fmt/format.h>

namespace products_test {

namespace {

using Random = std::mt19937;

int below(Random &random, int n) {
    return int(random() % unsigned(n));
}

bool one_in(Random &random, int n) {
    return below(random, n) == 0;
}

template<typename T>
T one_of(Random &random, const std::vector<T> &all) {
    return all[size_t(below(random, int(all.size())))];
}

std::string shuffled(Random &random, std::string s) {
    for (size_t i = s.size(); i > 1; i--) {
        std::swap(s[i - 1], s[size_t(below(random, int(i)))]);
    }
    return s;
}

bool has(const std::string &order, char d) {
    return order.find(d) != std::string::npos;
}

std::string loop_name(char d) {
    return d == 'k' ? "depth" : d == 'r' ? "row" : d == 'c' ? "col" : std::string(1, d);
}

std::string quoted(const std::vector<std::string> &names) {
    std::string all;
    for (const auto &n : names) {
        all += (all.empty() ? "\"" : ", \"") + n + "\"";
    }
    return all;
}

// Of a stage that is no product: two loops are tiles of threads, the others blocks.
std::string by_threads(const std::string &func, const std::string &order, const std::string &tail) {
    std::string text = fmt::format("  {}:compute_root():gpu_tile({{ {} }}, {{ 16, 8 }}, \"{}\")\n", func,
                                   quoted({loop_name(order[0]), loop_name(order[1])}), tail);
    if (order.size() == 4) {
        text += fmt::format("  {0}:fuse({1}, \"others\")\n  {0}:gpu_blocks \"others\"\n", func,
                            quoted({loop_name(order[2]), loop_name(order[3])}));
    } else if (order.size() == 3) {
        text += fmt::format("  {}:gpu_blocks \"{}\"\n", func, loop_name(order[2]));
    }
    return text;
}

std::string operand_text(Random &random, const std::string &func, const std::string &order) {
    std::string text = by_threads(func, order, one_of<std::string>(random, {"guard", "guard", "shift_inwards", "round_up"}));
    if (one_in(random, 4)) {
        text += fmt::format("  {}:align_storage(\"{}\", {})\n", func, loop_name(order[0]), one_of<int>(random, {8, 64}));
    }
    return text;
}

// The blocks of the product: the loops over tiles and batches, in one to three dimensions.
std::string blocks_text(Random &random, std::vector<std::string> others, std::string &innermost) {
    std::string text;
    const auto fused = [&](const std::vector<std::string> &loops, const std::string &name) {
        std::string first = loops[0];
        for (size_t i = 1; i < loops.size(); i++) {
            const std::string both = i + 1 == loops.size() ? name : name + std::to_string(i);
            text += fmt::format("  stage:fuse(\"{}\", \"{}\", \"{}\")\n", first, loops[i], both);
            first = both;
        }
        return first;
    };
    std::vector<std::string> loops = {"tile_col", "tile_row"};
    loops.insert(loops.end(), others.begin(), others.end());
    if (others.empty()) {
        innermost = "tile_col";
        return "  stage:gpu_blocks { \"tile_col\", \"tile_row\" }\n";
    }
    const int form = below(random, 4);
    if (form == 0) {  // batches in a dimension of their own
        const std::string planes = fused(others, "planes");
        innermost = "tile_col";
        return text + fmt::format("  stage:gpu_blocks {{ \"tile_col\", \"tile_row\", \"{}\" }}\n", planes);
    }
    if (form == 1) {  // all loops in one
        innermost = fused(loops, "blocks");
        return text + fmt::format("  stage:gpu_blocks \"{}\"\n", innermost);
    }
    const std::string rest = fused({loops.begin() + 1, loops.end()}, "blocks");
    innermost = "tile_col";
    return text + fmt::format("  stage:gpu_blocks {{ \"tile_col\", \"{}\" }}\n", rest);
}

std::string product_text(Random &random, const Case &c) {
    const bool bytes = c.type == "int8", across = c.b_order[0] == 'c';
    int rows = one_of<int>(random, {16, 32, 64, 64, 128, 192});
    const bool few = rows <= 32;
    const int columns = few      ? one_of<int>(random, {32, 64})
                        : across ? one_of<int>(random, {64, 128})
                                 : one_of<int>(random, {16, 64, 80, 128});
    const int depth = (bytes ? 128 : 64) * (few ? 2 : 1);
    // A tile over rows of several n, where b is the same for all of them.
    const int batch =
        has(c.y_order, 'n') && has(c.a_order, 'n') && !has(c.b_order, 'n') && one_in(random, 2) ? one_of<int>(random, {2, 4}) : 1;
    rows /= batch;
    std::string text = fmt::format("  local stage = k.{}{}\n", c.two_stages ? "p" : "y", c.two_stages ? ":compute_root()" : "");
    text += fmt::format("  stage:split(\"col\", {}, \"guard\", \"tile_col\", \"col_in_tile\")\n"
                        "  stage:split(\"row\", {}, \"guard\", \"tile_row\", \"row_in_tile\")\n",
                        columns, rows);
    std::vector<std::string> inner = {"col_in_tile", "row_in_tile"}, others, dims = {"col", "row"};
    for (const char d : std::string("nm")) {
        if (!has(c.y_order, d)) {
            continue;
        }
        dims.emplace_back(1, d);
        if (d == 'n' && batch > 1) {
            text += fmt::format("  stage:split(\"n\", {}, \"guard\", \"tile_n\", \"n_in_tile\")\n", batch);
            inner.emplace_back("n_in_tile");
        }
        others.push_back(d == 'n' && batch > 1 ? "tile_n" : std::string(1, d));
    }
    std::shuffle(others.begin(), others.end(), random);
    if (others.size() == 2 && one_in(random, 2)) {
        std::swap(others[0], others[1]);
    }
    std::vector<std::string> order = inner;
    order.insert(order.end(), {"tile_col", "tile_row"});
    order.insert(order.end(), others.begin(), others.end());
    text += fmt::format("  stage:reorder({})\n", quoted(order));
    std::string innermost;
    text += blocks_text(random, others, innermost);
    text += "  stage:never_partition_all()\n";
    text += fmt::format("  k.acc:compute_at(stage, \"{}\"):store_in \"register\":bound_extent(\"col\", {}):bound_extent(\"row\", {})\n",
                        innermost, columns, rows);
    for (size_t i = 2; i < dims.size(); i++) {
        text += fmt::format("  k.acc:bound_extent(\"{}\", {})\n", dims[i], dims[i] == "n" ? batch : 1);
    }
    text += fmt::format("  k.acc:reorder_storage({0}):reorder({0}):never_partition_all()\n", quoted(dims));
    std::vector<std::string> steps = {"depth"};
    steps.insert(steps.end(), dims.begin(), dims.end());
    steps.emplace_back("step");
    text += fmt::format("  k.acc:update(0):split(\"k\", {}, \"guard\", \"step\", \"depth\")\n"
                        "  k.acc:update(0):reorder({}):never_partition_all():mma():pipeline({}, {})\n",
                        depth, quoted(steps), one_of<int>(random, {2, 3, 4}), one_of<int>(random, {1, 2, 8}));
    return text;
}

}  // namespace

halyard::Assignments Case::params() const {
    const auto flag = [](bool b) { return b ? "true" : "false"; };
    halyard::Assignments all = {
        {"type", type}, {"result", result}, {"a_again", flag(a_again)}, {"reversed", flag(reversed)}, {"two_stages", flag(two_stages)}};
    const std::pair<const char *, const std::string &> orders[] = {{"a_order", a_order},   {"b_order", b_order},   {"y_order", y_order},
                                                                   {"a_source", a_source}, {"b_source", b_source}, {"r_order", r_order}};
    for (const auto &[name, order] : orders) {
        if (!order.empty()) {
            all[name] = order;
        }
    }
    return all;
}

std::string Case::text() const {
    return halyard::assignments_text(params());
}

Case draw_case(uint64_t seed) {
    Random random{uint32_t(seed)};
    Case c;
    c.type = one_of<std::string>(random, {"bfloat16", "bfloat16", "float16", "int8"});
    c.result = one_of<std::string>(random, {"float32", "float32", "float16"});
    const std::string batches = one_of<std::string>(random, {"", "n", "n", "n", "nm", "nm"});
    // What a batch has of its own; an operand without one is the same for all.
    std::string of_a, of_b;
    for (const char d : batches) {
        const int who = below(random, 4);
        of_a += who != 0 ? std::string(1, d) : "";
        of_b += who != 1 ? std::string(1, d) : "";
    }
    c.a_order = "k" + shuffled(random, "r" + of_a);
    const bool across = c.type != "int8" && one_in(random, 2);
    c.b_order = (across ? "c" : "k") + shuffled(random, (across ? "k" : "c") + of_b);
    c.y_order = one_in(random, 8) ? shuffled(random, "cr" + batches) : "c" + shuffled(random, "r" + batches);
    c.a_source = one_in(random, 2) ? shuffled(random, c.a_order) : "";
    c.b_source = one_in(random, 2) ? shuffled(random, c.b_order) : "";
    if (one_in(random, 3)) {
        const std::string of_r = one_in(random, 2) ? batches : "";
        c.r_order = "c" + shuffled(random, one_in(random, 3) ? of_r : "r" + of_r);
    }
    c.a_again = one_in(random, 4);
    c.reversed = has(c.a_order, 'n') && one_in(random, 4);
    c.two_stages = one_in(random, 3);
    c.schedule = "return schedule \"random_product\" { target = \"cuda\", apply = function(k)\n";
    c.schedule += c.a_source.empty() ? "" : operand_text(random, "k.za", c.a_order);
    c.schedule += c.b_source.empty() ? "" : operand_text(random, "k.zb", c.b_order);
    c.schedule += product_text(random, c);
    c.schedule += c.two_stages ? by_threads("k.y", c.y_order, "guard") : "";
    c.schedule += "end }\n";
    return c;
}

std::string Call::text() const {
    std::string all;
    for (const auto &[d, extent] : extents) {
        all += fmt::format("{}{}: {} from {}{}", all.empty() ? "" : ", ", d, extent, mins.at(d),
                           left_out.at(d) ? fmt::format(", of which the result lacks {}", left_out.at(d)) : "");
    }
    for (const auto &[name, layout] : layouts) {
        all += fmt::format("; {}: strides [{}], offset {}", name, fmt::join(layout.strides, ", "), layout.offset);
    }
    return all;
}

Call draw_call(const Case &c, Random &random) {
    Call call;
    const bool aligned = one_in(random, 2), moved = one_in(random, 3), dense = one_in(random, 3);
    const int multiple = c.type == "int8" ? 16 : 8;
    for (const char d : std::string("kcrnm")) {
        const int most = d == 'n' || d == 'm' ? 4 : d == 'k' ? 150 : 140;
        int extent = 1 + below(random, most);
        if (aligned && (d == 'k' || d == 'c' || d == 'r')) {
            extent = (extent + multiple - 1) / multiple * multiple;
        }
        call.extents[d] = extent;
        call.mins[d] = moved ? below(random, 20) - 7 : 0;
        call.left_out[d] = d != 'k' && extent > 1 && one_in(random, 6) ? below(random, std::min(extent, 3)) : 0;
    }
    const auto place = [&](const std::string &name, const std::string &order, bool is_result) {
        halyard::Layout l;
        std::vector<size_t> outer;
        for (size_t i = 0; i < order.size(); i++) {
            const char d = order[i];
            l.extents.push_back(call.extents[d] - (is_result ? call.left_out[d] : 0));
            l.mins.push_back(call.mins[d] + (is_result ? call.left_out[d] : 0));
            if (i > 0) {
                outer.push_back(i);
            }
        }
        const bool spaced = !dense && one_in(random, 2);
        if (!dense && one_in(random, 3)) {
            std::shuffle(outer.begin(), outer.end(), random);
        }
        l.strides.assign(order.size(), 1);
        int stride = l.extents[0];
        for (const size_t i : outer) {
            stride += spaced ? below(random, 30) : 0;
            stride = aligned ? (stride + multiple - 1) / multiple * multiple : stride;
            const bool same = !is_result && !dense && (order[i] == 'n' || order[i] == 'm') && one_in(random, 8);
            l.strides[i] = same ? 0 : stride;
            stride = same ? stride : stride * l.extents[i];
        }
        l.offset = aligned || dense ? 0 : below(random, 9);
        call.layouts[name] = l;
    };
    place("a", c.a_source.empty() ? c.a_order : c.a_source, false);
    place("b", c.b_source.empty() ? c.b_order : c.b_source, false);
    if (!c.r_order.empty()) {
        place("r", c.r_order, false);
    }
    place("y", c.y_order, true);
    return call;
}

}  // namespace products_test
