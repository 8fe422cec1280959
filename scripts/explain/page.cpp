#include "explain/page.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "explain/explain_words.h"
#include "kernel/terminal_guard.h"
#include "kernel/text.h"

namespace halyard {

namespace {

// Two pairs of colours a schedule keep 4.5 to 1 on both backgrounds.
const char *const kStyle = R"(
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1f24; --dim: #57606a; --line: #d0d7de; --band: #f3f5f7;
  --one: #0a58b5; --two: #a3420a; --three: #1a6b32; --four: #7a2f8f; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e6e9ec; --dim: #a2acb6; --line: #39424c;
  --band: #1d232a; --one: #75b5ff; --two: #ffab70; --three: #74d68f; --four: #d7a1ec; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; margin: 0 auto;
  max-width: 76rem; padding: 1rem 1.25rem 3rem; }
*, *::before { box-sizing: border-box; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; } h3 { font-size: 1rem; }
p.sub, .dim { color: var(--dim); } .warning { border-left: 4px solid var(--two); padding: .1rem .6rem; } p.sub { margin-top: 0; }
.wide { overflow-x: auto; margin-bottom: .75rem; max-width: 100%;
  background: linear-gradient(to right, var(--paper) 40%, transparent) 0 0 / 2.5rem 100% local no-repeat,
    linear-gradient(to left, var(--paper) 40%, transparent) 100% 0 / 2.5rem 100% local no-repeat,
    linear-gradient(to right, var(--line), transparent) 0 0 / .9rem 100% no-repeat,
    linear-gradient(to left, var(--line), transparent) 100% 0 / .9rem 100% no-repeat; }
table { border-collapse: collapse; font-size: .85rem;
  font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--dim); padding-bottom: .25rem; max-width: min(60rem, calc(100vw - 2.5rem)); }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child, .left { text-align: left; }
tbody th:first-child, thead th:first-child { position: sticky; left: 0; background: var(--paper); }
thead th:first-child { background: var(--band); }
ul { padding-left: 1.2rem; } li { margin: .2rem 0; overflow-wrap: anywhere; } p { overflow-wrap: anywhere; }
ul.points { list-style: none; padding: 0; margin: .25rem 0; font-size: .9rem; }
ul.points li { display: flex; flex-wrap: wrap; gap: 0 .9rem; } ul.points span { white-space: nowrap; } thead th { background: var(--band); }
tr.all td, tr.all th { font-weight: 600; }
code, .nest { font: .82rem/1.55 ui-monospace, monospace; }
.nest td { border: 0; padding: 0 .8rem 0 0; text-align: left; white-space: pre; }
.nest td.figures { font-family: system-ui, sans-serif; } .nest tr.stage td { background: var(--band); }
.kernels th, .kernels td { padding: .2rem .4rem; }
.bar { display: inline-block; height: .6rem; background: var(--one); vertical-align: middle; min-width: 1px; }
svg.roofline { width: 100%; min-width: 40rem; max-width: 60rem; height: auto; display: block; }
svg .tick, svg .roof-name { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
svg .number { font-weight: 600; paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .tick, svg .axis, svg .roof-name { fill: var(--dim); } .grid { stroke: var(--line); stroke-width: 1; }
.roof { stroke: var(--ink); stroke-width: 1.5; } .error { stroke-width: 1.5; stroke-dasharray: 3 2; }
.schedule-0 { stroke: var(--one); --mine: var(--one); } .schedule-1 { stroke: var(--two); --mine: var(--two); }
.schedule-2 { stroke: var(--three); --mine: var(--three); } .schedule-3 { stroke: var(--four); --mine: var(--four); }
.point { stroke-width: 2; } .predicted { fill: var(--paper); } .measured { fill: var(--mine); }
svg.key { width: 1rem; height: 1rem; vertical-align: -.15rem; }
)";

// A long list of sizes or features is cut between them.
std::string breakable(const std::string &html, char after) {
    std::string s;
    for (const char c : html) {
        s += c;
        s += c == after ? "<wbr>" : "";
    }
    return s;
}

// Which of so many places runs at this shape: loops are counted as the program has them.
int running(const Explained &e, const std::string &func_and_colon, int places) {
    for (const auto &l : e.loops) {
        if (l.stage >= 0 && e.stages[size_t(l.stage)].func + ":" == func_and_colon) {
            return std::min(l.occurrence, places - 1);
        }
    }
    return 0;
}

}  // namespace

