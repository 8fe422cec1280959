#include "explain/roofline_svg.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "explain/page.h"

namespace halyard {

namespace {

constexpr double kWidth = 860, kHeight = 460, kLeft = 64, kRight = 24, kTop = 20, kBottom = 52;

// Powers of ten around the values.
struct Scale {
    double low, high, from, to;  // decades; pixels

    double operator()(double v) const {
        return from + (std::log10(v) - low) / (high - low) * (to - from);
    }
};

std::string rate_text(const Roofline &r, double flops) {
    return r.tera ? fmt::format("{:.3g} TFLOP/s", flops / 1e12) : fmt::format("{:.3g} GFLOP/s", flops / 1e9);
}

std::string mark(const RooflinePoint &p, double x, double y, const char *kind) {
    const double r = p.stage < 0 ? 7 : 5;
    const std::string classes = fmt::format("point {} schedule-{}", kind, std::min<size_t>(p.schedule, 3));
    switch (p.schedule % 3) {
    case 0: return fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>", classes, x, y, r);
    case 1:
        return fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"/>", classes, x - r, y - r, 2 * r,
                           2 * r);
    default: return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}l{} {}h{}z\"/>", classes, x, y - r, r, 2 * r, -2 * r);
    }
}

}  // namespace

Roofline host_roofline(const std::vector<Explained> &all, const Machine &machine) {
    Roofline r;
    r.axis = "flops per byte loaded and stored";
    r.about = "Speed in GFLOP/s over flops per byte that instructions load and store, both logarithmic. Every stage and the "
              "whole op stand under the bandwidths of the caches and memory and the peak of multiply-adds; the numbers are "
              "those of the tables.";
    for (const auto &l : machine.levels) {
        r.bandwidths.push_back({l.name, l.read});
    }
    r.peaks = {{"multiply-adds", machine.flops}};
    for (const auto &e : all) {
        const double rate = product_rate(e, machine);
        if (rate > r.peaks.back().rate) {
            r.peaks.push_back({"products of short types", rate});
        }
    }
    for (size_t i = 0; i < all.size(); i++) {
        const Explained &e = all[i];
        const auto add = [&](const std::string &name, int stage, double flops, const Cost &c) {
            if (flops <= 0 || c.predicted <= 0 || c.bytes[kL1].both() <= 0) {
                return;
            }
            RooflinePoint p;
            p.name = name;
            p.kind = fmt::format("{} of {}", stage < 0 ? "whole op" : "stage " + name, e.schedule);
            p.schedule = i;
            p.stage = stage;
            p.intensity = flops / c.bytes[kL1].both();
            p.predicted = flops / c.predicted;
            if (c.measured && *c.measured > 0) {
                p.measured = flops / *c.measured;
            }
            r.points.push_back(p);
        };
        add(e.schedule, -1, e.flops, e.warm);
        for (size_t s = 0; s < e.stages.size(); s++) {
            // What takes no time is a dot among others.
            if (e.stages[s].warm.predicted > 0.01 * e.warm.predicted) {
                add(e.stages[s].name, int(s), e.stages[s].flops, e.stages[s].warm);
            }
        }
    }
    return r;
}

int point_number(const Roofline &r, size_t schedule, int stage) {
    for (size_t i = 0; i < r.points.size(); i++) {
        if (r.points[i].schedule == schedule && r.points[i].stage == stage) {
            return int(i) + 1;
        }
    }
    return 0;
}

