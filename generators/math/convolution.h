#ifndef HALYARD_MATH_CONVOLUTION_H
#define HALYARD_MATH_CONVOLUTION_H

/** \file
 * What convolutions that sum over channels share: packed weights, the sum itself, and the sizes that fit.
 * Packed: panels of `panel` output channels, each read from front to back: kernel x kernel x
 * ceil(c / group) x panel x group (packed_group), padded with anything at their ends; innermost first
 * [group, panel, ceil(c / group), kernel, kernel, ceil(o / panel), groups].
 */

#include <map>
#include <string>
#include <utility>

#include <Halide.h>

#include "math/weights.h"
#include "math/window.h"

namespace halyard {

/** The packed weight from channel c to channel o of group g, in column s and row r of the kernel. Nothing is
 * asked of o, so that a schedule may round it up. */
template<typename Buffer>
Halide::Expr packed_filter_at(Buffer &weight, int panel, const Halide::Expr &o, const Halide::Expr &c, const Halide::Expr &s,
                              const Halide::Expr &r, const Halide::Expr &g) {
    const int group = packed_group(weight.type());
    return weight(group == 1 ? 0 : c % group, o % panel, c / group, s, r, o / panel, g);
}

/** What a call checks: packed weights for so many channels are dense. */
template<typename Buffer>
void constrain_packed_filter(Buffer &weight, int kernel, int panel, const Halide::Expr &channels) {
    const int group = packed_group(weight.type());
    weight.dim(0).set_bounds(0, group);
    weight.dim(1).set_bounds(0, panel).set_stride(group);
    weight.dim(2).set_bounds(0, (channels + group - 1) / group).set_stride(group * panel);
    weight.dim(3).set_bounds(0, kernel);
    weight.dim(4).set_bounds(0, kernel);
    weight.dim(5).set_min(0);
}

/** The same of weights [c, kernel, kernel, o, groups]. */
template<typename Buffer>
void constrain_filter(Buffer &weight, int kernel, const Halide::Expr &channels) {
    weight.dim(0).set_bounds(0, channels);
    weight.dim(1).set_bounds(0, kernel);
    weight.dim(2).set_bounds(0, kernel);
}

/** Pixel `of` in a dimension of y: boxes of pixels for a GPU's tensor cores stick out of y. What they read there is read at its
 * end, or is a zero of the padding, which columns and rows have. */
template<typename Dimension>
Halide::Expr pixel_of_box(const Halide::Var &of, int dimension, const Dimension &of_y, int padding) {
    const bool in_padding = padding > 0 && dimension < 4;
    return in_padding ? Halide::Expr(of) : min(of, of_y.max());
}

/** Whether windows are gathered before they are multiplied, which makes a product of matrices of the convolution (im2col).
 * open: where the parameter "gathered" of the schedule is 1. */
enum class Gather { kNever, kOpen };

inline std::map<std::string, Gather> gathers() {
    return {{"never", Gather::kNever}, {"open", Gather::kOpen}};
}

/** The factors of a convolution as a product of matrices, whose depth counts the elements of a window as weights [c, kernel, kernel, o,
 * groups] have them: of x in x_window [k, group, w, h, n], and of weight in weight_window [k, o, group]. */
struct GatheredWindows {
    Halide::Func x_window{"x_window"}, weight_window{"weight_window"};
    /** Of an element of a window: its channel, column and row. */
    Halide::Func place{"place"};

