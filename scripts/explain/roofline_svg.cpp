#include "explain/roofline_svg.h"

#include <algorithm>
#include <array>
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

// Places of texts that are there already: the next one goes where it covers least.
class Labels {
public:
    void block(double x, double y, double width, double height) {
        taken_.push_back({x, y, x + width, y + height});
    }

    /** The first of the boxes that covers nothing, else the one that covers least; it is taken then. */
    size_t place(const std::vector<std::array<double, 4>> &boxes) {
        size_t best = 0;
        double least = 1e30;
        for (size_t i = 0; i < boxes.size(); i++) {
            double covered = 0;
            for (const auto &t : taken_) {
                covered += std::max(0.0, std::min(boxes[i][2], t[2]) - std::max(boxes[i][0], t[0])) *
                           std::max(0.0, std::min(boxes[i][3], t[3]) - std::max(boxes[i][1], t[1]));
            }
            if (covered < least - 0.01) {
                least = covered;
                best = i;
            }
        }
        taken_.push_back(boxes[best]);
        return best;
    }

private:
    std::vector<std::array<double, 4>> taken_;  // left, top, right, bottom
};

std::string rate_text(const Roofline &r, double flops) {
    return r.tera ? fmt::format("{:.3g} TFLOP/s", flops / 1e12) : fmt::format("{:.3g} GFLOP/s", flops / 1e9);
}

std::string mark(const RooflinePoint &p, double x, double y, const char *kind) {
    const double r = p.stage < 0 ? 7 : 5;
    const std::string classes = fmt::format("point {} schedule-{}", kind, std::min<size_t>(p.schedule, 3));
    switch (std::min<size_t>(p.schedule, 3) % 3) {
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
    std::vector<std::array<double, 2>> named;  // where the names of the slopes begin, in pixels
    for (const auto &b : r.bandwidths) {
        // Its name along the slope, where that enters the picture; of one alone in the middle, off what is near its foot. Two slopes
        // that nearly are one have their names after one another.
        const double foot = std::max(x_low * 1.15, y_low * 1.25 / b.rate);
        double begin = r.bandwidths.size() > 1 ? foot : std::sqrt(foot * peak / b.rate);
        const auto covers = [&](const std::array<double, 2> &n) {
            const double along =
                (x(begin) - n[0]) * std::cos(slope * M_PI / 180) + (y(begin * b.rate) - n[1]) * std::sin(slope * M_PI / 180);
            const double across =
                (y(begin * b.rate) - n[1]) * std::cos(slope * M_PI / 180) - (x(begin) - n[0]) * std::sin(slope * M_PI / 180);
            return std::abs(across) < 14 && std::abs(along) < 110;
        };
        while (std::any_of(named.begin(), named.end(), covers) && begin < 0.5 * peak / b.rate) {
            begin *= 1.1;
        }
        named.push_back({x(begin), y(begin * b.rate)});
        s += fmt::format("<text class=\"roof-name\" transform=\"translate({:.1f} {:.1f}) rotate({:.1f})\">{} {}</text>", x(begin),
                         y(begin * b.rate) - 4, slope, b.name,
                         r.tera ? fmt::format("{:.2f} TB/s", b.rate / 1e12) : fmt::format("{:.0f} GB/s", b.rate / 1e9));
    }
    Labels labels;
    for (size_t i = 0; i < r.peaks.size(); i++) {
        // The lower of two lines that are near each other has its name below it.
        const Roofline::Roof &p = r.peaks[i];
        const bool below = i + 1 < r.peaks.size() && y(p.rate) - y(r.peaks[i + 1].rate) < 18;
        const double at = y(p.rate) + (below ? 15 : -6);
        labels.block(kWidth - kRight - 230, at - 12, 230, 16);
        s += fmt::format("<text class=\"roof-name\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{} {}</text>\n", kWidth - kRight - 4, at,
                         p.name, rate_text(r, p.rate));
    }
    for (const RooflinePoint &p : points) {
        for (const double rate : {p.predicted, p.measured.value_or(p.predicted)}) {
            labels.block(x(p.intensity) - 7, y(std::min(rate, peak * 1.5)) - 7, 14, 14);
        }
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
        // Beside it, where there is room: the op's stages often share a column.
        const double width = i + 1 < 10 ? 8 : 15, height = 12;
        std::vector<std::array<double, 4>> boxes;
        for (const double out : {0.0, 8.0, 16.0, 26.0}) {
            for (const auto &[dx, dy] : {std::pair{10 + out, 0.0},
                                         {-10 - out - width, 0.0},
                                         {10 + out / 2, -11.0 - out},
                                         {-10 - out / 2 - width, -11.0 - out},
                                         {10 + out / 2, 11.0 + out},
                                         {-10 - out / 2 - width, 11.0 + out}}) {
                boxes.push_back({px + dx, py + dy - height / 2, px + dx + width, py + dy + height / 2});
            }
        }
        const auto &box = boxes[labels.place(boxes)];
        s += fmt::format("<text class=\"number\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n", box[0], box[3] - 2, i + 1);
    }
    return s + "</svg>\n";
}

std::string roofline_key(const Roofline &r, const std::vector<Explained> &all, const std::string &small) {
    std::string s = "<ul class=\"points\">\n";
    for (size_t i = 0; i < all.size(); i++) {
        s += "<li><span>" + key(i) + " <b>" + escape_html(all[i].schedule) + "</b></span>";
        for (size_t n = 0; n < r.points.size(); n++) {
            const RooflinePoint &p = r.points[n];
            if (p.schedule == i) {
                s += fmt::format("<span><b>{}</b> {}</span>", n + 1, p.stage < 0 ? "whole op" : escape_html(p.name));
            }
        }
        s += "</li>\n";
    }
    const bool measured = std::any_of(r.points.begin(), r.points.end(), [](const RooflinePoint &p) { return p.measured.has_value(); });
    return s + "</ul>\n<p class=\"dim\">" + (measured ? "Filled: measured. Hollow: predicted." : "All of it is predicted.") +
           " Large: the whole op; small: its " + small + ". Both axes are logarithmic; higher is faster.</p>\n";
}

}  // namespace halyard
