#ifndef HALYARD_MATH_WINDOW_H
#define HALYARD_MATH_WINDOW_H

/** \file
 * What convolutions share: the window that moves over an image, and where a residual enters.
 */

#include <Halide.h>

namespace halyard {

/** A square window. Coordinates are those of the image with its padding, from 0. */
struct Window {
    int kernel, stride, dilation, padding;

    /** How many windows fit in an image of this extent; none where its padding makes it too small. */
    Halide::Expr windows(const Halide::Expr &extent) const {
        return Halide::max((extent + (2 * padding - dilation * (kernel - 1) - 1 + stride)) / stride, 0);
    }

    /** Where element `tap` of window `number` lies. */
    Halide::Expr at(const Halide::Expr &number, const Halide::Expr &tap) const {
        return number * stride + tap * dilation;
    }

    /** Whether element `tap` of window `number` lies in the image, which has this extent without its padding. */
    Halide::Expr inside(const Halide::Expr &number, const Halide::Expr &tap, const Halide::Expr &extent) const {
        const Halide::Expr position = at(number, tap) - padding;
        return position >= 0 && position < extent;
    }

    /** The image with zeros around it, or another value. `column` and `row` are positions in `where`. */
    template<typename Image>
    Halide::Expr padded(Image &x, std::vector<Halide::Expr> where, int column, int row, const Halide::Expr &outside = 0) const {
        using namespace Halide;
        if (padding == 0) {
            return x(where);
        }
        Expr inside = Internal::const_true();
        for (int d : {column, row}) {
            const Expr last = x.dim(d).extent() - 1, at = where[size_t(d)] - padding;
            inside = inside && at >= 0 && at <= last;
            where[size_t(d)] = clamp(likely(at), 0, last);
        }
        return select(likely(inside), x(where), cast(x.type(), outside));
    }
};

/** Where a residual enters: before the activation (ResNet) or after it. */
enum class Residual { kNone, kBefore, kAfter };

inline std::map<std::string, Residual> residuals() {
    return {{"none", Residual::kNone}, {"before_activation", Residual::kBefore}, {"after_activation", Residual::kAfter}};
}

}  // namespace halyard

#endif
