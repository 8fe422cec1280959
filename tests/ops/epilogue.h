#ifndef HALYARD_TESTS_OPS_EPILOGUE_H
#define HALYARD_TESTS_OPS_EPILOGUE_H

/** \file
 * References of what follows a product: activations, and how far f32 arithmetic may be off.
 */

#include <algorithm>
#include <cmath>
#include <string>

#include "rows.h"

namespace ops_test {

/** An activation by its name, in float64. */
inline double activated(const std::string &name, double x) {
    if (x == -kInfinity && name != "none") {
        return 0;  // the limit
    }
    if (name == "relu") {
        return x < 0 ? 0 : x;
    }
    if (name == "gelu_erf") {
        return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    }
    if (name == "gelu_tanh") {
        return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    }
    return name == "silu" ? x / (1 + std::exp(-x)) : x;
}

/** What an activation adds to the error of its argument, in absolute terms. It has a slope of at most 1.13,
 * and errors of its own: erf is a fit good to 5 epsilon of 1, and e^x, which the others are made of, is off by
 * 2 + |x| epsilon. */
inline double activation_error(const std::string &name, double x, double y) {
    const double u2 = 1.6 * std::fabs(x + 0.044715 * x * x * x);
    const double units = name == "gelu_erf"    ? 12 * std::fabs(x)
                         : name == "gelu_tanh" ? (8 + 8 * std::min(u2, 90.0)) * std::fabs(y)
                         : name == "silu"      ? (8 + 4 * std::min(std::fabs(x), 90.0)) * std::fabs(y)
                                               : 0;
    return units * kRoundoff + 1e-35;  // silu is 0 below -87, gelu_tanh below -10
}

/** The steepest slope of an activation. */
constexpr double kSteepest = 1.13;

/** activation(linear) + residual, where `linear` is off by `error` at most. */
inline Expected epilogue(const std::string &activation, double linear, double error, double residual) {
    const double value = activated(activation, linear);
    if (!std::isfinite(linear)) {
        return {value + residual, 2 * kRoundoff * std::fabs(residual)};
    }
    return {value + residual, kSteepest * error + activation_error(activation, linear, value) +
                                  2 * kRoundoff * (std::fabs(value) + std::fabs(residual))};
}

/** The generator parameter `activation` of a build. */
inline std::string activation_of(const Problem &p) {
    const auto named = p.params.find("activation");
    return named == p.params.end() ? "none" : named->second;
}

}  // namespace ops_test

#endif
