// A comparison as a page: a bar for each level of memory, and the fusion tree of each alternative as boxes in boxes.

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "explore/compare/compare.h"
#include "explore/store/entry.h"
#include "explain/explain_device.h"
#include "explain/explain_device_html.h"
#include "explain/explain_words.h"
#include "explain/page.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

const char *const kOwnStyle = R"(
svg.bars { width: 100%; min-width: 44rem; max-width: 64rem; height: auto; display: block; } svg.bars .name { font-weight: 600; }
.level-0 { fill: var(--dim); } .level-1 { fill: var(--one); } .level-2 { fill: var(--three); }
.level-3 { fill: var(--four); } .level-4 { fill: var(--two); }
svg.sample { width: 1.6rem; height: .8rem; vertical-align: -.05rem; }
.said { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 4 3; } .taken { stroke: var(--ink); stroke-width: 3; }
.trees { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; } .trees section { flex: 1 1 18rem; }
.func { border: 1px solid var(--line); border-left: 4px solid var(--one); margin: .35rem 0; padding: .2rem .5rem .3rem; }
.func .func { background: var(--band); border-left-color: var(--three); }
.func .func .func { background: var(--paper); border-left-color: var(--four); }
.func b { font-weight: 600; } pre { overflow-x: auto; background: var(--band); padding: .75rem; font-size: .8rem; }
)";

// A round time: "20 us"
std::string scale_text(double seconds) {
    return seconds < 0.9995e-6   ? fmt::format("{:.4g} ns", seconds * 1e9)
           : seconds < 0.9995e-3 ? fmt::format("{:.4g} us", seconds * 1e6)
           : seconds < 0.9995    ? fmt::format("{:.4g} ms", seconds * 1e3)
                                 : fmt::format("{:.4g} s", seconds);
}

struct Bar {
    std::string name, note;
    double seconds = 0;
};

std::vector<Bar> bars_of(const Explained &e, bool device) {
    std::vector<Bar> bars;
    if (device) {
        double flops = 0, tensor = 0, launch = 0;
        for (const auto &k : e.kernels) {
            flops += k.flops_seconds;
            tensor += k.tensor_seconds;
            launch += k.launch_seconds;
        }
        const double on_tensor = tensor_flops_of(e);
        return {{"launches", fmt::format("{:g}", launches_of(e)), launch},
                {"FMA", flops_text(e.flops - on_tensor) + "flop", flops},
                {"tensor cores", on_tensor > 0 ? flops_text(on_tensor) + "flop" : "", tensor},
                {"L2", bytes_text(e.warm.bytes[kL2].both()), e.warm.seconds[kL2]},
                {"memory", bytes_text(e.warm.bytes[kDram].both()), e.warm.seconds[kDram]}};
    }
    double core = 0;
    for (const auto &s : e.stages) {
        core += s.core_seconds;
    }
    bars.push_back({"instructions", "", core});
    for (int l = 0; l < kLevels; l++) {
        const double bytes = e.warm.bytes[size_t(l)].both();
        bars.push_back({kLevelNames[l], bytes >= 0.5 ? bytes_text(bytes) : "", e.warm.seconds[size_t(l)]});
    }
    return bars;
}

// Lines at round times, with their names below.
std::string time_scale(double most, int left, int width, int top, int bottom) {
    double step = std::pow(10, std::floor(std::log10(most)));
    while (most / step < 4) {
        step /= most / step < 2 ? 5 : 2;
    }
    std::string s;
    for (int n = 0; n * step <= most * 1.0001; n++) {
        const double at = left + width * n * step / most;
        s += fmt::format(
            "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/><text class=\"tick\" x=\"{0:.1f}\" y=\"{3}\" "
            "text-anchor=\"middle\">{4}</text>\n",
            at, top, bottom, bottom + 16, n == 0 ? "0" : scale_text(n * step));
    }
    return s;
}

// A piece of a line, for the key.
std::string sample(const std::string &kind) {
    return fmt::format("<svg class=\"sample\" viewBox=\"0 0 26 12\" aria-hidden=\"true\"><line class=\"{}\" x1=\"0\" x2=\"26\" y1=\"6\" "
                       "y2=\"6\"/></svg>",
                       kind);
}

bool any_measured(const Comparison &c) {
    return std::any_of(c.alternatives.begin(), c.alternatives.end(),
                       [&](const Alternative &a) { return a.explained && (!c.gpu || a.explained->warm.measured); });
}