    /** The factors of y(o, g, w, h, n), over an RDom "depth". Tiles stick out of y: its last pixels and channels stand for what is behind
     * them. */
    template<typename X, typename W, typename Y>
    std::pair<Halide::Expr, Halide::Expr> operands(X &x, W &weight, Y &y, const Window &window, const Halide::Var &o, const Halide::Var &g,
                                                   const Halide::Var &w, const Halide::Var &h, const Halide::Var &n) {
        using namespace Halide;
        const Var k("k");
        const Expr channels = x.dim(0).extent(), elements = channels * window.kernel * window.kernel;
        const auto element = [&](const Expr &of) {
            const Expr tap = of / max(channels, 1);
            return std::vector<Expr>{of % max(channels, 1), tap % window.kernel, tap / window.kernel};
        };
        place(k) = Tuple(element(min(k, max(elements, 1) - 1)));                                            // vectors stick out of a window
        const auto bounded = [&](int i, const Expr &extent) { return clamp(place(k)[i], 0, extent - 1); };  // Halide cannot look into it
        const std::vector<Expr> from = {bounded(0, max(channels, 1)), bounded(1, window.kernel), bounded(2, window.kernel)};
        const std::vector<Expr> of = element(k);
        const Expr x_at = window.padded(x, {from[0], g, window.at(w, from[1]), window.at(h, from[2]), n}, 2, 3);
        x_window(k, g, w, h, n) = select(k < elements, x_at, cast(x.type(), 0));
        weight_window(k, o, g) = weight(of[0], of[1], of[2], o, g);
        const RDom depth(0, elements, "depth");
        const auto in_y = [&](const Var &of, int dimension) { return min(of, y.dim(dimension).max()); };
        return {x_window(depth, g, in_y(w, 2), in_y(h, 3), in_y(n, 4)), weight_window(depth, in_y(o, 0), g)};
    }
};

/** y [o, groups, w, h, n] has a pixel for each window in x [c, groups, w, h, n]. */
template<typename X, typename Y>
void constrain_images(X &x, Y &y, const Window &window) {
    x.dim(0).set_min(0);
    for (int d : {2, 3}) {
        x.dim(d).set_min(0);
        y.dim(d).set_bounds(0, window.windows(x.dim(d).extent()));
    }
}

/** Which elements of the kernel of window (w, h) meet x, so that a sum can leave out the zeros around it: for accumulate_window().
 * Undefined, all of them, without padding, and for kernels over 7, as a schedule makes code for each column. */
template<typename X>
Halide::Expr taps_in_image(X &x, const Window &window, const Halide::Expr &w, const Halide::Expr &h, const Halide::Expr &column,
                           const Halide::Expr &row) {
    if (window.padding == 0 || window.kernel > 7) {
        return Halide::Expr();
    }
    // Loop bounds come of the rows. Of the tiles of a row, only the first and the last have columns outside.
    return window.inside(h, row, x.dim(3).extent()) && likely(window.inside(w, column, x.dim(2).extent()));
}

/** acc += product(channel, column, row) over the channels and the kernel: over the channels in whole
 * groups, then, where group is not 1, over the rest of them in a second update with the loops "rest".
 * taken(column, row): which elements of the kernel count; undefined: all. */
template<typename Product, typename Taken>
void accumulate_window(Halide::FuncRef acc, int group, const Halide::Expr &channels, int kernel, Product product, Taken taken) {
    using namespace Halide;
    const Expr whole = channels / group * group;
    RDom tap({{0, whole}, {0, kernel}, {0, kernel}}, "tap");
    const auto leave_out = [&](RDom &domain) {
        const Expr counts = taken(Expr(domain.y), Expr(domain.z));
        if (counts.defined()) {
            domain.where(counts);
        }
    };
    leave_out(tap);
    acc += product(Expr(tap.x), Expr(tap.y), Expr(tap.z));
    if (group > 1) {
        // Its channels count on: from 0, the last group's bounds would be those of a group that may not be there.
        // Of fewer than 0 channels, which is an error of x, none below 0: that would read as one of the weight.
        RDom rest({{max(whole, 0), channels % group}, {0, kernel}, {0, kernel}}, "rest");
        leave_out(rest);
        acc += product(Expr(rest.x), Expr(rest.y), Expr(rest.z));
    }
}

}  // namespace halyard

#endif