std::string roofline_svg(const Roofline &r) {
    const auto &points = r.points;
    const double peak = r.peaks.back().rate, unit = r.tera ? 12 : 9;
    double x_low = 0.05, x_high = 20, y_low = peak / 100;
    for (const RooflinePoint &p : points) {
        x_low = std::min(x_low, p.intensity / 1.5);
        x_high = std::max(x_high, p.intensity * 1.5);
        y_low = std::min({y_low, p.predicted / 1.5, p.measured.value_or(p.predicted) / 1.5});
    }
    for (const auto &b : r.bandwidths) {
        x_high = std::max(x_high, 1.5 * peak / b.rate);
    }
    const Scale x{std::log10(x_low), std::log10(x_high), kLeft, kWidth - kRight};
    const Scale y{std::log10(y_low), std::log10(peak * 1.6), kHeight - kBottom, kTop};
    std::string s =
        fmt::format("<svg class=\"roofline\" viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"roofline-title roofline-desc\">"
                    "<title id=\"roofline-title\">Roofline</title><desc id=\"roofline-desc\">{}</desc>\n",
                    kWidth, kHeight, escape_html(r.about));
    // The grid of decades.
    for (int d = int(std::floor(x.low)); d <= int(std::ceil(x.high)); d++) {
        const double at = x(std::pow(10.0, d));
        if (at >= kLeft - 0.5 && at <= kWidth - kRight + 0.5) {
            s += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
                             "<text class=\"tick\" x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:g}</text>",
                             at, kTop, kHeight - kBottom, kHeight - kBottom + 18, std::pow(10.0, d));
        }
    }
    for (int d = int(std::floor(y.low)); d <= int(std::ceil(y.high)); d++) {
        const double at = y(std::pow(10.0, d));
        if (at <= kHeight - kBottom + 0.5 && at >= kTop - 0.5) {
            s += fmt::format("<line class=\"grid\" x1=\"{1}\" x2=\"{2}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>"
                             "<text class=\"tick\" x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:g}</text>",
                             at, kLeft, kWidth - kRight, kLeft - 6, at + 4, std::pow(10.0, d - unit));
        }
    }
    s += fmt::format("<text class=\"axis\" x=\"{:.0f}\" y=\"{}\" text-anchor=\"middle\">{}</text>"
                     "<text class=\"axis\" transform=\"translate(14 {:.0f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                     (kLeft + kWidth - kRight) / 2, kHeight - 12, escape_html(r.axis), (kTop + kHeight - kBottom) / 2,
                     r.tera ? "TFLOP/s" : "GFLOP/s");
    // The roofs: a slope a level up to the peak.
    s += "<clipPath id=\"plot\">" + fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>", kLeft, kTop,
                                                kWidth - kRight - kLeft, kHeight - kBottom - kTop);
    s += "<g clip-path=\"url(#plot)\">";
    for (const auto &b : r.bandwidths) {
        const double corner = peak / b.rate;
        s += fmt::format("<line class=\"roof\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>", x(x_low), y(x_low * b.rate),
                         x(corner), y(peak));
    }
    for (const auto &p : r.peaks) {
        s += fmt::format("<line class=\"roof\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>",
                         x(p.rate / r.bandwidths.front().rate), y(p.rate), x(x_high), y(p.rate));
    }
    s += "</g>\n";
    const double slope = std::atan2(y(1) - y(10), x(10) - x(1)) * -180 / M_PI;
    for (const auto &b : r.bandwidths) {
        // Its name along the slope, where that enters the picture; of one alone in the middle, off what is near its foot.
        const double foot = std::max(x_low * 1.15, y_low * 1.25 / b.rate);
        const double begin = r.bandwidths.size() > 1 ? foot : std::sqrt(foot * peak / b.rate);
        s += fmt::format("<text class=\"roof-name\" transform=\"translate({:.1f} {:.1f}) rotate({:.1f})\">{} {}</text>", x(begin),
                         y(begin * b.rate) - 4, slope, b.name,
                         r.tera ? fmt::format("{:.2f} TB/s", b.rate / 1e12) : fmt::format("{:.0f} GB/s", b.rate / 1e9));
    }
    for (const auto &p : r.peaks) {
        s += fmt::format("<text class=\"roof-name\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{} {}</text>\n", kWidth - kRight - 4,
                         y(p.rate) - 6, p.name, rate_text(r, p.rate));
    }
    for (size_t i = 0; i < points.size(); i++) {
        const RooflinePoint &p = points[i];
        const double px = x(p.intensity), py = y(p.predicted);
        s += fmt::format("<g><title>{}. {}: {:.3g} flops per byte, predicted {}{}</title>", i + 1, escape_html(p.kind), p.intensity,
                         rate_text(r, p.predicted), p.measured ? ", measured " + rate_text(r, *p.measured) : "");
        if (p.measured) {
            const double my = y(std::min(*p.measured, peak * 1.5));
            s += fmt::format("<line class=\"error schedule-{4}\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{3:.1f}\"/>", px, px, py,
                             my, std::min<size_t>(p.schedule, 3));
            s += mark(p, px, my, "measured");
        }
        s += mark(p, px, py, "predicted");
        // Numbers to alternating sides: the op's stages often share a column.
        s += fmt::format("<text class=\"number\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text></g>\n", px + (i % 2 ? -10 : 10),
                         py + 4 + double(i % 3) * 8 - 8, i % 2 ? "end" : "start", i + 1);
    }
    return s + "</svg>\n";
}

}  // namespace halyard