std::string escape_html(const std::string &text) {
    std::string out;
    for (char c : visible(text)) {
        switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        case '\'': out += "&#39;"; break;
        default: out += c;
        }
    }
    return out;
}

std::string page_begin(const std::string &title, const std::string &below, const std::string &style) {
    return fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                       "content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n"
                       "<title>{0}</title>\n<style>{1}{2}</style>\n</head>\n<body>\n<main>\n<h1>{4}</h1>\n"
                       "<p class=\"sub\">{3}</p>\n",
                       escape_html(title), kStyle, style, breakable(escape_html(below), '-'), breakable(escape_html(title), ','));
}

std::string page_end() {
    return "</main>\n</body>\n</html>\n";
}

std::string cell(const std::string &text, const char *kind) {
    return fmt::format("<{0}>{1}</{0}>", kind, escape_html(text));
}

std::string head(const std::vector<std::string> &names) {
    std::string s = "<thead><tr>";
    for (const auto &n : names) {
        s += "<th scope=\"col\">" + escape_html(n) + "</th>";
    }
    return s + "</tr></thead>\n";
}

std::string list(const std::vector<std::string> &lines) {
    std::string s = "<ul>\n";
    for (const auto &l : lines) {
        s += "<li>" + escape_html(l) + "</li>\n";
    }
    return s + "</ul>\n";
}

// The loop nest, each line of it beside its Lua, and each stage where it is produced with what it costs.
std::string nest_table(const Explained &e) {
    std::map<std::string, int> lines_of, line_now;  // "produce f:" comes once for each specialisation
    for (const auto &line : e.nest) {
        lines_of[trim(line.value("text", ""))]++;
    }
    std::string s =
        fmt::format("<div class=\"wide\"><table class=\"nest\"><caption>Loop nest of {}: the Lua that made a line, and the time "
                    "of the stages</caption>\n",
                    escape_html(e.schedule));
    for (const auto &line : e.nest) {
        const std::string text = line.value("text", ""), file = line.value("file", "");
        const std::string t = trim(text), produce = "produce ";
        const bool is_stage = starts_with(t, produce);
        std::string figures;
        if (is_stage && line_now[t]++ == running(e, t.substr(produce.size()), lines_of[t])) {
            double predicted = 0, measured = 0;
            bool has_measured = false;
            for (const auto &x : e.stages) {
                if (x.func + ":" == t.substr(produce.size())) {
                    predicted += x.warm.predicted;
                    has_measured = has_measured || x.warm.measured;
                    measured += x.warm.measured.value_or(0);
                }
            }
            figures = predicted <= 0 ? ""
                                     : fmt::format("<span class=\"bar\" style=\"width:{:.1f}rem\"></span> {}{}",
                                                   8 * predicted / std::max(e.warm.predicted, 1e-30), seconds_text(predicted),
                                                   has_measured ? " · " + seconds_text(measured) + " measured" : "");
        }
        const std::string place = file.empty() ? ""
                                               : fmt::format("{}:{}  {}", std::filesystem::path(file).filename().string(),
                                                             line.value("line", 0), line.value("source", ""));
        s += fmt::format("<tr{}><td>{}</td><td class=\"figures\">{}</td><td class=\"dim\">{}</td></tr>\n",
                         is_stage ? " class=\"stage\"" : "", escape_html(text), figures, escape_html(place));
    }
    return s + "</table></div>\n";
}

std::string turns_note(const std::vector<std::string> &lines) {
    std::string s;
    for (const auto &l : lines) {
        s += fmt::format("<p class=\"{}\">{}</p>\n", starts_with(l, "Warning") ? "warning" : "dim", escape_html(l));
    }
    return s;
}

std::string key(size_t schedule) {
    const char *const shapes[] = {"<circle class=\"point measured schedule-0\" cx=\"8\" cy=\"8\" r=\"5\"/>",
                                  "<rect class=\"point measured schedule-1\" x=\"3\" y=\"3\" width=\"10\" height=\"10\"/>",
                                  "<path class=\"point measured schedule-2\" d=\"M8 3l5 10h-10z\"/>",
                                  "<circle class=\"point measured schedule-3\" cx=\"8\" cy=\"8\" r=\"5\"/>"};
    return fmt::format("<svg class=\"key\" viewBox=\"0 0 16 16\" aria-hidden=\"true\">{}</svg>", shapes[std::min<size_t>(schedule, 3)]);
}

}  // namespace halyard
