"""A picture of a run as SVG, with nothing but Python: the ratio to the best peer over the size, a dot a case, the worst named."""

import math
from html import escape

from ..report import short
from .report import number
from .statistics import summary, worst

WIDTH, HEIGHT = 1120, 640
LEFT, RIGHT, TOP, BOTTOM = 64, 250, 58, 54
NAMED = 10
FAMILIES = {"rows": ("#1b6ca8", ("rms_norm", "layer_norm", "softmax", "cross_entropy", "batch_norm", "group_norm", "bias_activation", "transpose")),
            "products": ("#c0392b", ("gemm", "qkv_projection", "gemm_reduce", "linear_cross_entropy", "gemm_top_k", "splade", "moe_router", "rms_norm_gemm",
                                     "swiglu", "swiglu_mlp")),
            "8 bits": ("#8a6d3b", ("gemm_int8", "swiglu_int8", "swiglu_mlp_int8", "qkv_projection_int8", "conv2d_int8", "depthwise_conv2d_int8")),
            "attention": ("#7d5ba6", ("attention", "decode_attention")), "convolutions": ("#2e8b57", ("conv2d", "depthwise_conv2d"))}


def colour(op):
    return next((c for c, ops in FAMILIES.values() if op in ops), "#555555")


def size_of(r):
    """Seconds that the machine needs at least: what makes bytes and operations comparable."""
    return max(r["floor_seconds"], 1e-9)


def time_text(s):
    return f"{s * 1e9:.0f} ns" if s < 1e-6 else f"{s * 1e6:.0f} us" if s < 1e-3 else f"{s * 1e3:.0f} ms" if s < 1 else f"{s:.0f} s"


class Axis:
    """A logarithmic one, from place `begin` to `end` of the picture."""

    def __init__(self, values, begin, end, around):
        self.low, self.high = math.log(min([*values, *around]) * 0.9), math.log(max([*values, *around]) * 1.1)
        self.begin, self.end = begin, end

    def at(self, value):
        return self.begin + (math.log(value) - self.low) / (self.high - self.low) * (self.end - self.begin)

    def has(self, value):
        return self.low <= math.log(value) <= self.high


def line(x1, y1, x2, y2, stroke="#dddddd", **more):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}"{attributes(more)}/>'


def label(x, y, text, **more):
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes(more)}>{escape(text)}</text>'


def attributes(more):
    return "".join(f' {n.replace("_", "-")}="{v}"' for n, v in more.items())


def spread(wanted, apart, low, high):
    """Places near the wanted ones, in their order, none closer than `apart`."""
    places = []
    for y in wanted:
        places.append(max(y, places[-1] + apart if places else low))
    over = places[-1] - high if places else 0
    if over > 0:
        for i in range(len(places) - 1, -1, -1):
            places[i] = min(places[i], high - apart * (len(places) - 1 - i))
    return places


def named(records, x, y):
    """The worst cases' names right of the picture, each with a line to its dot."""
    cases = sorted(worst(records, NAMED), key=lambda r: y.at(r["ratio"]))
    parts, edge = [], WIDTH - RIGHT + 12
    for r, place in zip(cases, spread([y.at(r["ratio"]) for r in cases], 25, TOP + 8, HEIGHT - BOTTOM - 8)):
        parts.append(line(x.at(size_of(r)), y.at(r["ratio"]), edge - 3, place - 3, "#999999", stroke_width=0.6))
        parts.append(label(edge, place, f"{number(r['ratio'])}  {r['op']} {r['type']}", font_size=11, font_weight="bold"))
        text = short(r["shape"])
        parts.append(label(edge, place + 11, text if len(text) < 46 else text[:44] + "…", font_size=9, fill="#444444"))
    return parts


def draw(run):
    """The SVG, as text."""
    records = [r for r in run["records"] if r["ratio"]]
    s = summary(run["records"])
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             label(LEFT, 22, f"Halyard beside the best peer, {len(records)} cases, {run['records'][0]['machine'] if run['records'] else ''}", font_size=15, font_weight="bold")]
    if not records:
        return "\n".join([*parts, label(LEFT, 60, "no case has a peer"), "</svg>"]) + "\n"
    parts.append(label(LEFT, 40, f"geometric mean {number(s['geometric_mean'])}, 10th percentile {number(s['tenth'])}, least {number(s['least'])}; above 1 Halyard is faster",
                       fill="#444444"))
    x = Axis([size_of(r) for r in records], LEFT, WIDTH - RIGHT, [1e-6, 1e-4])
    y = Axis([r["ratio"] for r in records], HEIGHT - BOTTOM, TOP, [0.5, 2])
    for power in range(-9, 2):
        for times in (1, 3):
            value = times * 10.0 ** power
            if x.has(value):
                parts += [line(x.at(value), TOP, x.at(value), HEIGHT - BOTTOM), label(x.at(value), HEIGHT - BOTTOM + 16, time_text(value), text_anchor="middle", font_size=10)]
    for value in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000):
        if y.has(value):
            parts += [line(LEFT, y.at(value), WIDTH - RIGHT, y.at(value), "#333333" if value == 1 else "#dddddd"),
                      label(LEFT - 8, y.at(value) + 4, f"{value:g}", text_anchor="end", font_size=10)]
    for value, name in ((s["geometric_mean"], "mean"), (s["tenth"], "10th")):
        parts += [line(LEFT, y.at(value), WIDTH - RIGHT, y.at(value), "#1b6ca8", stroke_dasharray="5 4"),
                  label(LEFT + 4, y.at(value) - 3, name, font_size=10, fill="#1b6ca8")]
    parts += named(records, x, y)
    for r in records:
        title = escape(f"{r['key']}: {r['ratio']:.2f} of {r['peer']}, {100 * r['roof_fraction']:.0f}% of the roof, {r['case']['model']}")
        parts.append(f'<circle cx="{x.at(size_of(r)):.1f}" cy="{y.at(r["ratio"]):.1f}" r="4" fill="{colour(r["op"])}" fill-opacity="0.75" '
                     f'stroke="white" stroke-width="0.6"><title>{title}</title></circle>')
    parts.append(label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "size: time that bytes and operations need at least", text_anchor="middle"))
    at = LEFT
    for name, (fill, _) in FAMILIES.items():
        parts += [f'<circle cx="{at + 5}" cy="50" r="4" fill="{fill}"/>', label(at + 13, 54, name, font_size=10)]
        at += 30 + 7 * len(name)
    return "\n".join([*parts, "</svg>"]) + "\n"
