// An explanation of a model for a terminal, for programs, and as a page.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "explain/page.h"
#include "kernel/terminal.h"
#include "kernel/terminal_guard.h"
#include "kernel/text.h"
#include "models/explain_model.h"

namespace halyard {

namespace {

std::string microseconds(double seconds) {
    return seconds <= 0 ? "" : fmt::format(seconds < 1e-5 ? "{:.1f}" : "{:.0f}", seconds * 1e6);
}

std::string megabytes(double bytes) {
    return bytes <= 0 ? "" : fmt::format(bytes < 1e6 ? "{:.2f}" : "{:.1f}", bytes / 1e6);
}

std::string shape_of(const ExplainedGroup &g) {
    std::vector<std::string> sizes;
    for (const double s : g.shape) {
        sizes.push_back(fmt::format("{:.0f}", s));
    }
    return join(sizes, "x");
}

// "Conv + Sigmoid + Mul", of places as `Conv "name", which makes "y"`.
std::string ops_of(const ExplainedGroup &g, size_t most) {
    std::vector<std::pair<std::string, int>> ops;
    for (const auto &n : g.nodes) {
        const std::string op = n.substr(0, n.find(' '));
        if (!ops.empty() && ops.back().first == op) {
            ops.back().second++;
        } else {
            ops.emplace_back(op, 1);
        }
    }
    std::vector<std::string> names;
    for (const auto &[op, count] : ops) {
        names.push_back(count > 1 ? fmt::format("{} x{}", op, count) : op);
    }
    const std::string all = join(names, " + ");
    return all.size() <= most ? all : all.substr(0, most - 3) + "...";
}

std::string ratio(const ExplainedGroup &g) {
    return g.measured > 0 && g.floor > 0 ? fmt::format("{:.1f}", g.measured / g.floor) : "";
}

std::vector<std::string> row(const ExplainedGroup &g) {
    const double speed = g.measured > 0 ? g.operations / g.measured / 1e9 : 0;
    return {g.name,
            ops_of(g, 44),
            shape_of(g),
            megabytes(g.moved),
            megabytes(g.saved),
            speed > 0.05 ? fmt::format("{:.0f}", speed) : "",
            microseconds(g.floor),
            microseconds(g.measured),
            ratio(g)};
}

const std::vector<std::string> kColumns = {"group",   "nodes",    "result",      "MB moved", "MB saved",
                                           "GFLOP/s", "floor us", "measured us", "x floor"};

std::string summary(const ExplainedModel &m) {
    const size_t calls = size_t(std::count_if(m.groups.begin(), m.groups.end(), [](const auto &g) { return g.is_call; }));
    std::string text = fmt::format("{} calls move {} MB; fusing saves {} MB; the least that this machine needs is {} us", calls,
                                   megabytes(m.sum(&ExplainedGroup::moved)), megabytes(m.sum(&ExplainedGroup::saved)),
                                   microseconds(m.sum(&ExplainedGroup::floor)));
    if (m.whole > 0) {
        text += fmt::format(", and a call takes {} us", microseconds(m.whole));
    }
    return text + fmt::format(". The workspace has {} MB, the weights have {} MB.", m.workspace > 0 ? megabytes(m.workspace) : "0",
                              megabytes(m.weights));
}

std::string title_line(const ExplainedModel &m) {
    return fmt::format("{}  {}  {}  {} thread(s)", m.name, m.sizes, m.target, m.threads);
}

// What a kind of group is, for its colour.
int family(const std::string &kind) {
    static const std::map<std::string, int> families = {
        {"gemm", 0}, {"gemm_int8", 0},      {"matmul", 0},      {"attention", 0},
        {"conv", 1}, {"conv_transpose", 1}, {"conv2d_int8", 1}, {"depthwise_conv2d_int8", 1},
        {"pool", 2}, {"rows", 3},           {"reduce", 3},      {"layer_norm", 3},
        {"arg", 3},  {"cumsum", 3},         {"map", 4}};
    const auto found = families.find(kind);
    return found == families.end() ? 5 : found->second;
}

const char *const kFamilies[] = {"products", "convolutions", "windows of pooling", "rows and reductions", "elementwise", "moves"};

const char *const kGraphStyle = R"(
svg.graph { display: block; max-width: none; height: auto; }
svg.graph .edge { fill: none; stroke: var(--dim); stroke-width: 1.2; opacity: .65; }
svg.graph rect.box { stroke: var(--line); stroke-width: 1; rx: 5px; }
svg.graph .same { fill: none; stroke-dasharray: 3 3; }
svg.graph .title { font-weight: 600; } svg.graph .small { font-size: 11px; fill: var(--dim); }
svg.graph rect.share { fill: var(--ink); opacity: .55; }
.k0 { fill: #cfe0f7; background: #cfe0f7; } .k1 { fill: #d5ecd4; background: #d5ecd4; } .k2 { fill: #f6e3c8; background: #f6e3c8; }
.k3 { fill: #ead7f1; background: #ead7f1; } .k4 { fill: #f7d9d6; background: #f7d9d6; } .k5 { fill: #e6e8ea; background: #e6e8ea; }
@media (prefers-color-scheme: dark) {
  .k0 { fill: #1d3a5c; background: #1d3a5c; } .k1 { fill: #1f4426; background: #1f4426; } .k2 { fill: #57401a; background: #57401a; }
  .k3 { fill: #472b53; background: #472b53; } .k4 { fill: #5a2a27; background: #5a2a27; } .k5 { fill: #333a41; background: #333a41; } }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.2rem; list-style: none; padding: 0; }
.legend span { display: inline-block; width: 1rem; height: 1rem; vertical-align: -.15rem; border-radius: 3px; margin-right: .35rem; }
td.nodes { white-space: normal; min-width: 16rem; text-align: left; }
)";

struct Placed {
    size_t layer = 0;
    double x = 0, y = 0;
};

constexpr double kWide = 224, kHigh = 46, kAcross = 22, kDown = 26;

// Each group below all that it reads of; in a layer, near the middle of these.
std::vector<Placed> place(const std::vector<ExplainedGroup> &groups) {
    std::vector<Placed> placed(groups.size());
    std::vector<std::vector<size_t>> layers;
    for (size_t i = 0; i < groups.size(); i++) {
        for (const size_t from : groups[i].after) {
            if (from < i) {
                placed[i].layer = std::max(placed[i].layer, placed[from].layer + 1);
            }
        }
        layers.resize(std::max(layers.size(), placed[i].layer + 1));
        layers[placed[i].layer].push_back(i);
    }
    for (size_t l = 0; l < layers.size(); l++) {
        auto &layer = layers[l];
        const auto wanted = [&](size_t i) {
            double sum = 0;
            for (const size_t from : groups[i].after) {
                sum += placed[from].x;
            }
            return groups[i].after.empty() ? 0 : sum / double(groups[i].after.size());
        };
        std::stable_sort(layer.begin(), layer.end(), [&](size_t a, size_t b) { return wanted(a) < wanted(b); });
        double total = 0;
        for (const size_t i : layer) {
            total += wanted(i);
        }
        const double middle = total / double(layer.size()), step = kWide + kAcross;
        double end = -1e30;
        for (size_t n = 0; n < layer.size(); n++) {
            const double spread = middle + (double(n) - double(layer.size() - 1) / 2) * step;
            const double x = std::max((wanted(layer[n]) + spread) / 2, end + step);
            placed[layer[n]].x = end = x;
            placed[layer[n]].y = double(l) * (kHigh + kDown);
        }
    }
    double left = 0;
    for (const auto &p : placed) {
        left = std::min(left, p.x);
    }
    for (auto &p : placed) {
        p.x += 8 - left;
        p.y += 8;
    }
    return placed;
}

std::string graph_svg(const ExplainedModel &m) {
    const auto placed = place(m.groups);
    double wide = 0, high = 0, most = 0;
    for (size_t i = 0; i < placed.size(); i++) {
        wide = std::max(wide, placed[i].x + kWide + 8);
        high = std::max(high, placed[i].y + kHigh + 8);
        most = std::max(most, m.groups[i].measured > 0 ? m.groups[i].measured : m.groups[i].floor);
    }
    std::string s;
    std::vector<size_t> lanes;  // of each the layer at which it is free again
    for (size_t i = 0; i < placed.size(); i++) {
        for (const size_t from : std::set<size_t>(m.groups[i].after.begin(), m.groups[i].after.end())) {
            const double x0 = placed[from].x + kWide / 2, y0 = placed[from].y + kHigh, x1 = placed[i].x + kWide / 2, y1 = placed[i].y;
            if (placed[i].layer == placed[from].layer + 1 || std::abs(x1 - x0) >= kWide) {
                s += fmt::format("<path class=\"edge\" d=\"M{0:.0f} {1:.0f} C{0:.0f} {2:.0f} {3:.0f} {4:.0f} {3:.0f} {5:.0f}\"/>\n", x0, y0,
                                 y0 + kDown, x1, y1 - kDown, y1);
                continue;
            }
            // Past what stands between: a lane of its own beside the columns.
            size_t lane = 0;
            while (lane < lanes.size() && lanes[lane] > placed[from].layer) {
                lane++;
            }
            lanes.resize(std::max(lanes.size(), lane + 1));
            lanes[lane] = placed[i].layer;
            const double side = std::max(x0, x1) + kWide / 2 + 12 + 9 * double(lane);
            wide = std::max(wide, side + 8);
            s += fmt::format("<path class=\"edge\" d=\"M{0:.0f} {1:.0f} C{0:.0f} {2:.0f} {3:.0f} {1:.0f} {3:.0f} {2:.0f} L{3:.0f} {4:.0f} "
                             "C{3:.0f} {5:.0f} "
                             "{6:.0f} {4:.0f} {6:.0f} {5:.0f}\"/>\n",
                             x0, y0, y0 + kDown, side, y1 - kDown, y1, x1);
        }
    }
    s = fmt::format("<svg class=\"graph\" role=\"img\" aria-label=\"The graph of groups; the table below has the same\" width=\"{0:.0f}\" "
                    "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\">\n",
                    wide, high) +
        s;
    for (size_t i = 0; i < placed.size(); i++) {
        const auto &g = m.groups[i];
        const double x = placed[i].x, y = placed[i].y, time = g.measured > 0 ? g.measured : g.floor;
        std::string tip = fmt::format("{}\n{}\n{}", g.name, join(g.nodes, "\n"), g.why);
        s += fmt::format("<g><title>{}</title><rect class=\"box k{}{}\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\"/>",
                         escape_html(tip), family(g.kind), g.is_call ? "" : " same", x, y, kWide, kHigh);
        const std::string figure = !g.is_call       ? "same memory"
                                   : g.measured > 0 ? fmt::format("{} us", microseconds(g.measured))
                                                    : fmt::format("floor {} us", microseconds(g.floor));
        s += fmt::format("<text class=\"title\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text><text class=\"small\" x=\"{:.0f}\" y=\"{:.0f}\" "
                         "text-anchor=\"end\">{}</text>",
                         x + 8, y + 17, escape_html(g.name.substr(0, 18)), x + kWide - 8, y + 17, escape_html(figure));
        s += fmt::format("<text class=\"small\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>", x + 8, y + 33, escape_html(ops_of(g, 26)));
        if (g.saved >= 5e3) {
            s += fmt::format("<text class=\"small\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">-{} MB</text>", x + kWide - 8, y + 33,
                             megabytes(g.saved));
        }
        if (most > 0 && g.is_call) {
            s += fmt::format("<rect class=\"share\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"3\"/>", x + 8, y + kHigh - 7,
                             std::max((kWide - 16) * time / most, 1.0));
        }
        s += "</g>\n";
    }
    return s + "</svg>\n";
}

}  // namespace

void print_model(const ExplainedModel &m) {
    fmt::print("{}\n\n", paint(Colour::kBold, visible(title_line(m))));
    std::vector<std::vector<std::string>> rows = {kColumns};
    for (const auto &g : m.groups) {
        if (g.is_call) {
            auto r = row(g);
            for (auto &text : r) {
                text = visible(text);
            }
            rows.push_back(r);
        }
    }
    print_rows(rows, 2);
    fmt::print("\n{}\n", paint(Colour::kDim, summary(m)));
}

nlohmann::json model_json(const ExplainedModel &m) {
    nlohmann::json groups = nlohmann::json::array();
    for (const auto &g : m.groups) {
        nlohmann::json one = {{"name", g.name},   {"kind", g.kind},         {"nodes", g.nodes},
                              {"why", g.why},     {"shape", g.shape},       {"call", g.is_call},
                              {"bytes", g.moved}, {"bytes_saved", g.saved}, {"operations", g.operations},
                              {"floor", g.floor}};
        one["measured"] = g.measured > 0 ? nlohmann::json(g.measured) : nlohmann::json();
        groups.push_back(one);
    }
    return {{"model", m.name},
            {"sizes", m.sizes},
            {"target", m.target},
            {"threads", m.threads},
            {"workspace", m.workspace},
            {"weights", m.weights},
            {"measured", m.whole > 0 ? nlohmann::json(m.whole) : nlohmann::json()},
            {"groups", groups}};
}

std::string model_html(const ExplainedModel &m) {
    std::string page = page_begin(m.name, fmt::format("{}, {}, {}, {} thread(s)", m.file, m.sizes, m.target, m.threads), kGraphStyle);
    page += "<p>" + escape_html(summary(m)) + "</p>\n<h2>Groups</h2>\n<ul class=\"legend\">\n";
    for (int f = 0; f < 6; f++) {
        page += fmt::format("<li><span class=\"k{}\"></span>{}</li>\n", f, kFamilies[f]);
    }
    page += "</ul>\n<p class=\"dim\">A box is a kernel; the bar in it is its time beside the longest, -MB what fusing saves. Dashed boxes "
            "are reshapes, the same "
            "memory. "
            "Point at a box for its nodes and why it ends.</p>\n";
    page += "<div class=\"wide\" tabindex=\"0\">\n" + graph_svg(m) +
            "</div>\n<h2>Table</h2>\n<div class=\"wide\" tabindex=\"0\">\n<table>\n<caption>MB "
            "moved: read and written. MB saved: values between nodes that fusing keeps out of memory, written once and read by each. "
            "Floor: the slower of "
            "moving the bytes at the bandwidth of the level that holds them, and of the operations at the peak of f32.</caption>\n";
    auto columns = kColumns;
    columns.push_back("why it ends");
    page += head(columns) + "<tbody>\n";
    for (const auto &g : m.groups) {
        if (!g.is_call) {
            continue;
        }
        const auto r = row(g);
        page +=
            "<tr>" + fmt::format("<th scope=\"row\">{}</th><td class=\"nodes\">{}</td>", escape_html(r[0]), escape_html(ops_of(g, 200)));
        for (size_t c = 2; c < r.size(); c++) {
            page += cell(r[c]);
        }
        page += fmt::format("<td class=\"nodes\">{}</td></tr>\n", escape_html(g.why));
    }
    page += fmt::format("<tr class=\"all\"><th scope=\"row\">all</th><td></td><td></td>{}{}<td></td>{}{}<td></td><td></td></tr>\n",
                        cell(megabytes(m.sum(&ExplainedGroup::moved))), cell(megabytes(m.sum(&ExplainedGroup::saved))),
                        cell(microseconds(m.sum(&ExplainedGroup::floor))), cell(microseconds(m.sum(&ExplainedGroup::measured))));
    return page + "</tbody>\n</table>\n</div>\n" + page_end();
}

}  // namespace halyard
