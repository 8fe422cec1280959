#include "explain/explain_device_html.h"

#include <fmt/format.h>

#include "explain/explain_device_words.h"
#include "explain/explain_words.h"
#include "explain/page.h"
#include "explain/roofline_svg.h"
#include "kernel/text.h"

namespace halyard {

namespace {

// A dash of the page's for one of the terminal's.
std::string dash(const std::string &text) {
    return text == "-" ? "–" : text;
}

std::string moved_on_device(const Bytes &b) {
    return dash(moved_text(b));
}

std::string work(double flops) {
    return flops < 0.5 ? "–" : flops_text(flops);
}

Roofline device_roofline(const std::vector<Explained> &all, const GpuFigures &gpu) {
    Roofline r;
    r.tera = true;
    r.axis = "flops per byte of device memory";
    r.about = "Speed in TFLOP/s over flops per byte of device memory, both logarithmic. Every kernel and the whole op stand under "
              "the bandwidth of the memory and the peaks of multiply-adds and of the tensor cores.";
    r.bandwidths = {{"memory", gpu.copy}};
    r.peaks = {{"multiply-adds", gpu.flops}, {"tensor cores, 16 bits", gpu.tensor_flops}};
    for (size_t i = 0; i < all.size(); i++) {
        const Explained &e = all[i];
        const auto add = [&](const std::string &kind, int number, double flops, double bytes, double predicted) {
            if (flops <= 0 || bytes <= 0 || predicted <= 0) {
                return;
            }
            RooflinePoint p;
            p.name = number < 0 ? e.schedule : e.kernels[size_t(number)].name;
            p.kind = kind;
            p.schedule = i;
            p.stage = number;
            p.intensity = flops / bytes;
            p.predicted = flops / predicted;
            if (number < 0 && e.warm.measured) {
                p.measured = flops / *e.warm.measured;
            }
            r.points.push_back(p);
        };
        add(e.schedule, -1, e.flops, e.warm.bytes[kDram].both(), e.warm.predicted);
        for (size_t k = 0; k < e.kernels.size() && e.kernels.size() > 1; k++) {
            const ExplainedKernel &kernel = e.kernels[k];
            add(fmt::format("{} of {}", kernel.name, e.schedule), int(k), kernel.flops + kernel.tensor_flops, kernel.memory.both(),
                kernel.predicted);
        }
    }
    return r;
}

std::string stage_table(const Explained &e) {
    std::string s = fmt::format("<div class=\"wide\"><table><caption>Stages of {}</caption>\n", escape_html(e.schedule)) +
                    head({"stage", "computed at", "times over", "flops", "on"});
    for (const auto &x : e.stages) {
        s += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"left\">{}</td>", escape_html(x.name), escape_html(place_text(x)));
        s += cell(x.recomputed ? fmt::format("{:.2f}", *x.recomputed) : "–") + cell(work(x.flops)) +
             cell(x.product ? "tensor cores" : "FMA") + "</tr>\n";
    }
    return s + "</table></div>\n";
}

std::string device_table(const GpuFigures &g) {
    const auto row = [](const char *name, const std::string &value) {
        return fmt::format("<tr><th scope=\"row\">{}</th>{}</tr>\n", name, cell(value));
    };
    return "<h2>The device</h2>\n<div class=\"wide\"><table>" + row("multiprocessors", std::to_string(g.multiprocessors)) +
           row("memory, documented", fmt::format("{:.2f} TB/s", g.memory / 1e12)) +
           row(g.copy_measured ? "a copy, measured here" : "a copy, taken", fmt::format("{:.2f} TB/s", g.copy / 1e12)) +
           row("L2", fmt::format("{:.0f} MiB, about {:.1f} TB/s", g.l2_bytes / (1 << 20), g.l2 / 1e12)) +
           row("multiply-adds, f32", fmt::format("{:.1f} TFLOP/s", g.flops / 1e12)) +
           row("tensor cores, 16 bits", fmt::format("{:.0f} TFLOP/s", g.tensor_flops / 1e12)) +
           row("tensor cores, 8 bits", fmt::format("{:.0f} TOP/s", g.tensor_ops / 1e12)) + "</table></div>\n";
}

}  // namespace

std::string kernel_table(const Explained &e) {
    std::string s = fmt::format("<div class=\"wide\"><table class=\"kernels\"><caption>Kernels of {}: what one launches, what a "
                                "thread and a block take of a multiprocessor and how many blocks stay there, bytes read / "
                                "written</caption>\n",
                                escape_html(e.schedule)) +
                    head({"kernel", "launches", "blocks", "threads", "registers", "shared", "stay", "memory", "L2", "tensor flops", "flops",
                          "predicted", "limited by"});
    for (const auto &k : e.kernels) {
        s += fmt::format("<tr><th scope=\"row\">{}</th>", escape_html(k.name)) + cell(fmt::format("{:g}", k.launches)) +
             cell(grid_text(k.grid)) + cell(grid_text(k.block)) + cell(k.resources ? std::to_string(k.resources->registers) : "–") +
             cell(dash(shared_text(k))) + cell(dash(resident_text(k))) + cell(moved_on_device(k.memory)) + cell(moved_on_device(k.l2)) +
             cell(work(k.tensor_flops)) + cell(work(k.flops)) + cell(seconds_text(k.predicted)) + cell(k.limit) + "</tr>\n";
    }
    return s + "</table></div>\n";
}

std::string explanation_html(const std::vector<Explained> &all, const GpuFigures &gpu) {
    const Explained &first = all.front();
    const Roofline roofline = device_roofline(all, gpu);
    std::string s = page_begin(fmt::format("{} {}, {}", first.op, first.shape, first.type), device_text(gpu));
    s += "<h2 id=\"roofline\">Roofline</h2>\n<div class=\"wide\">" + roofline_svg(roofline) + "</div>\n" +
         roofline_key(roofline, all, "kernels");
    for (size_t i = 1; i < all.size(); i++) {
        s += fmt::format("<h2>{} against {}</h2>\n", escape_html(first.schedule), escape_html(all[i].schedule)) +
             list(compare(first, all[i], gpu));
    }
    for (size_t i = 0; i < all.size(); i++) {
        const Explained &e = all[i];
        s += fmt::format("<section>\n<h2>{}</h2>\n", escape_html(e.schedule)) + list(about_schedule(e, gpu)) + kernel_table(e) +
             nest_table(e) + stage_table(e);
        if (!e.notes.empty()) {
            s += "<p class=\"dim\">Where a figure is a bound:</p>\n" + list(e.notes);
        }
        s += "</section>\n";
    }
    return s + device_table(gpu) + page_end();
}

}  // namespace halyard
