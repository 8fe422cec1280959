#ifndef HALYARD_TESTS_OPS_WINDOW_H
#define HALYARD_TESTS_OPS_WINDOW_H

/** \file
 * What the references of convolutions share: the window of a build, and the epilogue in float64.
 */

#include "epilogue.h"

namespace ops_test {

/** The parameters of a build or a problem, with the generators' defaults. */
struct Window {
    int kernel, stride, dilation, padding;

    explicit Window(const Assignments &params)
        : kernel(number(params, "kernel", 3)), stride(number(params, "stride", 1)), dilation(number(params, "dilation", 1)),
          padding(number(params, "padding", 1)) {}
    int windows(int extent) const {
        const int span = extent + 2 * padding - dilation * (kernel - 1);
        return span < 1 ? 0 : (span - 1) / stride + 1;
    }
    /** The smallest image that has a window at all. */
    int smallest() const {
        return std::max(dilation * (kernel - 1) + 1 - 2 * padding, 1);
    }
    /** Whether an image without pixels has windows, all of them in its padding: an error, as in torch. */
    bool is_only_padding(const std::string &dim) const {
        return (dim == "w" || dim == "h") && windows(0) > 0;
    }
    /** Where the window lies in x, which may be outside. */
    int at(int number, int tap) const {
        return number * stride + tap * dilation - padding;
    }

private:
    static int number(const Assignments &params, const std::string &name, int otherwise) {
        const auto p = params.find(name);
        return p == params.end() ? otherwise : std::stoi(p->second);
    }
};

/** activation(scale * sum + bias + residual) + residual, where the sum of `terms` products that add
 * up to `sum_abs` without their signs is off by a rounding for each. */
inline Expected epilogue(const Problem &p, double sum, double sum_abs, int terms, double scale, double bias, double residual) {
    const double before = p.is("add_residual", "before_activation") ? residual : 0;
    const double after = p.is("add_residual", "after_activation") ? residual : 0;
    const double error = (terms + 1) * kRoundoff * sum_abs * std::fabs(scale) +
                         3 * kRoundoff * (std::fabs(scale * sum) + std::fabs(bias) + std::fabs(before));
    return epilogue(activation_of(p), scale * sum + bias + before, error, after);
}

}  // namespace ops_test

#endif
