// A comparison as a page: a bar for each level of memory, and the fusion tree of each alternative as boxes in boxes.

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compare.h"
#include "entry.h"
#include "explain_html.h"
#include "explain_words.h"
#include "roofline_svg.h"
#include "text.h"

namespace halyard::explore {

namespace {

const char *const kOwnStyle = R"(
svg.bars { width: 100%; max-width: 60rem; height: auto; } svg.bars .name { font-weight: 600; }
.level-0 { fill: var(--dim); } .level-1 { fill: var(--one); } .level-2 { fill: var(--three); }
.level-3 { fill: var(--four); } .level-4 { fill: var(--two); }
.said { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 4 3; } .taken { stroke: var(--ink); stroke-width: 3; }
.trees { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; } .trees section { flex: 1 1 18rem; }
.func { border: 1px solid var(--line); border-left: 4px solid var(--one); margin: .35rem 0; padding: .2rem .5rem .3rem; }
.func .func { background: var(--band); border-left-color: var(--three); }
.func .func .func { background: var(--paper); border-left-color: var(--four); }
.func b { font-weight: 600; } pre { overflow-x: auto; background: var(--band); padding: .75rem; font-size: .8rem; }
)";

constexpr int kBars = kLevels + 1;
const char *const kBarNames[kBars] = {"instructions", "L1", "L2", "L3", "DRAM"};

double bar_seconds(const Explained &e, int bar) {
    if (bar > 0) {
        return e.warm.seconds[size_t(bar - 1)];
    }
    double core = 0;
    for (const auto &s : e.stages) {
        core += s.core_seconds;
    }
    return core;
}

std::string bars_svg(const Comparison &c) {
    constexpr int kLeft = 190, kWidth = 620, kBar = 13, kGap = 22;
    double most = 1e-12;
    int groups = 0;
    for (const auto &a : c.alternatives) {
        if (a.explained) {
            groups++;
            most = std::max({most, a.seconds(), a.explained->warm.predicted});
            for (int b = 0; b < kBars; b++) {
                most = std::max(most, bar_seconds(*a.explained, b));
            }
        }
    }
    const auto x = [&](double seconds) { return kLeft + kWidth * seconds / most; };
    const int group = kBars * kBar + kGap, height = groups * group + 20;
    std::string s = fmt::format("<svg class=\"bars\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"What the levels of "
                                "memory take, a group of bars for each schedule\">\n",
                                kLeft + kWidth + 120, height);
    int top = 8;
    for (const auto &a : c.alternatives) {
        if (!a.explained) {
            continue;
        }
        const Explained &e = *a.explained;
        s += fmt::format("<g class=\"alternative\"><text x=\"0\" y=\"{}\" class=\"name\">{}</text>\n",
                         top + kBar, escape_html(fit(a.name, 22)));
        for (int b = 0; b < kBars; b++) {
            const double seconds = bar_seconds(e, b);
            const double bytes = b > 0 ? e.warm.bytes[size_t(b - 1)].both() : 0;
            const int y = top + b * kBar;
            s += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><rect class=\"bar-of "
                             "level-{}\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"><title>{}: {}</title></rect>"
                             "<text class=\"tick\" x=\"{:.1f}\" y=\"{}\">{}{}</text>\n",
                             kLeft - 6, y + 10, kBarNames[b], b, kLeft, y + 1, std::max(x(seconds) - kLeft, 0.5),
                             kBar - 3, kBarNames[b], seconds_text(seconds), x(seconds) + 5, y + 10,
                             seconds_text(seconds), bytes >= 0.5 ? ", " + bytes_text(bytes) : "");
        }
        const auto mark = [&](const char *kind, double seconds) {
            s += fmt::format("<line class=\"{0}\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"{2}\" y2=\"{3}\"/>\n", kind,
                             x(seconds), top - 2, top + kBars * kBar + 2);
        };
        mark("said", e.warm.predicted);
        mark("taken", a.seconds());
        s += "</g>\n";
        top += group;
    }
    return s + "</svg>\n<p class=\"dim\">Bars: what the instructions take with all data in L1, and what each level takes "
               "at its measured bandwidth; a stage takes as long as its longest. Dashed: predicted. Solid: "
               "measured.</p>\n";
}

struct Node {
    std::string place;  // the loop; "" for the root
    double seconds = 0;
    std::vector<std::string> children;
};

// The Func whose loop it is: "y" of "y.row".
std::string owner(const std::string &loop) {
    return loop.substr(0, loop.find('.'));
}

std::string box(const std::map<std::string, Node> &nodes, const std::string &func, double all,
                std::set<std::string> &drawn) {
    if (!drawn.insert(func).second) {
        return "";
    }
    const Node &n = nodes.at(func);
    std::string s = fmt::format("<div class=\"func\"><b>{}</b> <span class=\"dim\">{}</span> <span class=\"bar\" "
                                "style=\"width:{:.1f}rem\"></span> {}\n",
                                escape_html(func), escape_html(n.place.empty() ? "root" : "at " + n.place),
                                6 * n.seconds / std::max(all, 1e-30), seconds_text(n.seconds));
    for (const auto &child : n.children) {
        s += box(nodes, child, all, drawn);
    }
    return s + "</div>\n";
}