std::string bars_svg(const Comparison &c) {
    constexpr int kLeft = 96, kWidth = 620, kBar = 15, kName = 18, kGap = 22, kBars = 5;
    double most = 1e-12;
    int groups = 0;
    for (const auto &a : c.alternatives) {
        if (a.explained) {
            groups++;
            most = std::max({most, c.seconds(a), a.explained->warm.predicted});
            for (const Bar &b : bars_of(*a.explained, c.gpu.has_value())) {
                most = std::max(most, b.seconds);
            }
        }
    }
    const auto x = [&](double seconds) { return kLeft + kWidth * seconds / most; };
    const int group = kName + kBars * kBar + kGap, height = groups * group + 30;
    std::string s =
        fmt::format("<div class=\"wide\"><svg class=\"bars\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"What each part of the "
                    "machine takes, a group of bars for each schedule\">\n",
                    kLeft + kWidth + 190, height);
    s += time_scale(most, kLeft, kWidth, 8, height - 24);
    int top = 8;
    for (const auto &a : c.alternatives) {
        if (!a.explained) {
            continue;
        }
        const Explained &e = *a.explained;
        s += fmt::format("<g class=\"alternative\"><text x=\"0\" y=\"{}\" class=\"name\">{}</text>\n", top + kBar - 2,
                         escape_html(fit(a.name, 90)));
        const int bars = top + kName;
        const auto mark = [&](const char *kind, double seconds) {
            s += fmt::format("<line class=\"{0}\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"{2}\" y2=\"{3}\"/>\n", kind, x(seconds), bars - 2,
                             bars + kBars * kBar + 2);
        };
        mark("said", e.warm.predicted);
        if (!c.gpu || e.warm.measured) {
            mark("taken", a.seconds());
        }
        std::vector<double> marks = {x(e.warm.predicted)};
        if (!c.gpu || e.warm.measured) {
            marks.push_back(x(a.seconds()));
        }
        std::sort(marks.begin(), marks.end());
        int level = 0;
        for (const Bar &b : bars_of(e, c.gpu.has_value())) {
            const int y = bars + level * kBar;
            const std::string text = (b.seconds > 0 ? seconds_text(b.seconds) : "none") + (b.note.empty() ? "" : ", " + b.note);
            // Past a line that would cross it.
            constexpr double kLetter = 6.6;
            double at = x(b.seconds) + 5;
            for (const double m : marks) {
                at = m > at - 4 && m < at + kLetter * double(text.size()) ? m + 6 : at;
            }
            s += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><rect class=\"bar-of "
                             "level-{}\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"><title>{}: {}</title></rect>"
                             "<text class=\"tick\" x=\"{:.1f}\" y=\"{}\">{}</text>\n",
                             kLeft - 6, y + 11, b.name, level++, kLeft, y + 1, std::max(x(b.seconds) - kLeft, 0.5), kBar - 3, b.name,
                             seconds_text(b.seconds), at, y + 11, text);
        }
        s += "</g>\n";
        top += group;
    }
    return s + "</svg></div>\n<p class=\"dim\">" +
           (c.gpu ? "Bars: what launching takes, the arithmetic, and the bytes out of the L2 and the device's memory; a kernel "
                    "takes its launch and the longest of the others."
                  : "Bars: what the instructions take with all data in L1, and what each level takes at its measured bandwidth; "
                    "a stage takes as long as its longest.") +
           " " + sample("said") + " predicted for all of it" + (any_measured(c) ? ", " + sample("taken") + " measured" : "") + ".</p>\n";
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

std::string box(const std::map<std::string, Node> &nodes, const std::string &func, double all, std::set<std::string> &drawn) {
    if (!drawn.insert(func).second) {
        return "";
    }
    const Node &n = nodes.at(func);
    std::string s = fmt::format("<div class=\"func\"><b>{}</b> <span class=\"dim\">{}</span>", escape_html(func),
                                escape_html(n.place.empty() ? "root" : "at " + n.place));
    if (n.seconds > 0) {
        s += fmt::format(" <span class=\"bar\" style=\"width:{:.1f}rem\"></span> {}", 6 * n.seconds / std::max(all, 1e-30),
                         seconds_text(n.seconds));
    }
    s += "\n";
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
    return s + (inlined.empty() ? "" : fmt::format("<p class=\"dim\">inlined: {}</p>\n", escape_html(join(inlined, ", "))));
}

std::string table(const Comparison &c) {
    const auto rows = comparison_rows(c);
    auto names = rows.front();
    names.emplace_back("checked");
    std::string s = fmt::format("<div class=\"wide\"><table class=\"alternatives\"><caption>{}</caption>\n{}",
                                c.gpu ? "Times of a call with inputs that take turns; bytes of device memory and out of the L2"
                                      : "Times of a call with the data in the cache, measured in turns; bytes that move between "
                                        "a level and the one before it",
                                head(names));
    for (size_t i = 1; i < rows.size(); i++) {
        s += "<tr><th scope=\"row\">" + escape_html(rows[i][0]) + "</th>";
        for (size_t n = 1; n < rows[0].size(); n++) {
            s += cell(n < rows[i].size() && rows[i][n] != "-" ? rows[i][n] : "–");
        }
        s += "<td class=\"left\">" + escape_html(checked_text(c.alternatives[i - 1])) + "</td></tr>\n";
    }
    return s + "</table></div>\n";
}

}  // namespace

std::string comparison_html(const Comparison &c) {
    const std::string title = fmt::format("{} {}: {} alternatives", c.task.op, compared_shape(c), c.alternatives.size());
    std::string s = page_begin(title, machine_text(c), kOwnStyle);
    s += table(c) + turns_note(about_turns(c)) + (any_below_floor(c) ? turns_note({kBelowFloor}) : "") + "<h2>Where the time goes</h2>\n" +
         bars_svg(c);
    for (const auto &a : c.alternatives) {
        s += c.gpu && a.explained ? kernel_table(*a.explained) : "";
    }
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
            s += "<section class=\"tree\">\n<h3>" + escape_html(a.name) + "</h3>\n" + tree(*a.explained) + "</section>\n";
        }
    }
    s += "</div>\n<h2>The schedules</h2>\n";
    for (const auto &a : c.alternatives) {
        s += fmt::format("<details><summary>{} ({})</summary>\n<pre>{}</pre></details>\n", escape_html(a.name), a.candidate.id(),
                         escape_html(a.candidate.lua));
    }
    return s + page_end();
}

}  // namespace halyard::explore
