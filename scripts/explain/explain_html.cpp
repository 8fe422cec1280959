#include "explain/explain_html.h"

#include <algorithm>

#include <fmt/format.h>

#include "explain/explain_words.h"
#include "explain/page.h"
#include "explain/roofline_svg.h"
#include "kernel/text.h"

namespace halyard {

namespace {

std::string moved(const Bytes &b) {
    return b.both() < 0.5 ? "–" : bytes_text(b.read) + " / " + bytes_text(b.written);
}

std::string stage_table(const std::vector<Explained> &all, const Roofline &roofline, size_t index, bool cold) {
    const Explained &e = all[index];
    std::string s = fmt::format("<div class=\"wide\"><table><caption>Stages of {} {}: bytes read / written between a level and the one "
                                "before it</caption>\n",
                                escape_html(e.schedule), cold ? "with the data in memory" : "with the data in the cache");
    s += head({"stage", "point", "computed at", "times over", "Mflop", "registers", "L1", "L2", "L3", "DRAM", "instructions", "predicted",
               "limited by", "measured"});
    const auto row = [&](const std::string &name, int point, const std::string &place, const std::string &again, double flops,
                         const Bytes &registers, const Cost &c, double core, bool whole) {
        s += fmt::format("<tr{}><th scope=\"row\">{}</th>", whole ? " class=\"all\"" : "", escape_html(name));
        s += cell(point > 0 ? std::to_string(point) : "") + "<td class=\"left\">" + escape_html(place) + "</td>" + cell(again) +
             cell(fmt::format("{:.4g}", flops / 1e6)) + cell(moved(registers));
        for (const Bytes &b : c.bytes) {
            s += cell(moved(b));
        }
        s += cell(seconds_text(core)) + cell(seconds_text(c.predicted)) + cell(limit_name(c.limit)) +
             cell(c.measured ? seconds_text(*c.measured) : "–") + "</tr>\n";
    };
    Bytes registers;
    double core = 0;
    for (size_t i = 0; i < e.stages.size(); i++) {
        const ExplainedStage &x = e.stages[i];
        row(x.name, point_number(roofline, index, int(i)), x.place.empty() ? "root" : x.place,
            x.recomputed ? fmt::format("{:.2f}", *x.recomputed) : "–", x.flops, x.registers, cold ? x.cold : x.warm, x.core_seconds, false);
        registers.read += x.registers.read;
        registers.written += x.registers.written;
        core += x.core_seconds;
    }
    row("all", point_number(roofline, index, -1), "", "", e.flops, registers, cold ? e.cold : e.warm, core, true);
    return s + "</table></div>\n";
}

std::string loop_table(const Explained &e) {
    std::string s = fmt::format("<div class=\"wide\"><table><caption>Loops of {}: cycles by llvm-mca for {}</caption>\n",
                                escape_html(e.schedule), escape_html(e.mca_processor));
    s += head({"loop", "iterations", "one iteration touches", "cycles", "instructions", "share of samples", "held up by"});
    for (const auto &l : e.loops) {
        if (l.mca.cycles <= 0 && !l.innermost) {
            continue;
        }
        s += "<tr>" + fmt::format("<th scope=\"row\">{}</th>", escape_html(l.name)) + cell(fmt::format("{:.4g}", l.iterations)) +
             cell(bytes_text(l.footprint)) + cell(l.mca.cycles > 0 ? fmt::format("{:.1f}", l.mca.cycles) : "–") +
             cell(l.mca.instructions > 0 ? std::to_string(l.mca.instructions) : "–") +
             cell(l.share ? fmt::format("{:.0f} %", 100 * *l.share) : "–") + "<td class=\"left\">" + escape_html(l.mca.limit) +
             "</td></tr>\n";
    }
    return s + "</table></div>\n";
}

// What was counted beside what was predicted; nothing where no kernel ran.
std::string counter_table(const Explained &e) {
    if (!e.warm.measured) {
        return "";
    }
    std::string rows;
    const auto row = [&](const char *name, double value, const std::string &beside) {
        rows += fmt::format("<tr><th scope=\"row\">{}</th>{}<td class=\"left\">{}</td></tr>\n", name, cell(fmt::format("{:.4g}", value)),
                            beside);
    };
    if (e.counters.available) {
        const double seconds = *e.warm.measured;
        row("cycles", e.counters.cycles, fmt::format("{:.2f} GHz over the measured time", e.counters.cycles / seconds / 1e9));
        row("instructions", e.counters.instructions,
            fmt::format("{:.2f} a cycle", e.counters.instructions / std::max(e.counters.cycles, 1.0)));
        row("cache references", e.counters.cache_references, "of the last level but one, as the processor counts them");
        row("cache misses", e.counters.cache_misses,
            fmt::format("{} in lines; {} predicted from and to DRAM", bytes_text(64 * e.counters.cache_misses),
                        bytes_text(e.warm.bytes[kDram].both())));
    }
    row("page faults", e.counters.page_faults, seconds_text(e.page_seconds));
    return fmt::format("<div class=\"wide\"><table class=\"counters\"><caption>Counted in one call of {}</caption>\n{}{}</table></div>\n",
                       escape_html(e.schedule), head({"event", "count", ""}), rows);
}

}  // namespace

std::string explanation_html(const std::vector<Explained> &all, const Machine &machine) {
    const Explained &first = all.front();
    const Roofline roofline = host_roofline(all, machine);
    const std::string title = fmt::format("{} {}, {}", first.op, first.shape, first.type);
    std::string s = page_begin(title, fmt::format("{} · {} thread(s)", first.target, first.threads));
    s += "<h2 id=\"roofline\">Roofline, with the data in the cache</h2>\n<div class=\"wide\">" + roofline_svg(roofline) + "</div>\n" +
         roofline_key(roofline, all, "stages");
    s += turns_note(about_turns(all));
    for (size_t i = 1; i < all.size(); i++) {
        s += fmt::format("<h2>{} against {}</h2>\n", escape_html(first.schedule), escape_html(all[i].schedule)) +
             list(compare(first, all[i], machine));
    }
    for (size_t i = 0; i < all.size(); i++) {
        const Explained &e = all[i];
        s += fmt::format("<section>\n<h2>{}</h2>\n", escape_html(e.schedule)) + list(about_schedule(e, machine)) + nest_table(e) +
             stage_table(all, roofline, i, false) + stage_table(all, roofline, i, true) + loop_table(e) + counter_table(e);
        if (!e.notes.empty()) {
            s += "<p class=\"dim\">Where a figure is a bound:</p>\n" + list(e.notes);
        }
        s += "</section>\n";
    }
    std::string levels;
    for (const auto &l : machine.levels) {
        levels += fmt::format("<tr><th scope=\"row\">{}</th>{}{}{}</tr>\n", l.name,
                              cell(l.bytes > 0 ? fmt::format("{} KiB", l.bytes >> 10) : "–"), cell(fmt::format("{:.1f}", l.read / 1e9)),
                              cell(fmt::format("{:.1f}", l.written / 1e9)));
    }
    s += fmt::format("<h2>The machine</h2>\n<div class=\"wide\"><table><caption>Measured here: {:.1f} GFLOP/s, {:.2f} "
                     "GHz</caption>\n{}{}</table></div>\n",
                     machine.flops / 1e9, machine.hertz / 1e9, head({"level", "size", "GB/s read", "GB/s written"}), levels);
    if (!first.counters.available && !first.counters.why_not.empty()) {
        s += "<p class=\"dim\">No hardware counters: " + escape_html(first.counters.why_not) + ".</p>\n";
    }
    return s + page_end();
}

}  // namespace halyard