// A Func stands in the box of the Func in whose loop it is computed.
std::string tree(const Explained &e) {
    std::map<std::string, Node> nodes;
    std::vector<std::string> order;
    for (const auto &stage : e.stages) {
        const auto made = nodes.emplace(stage.func, Node{stage.place, 0, {}});
        made.first->second.seconds += stage.warm.predicted;
        if (made.second) {
            order.push_back(stage.func);
        }
    }
    std::vector<std::string> roots;
    for (const auto &func : order) {
        const std::string parent = owner(nodes[func].place);
        if (!nodes[func].place.empty() && nodes.count(parent) > 0 && parent != func) {
            nodes[parent].children.push_back(func);
        } else {
            roots.push_back(func);
        }
    }
    std::string s;
    std::set<std::string> drawn;
    for (const auto &root : roots) {
        s += box(nodes, root, e.warm.predicted, drawn);
    }
    std::vector<std::string> inlined;
    for (const auto &i : e.inlined) {
        if (!i.free) {
            inlined.push_back(i.func);
        }
    }
    return s + (inlined.empty() ? ""
                                : fmt::format("<p class=\"dim\">inlined: {}</p>\n", escape_html(join(inlined, ", "))));
}

std::string cell(const std::string &text) {
    return "<td>" + escape_html(text) + "</td>";
}

std::string table(const Comparison &c) {
    std::string s = "<div class=\"wide\"><table class=\"alternatives\"><caption>Times of a call with the data in the "
                    "cache, measured in turns; bytes that move between a level and the one before it</caption>\n"
                    "<thead><tr>";
    for (const char *name : {"schedule", "predicted", "measured", "of best", "floor", "L1", "L2", "L3", "DRAM", "limit",
                             "status"}) {
        s += fmt::format("<th scope=\"col\">{}</th>", name);
    }
    s += "</tr></thead>\n";
    const double best = c.alternatives.empty() ? 0 : c.alternatives.front().seconds();
    for (const auto &a : c.alternatives) {
        s += "<tr><th scope=\"row\">" + escape_html(a.name) + "</th>";
        s += cell(a.explained ? seconds_text(a.explained->warm.predicted) : "–");
        s += cell(a.measured.ok() ? seconds_text(a.seconds()) : "–");
        s += cell(a.measured.ok() ? fmt::format("{:.2f}", a.seconds() / std::max(best, 1e-12)) : "–");
        s += cell(a.explained ? seconds_text(a.explained->warm_floor) : "–");
        for (int l = 0; l < kLevels; l++) {
            const double bytes = a.explained ? a.explained->warm.bytes[size_t(l)].both() : 0;
            s += cell(bytes >= 0.5 ? bytes_text(bytes) : "–");
        }
        s += cell(a.explained ? limit_name(a.explained->warm.limit) : "–");
        s += "<td class=\"left\">" + escape_html(status_name(a.measured.status));
        s += a.measured.message.empty() ? "" : ": " + escape_html(a.measured.message);
        s += "</td></tr>\n";
    }
    return s + "</table></div>\n";
}

}  // namespace

std::string comparison_html(const Comparison &c) {
    const std::string title = fmt::format("{} {}: {} alternatives", c.task.op, shape_key(c.task.shape),
                                          c.alternatives.size());
    std::string s = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{0}</title>\n"
        "<style>{1}{2}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n<p class=\"sub\">{3} · {4} thread(s)</p>\n",
        escape_html(title), kPageStyle, kOwnStyle, escape_html(this_machine()), c.task.threads);
    s += table(c) + "<h2>Where the time goes</h2>\n" + bars_svg(c);
    if (!c.why.empty()) {
        s += fmt::format("<h2>Why {}</h2>\n<ul class=\"why\">\n", escape_html(c.alternatives.front().name));
        for (const auto &line : c.why) {
            s += "<li>" + escape_html(line) + "</li>\n";
        }
        s += "</ul>\n";
    }
    s += "<h2>What is fused</h2>\n<p class=\"dim\">A Func stands in the box of the Func in whose loop it is "
         "computed. The bar is its part of the predicted time.</p>\n<div class=\"trees\">\n";
    for (const auto &a : c.alternatives) {
        if (a.explained) {
            s += "<section class=\"tree\">\n<h3>" + escape_html(a.name) + "</h3>\n" + tree(*a.explained) +
                 "</section>\n";
        }
    }
    s += "</div>\n<h2>The schedules</h2>\n";
    for (const auto &a : c.alternatives) {
        s += fmt::format("<details><summary>{} ({})</summary>\n<pre>{}</pre></details>\n", escape_html(a.name),
                         a.candidate.id(), escape_html(a.candidate.lua));
    }
    return s + "</main>\n</body>\n</html>\n";
}

}  // namespace halyard::explore
