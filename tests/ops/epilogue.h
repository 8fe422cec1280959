#ifndef HALYARD_TESTS_OPS_EPILOGUE_H
#define HALYARD_TESTS_OPS_EPILOGUE_H

/** \file
 * References of what follows a product: activations, and how far f32 arithmetic may be off.
 */

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rows.h"

namespace ops_test {

/** Behind the name of an activation whose result is stored as bf16. */
constexpr const char *kInBf16 = " in bf16";

inline bool starts_with(const std::string &name, const char *start) {
    return name.rfind(start, 0) == 0;
}

/** An f32 cut to the 10 bits of mantissa of TF32, toward zero. */
inline double cut_to_tf32(double f32) {
    const float value = float(f32);
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    bits &= 0xffffe000;
    float cut = 0;
    memcpy(&cut, &bits, sizeof(cut));
    return cut;
}

/** An activation by its name, in float64. */
inline double activated(const std::string &name, double x) {
    if (name == "log_relu") {
        return x <= 0 ? -kInfinity : std::log(x);
    }
    if (x == -kInfinity && name != "none") {
        return 0;  // the limit
    }
    if (name == "relu") {
        return x < 0 ? 0 : x;
    }
    if (starts_with(name, "gelu_erf")) {
        return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    }
    if (starts_with(name, "gelu_tanh")) {
        return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    }
    return name == "silu" ? x / (1 + std::exp(-x)) : x;
}

/** What an activation adds to the error of its argument, in absolute terms. It has a slope of at most 1.13,
 * and errors of its own: erf is a fit good to 5 epsilon of 1, and e^x, which the others are made of, is off by
 * 2 + |x| epsilon. GELU for bf16 is a fit good to 2^-16.6. */
inline double activation_error(const std::string &name, double x, double y) {
    const double u2 = 1.6 * std::fabs(x + 0.044715 * x * x * x);
    if (name == std::string("gelu_erf") + kInBf16 || name == std::string("gelu_tanh") + kInBf16) {
        return 0x1p-16 * std::fabs(x);
    }
    const double units = name == "gelu_erf"    ? 12 * std::fabs(x)
                         : name == "gelu_tanh" ? (8 + 8 * std::min(u2, 90.0)) * std::fabs(y)
                         : name == "silu"      ? (8 + 4 * std::min(std::fabs(x), 90.0)) * std::fabs(y)
                                               : 0;
    return units * kRoundoff + 1e-35;  // silu is 0 below -87, gelu_tanh below -10
}

/** The steepest slope of an activation. */
constexpr double kSteepest = 1.13;

/** An activation of what is off by `error` at most. */
inline Expected activated(const std::string &name, double x, double error) {
    const double y = activated(name, x);
    if (!std::isfinite(x)) {
        return {y, 0};
    }
    if (name != "log_relu" || x <= -error) {
        return {y, kSteepest * error + activation_error(name, x, y)};
    }
    // The error of a logarithm is the relative one of its argument, of which there may be nothing left.
    return x > error ? Expected{y, error / (x - error) + 6 * kRoundoff * std::fabs(y)} : Expected{std::log(x + error), 1e-6, true};
}

/** activation(linear) + residual, where `linear` is off by `error` at most. */
inline Expected epilogue(const std::string &activation, double linear, double error, double residual) {
    const Expected y = activated(activation, linear, error);
    return {y.value + residual, y.error + 2 * kRoundoff * (std::fabs(y.value) + std::fabs(residual)), y.or_less};
}

/** v * factor, rounded. */
inline Expected scaled(const Expected &v, double factor) {
    return {v.value * factor, v.error * std::fabs(factor) + 2 * kRoundoff * std::fabs(v.value * factor), v.or_less};
}

/** v + more, rounded. */
inline Expected added(const Expected &v, double more) {
    return {v.value + more, v.error + 2 * kRoundoff * (std::fabs(v.value) + std::fabs(more)), v.or_less};
}

/** The names in the generator parameter `order`, as "bias,activation". */
inline std::vector<std::string> order_of(const Problem &p, const std::string &otherwise) {
    const auto given = p.params.find("order");
    std::istringstream text(given == p.params.end() ? otherwise : given->second);
    std::vector<std::string> names;
    for (std::string name; std::getline(text, name, ',');) {
        names.push_back(name);
    }
    return names;
}

/** v after the steps that `order` names. */
inline Expected in_order(const std::vector<std::string> &order, Expected v,
                         const std::initializer_list<std::pair<const char *, std::function<Expected(const Expected &)>>> &steps) {
    for (const auto &name : order) {
        const auto step = std::find_if(steps.begin(), steps.end(), [&](const auto &s) { return name == s.first; });
        v = step == steps.end() ? throw std::out_of_range(name) : step->second(v);
    }
    return v;
}

/** The residual's element `at`, which may be of 8 bits; 0 where there is none. */
template<typename... Index>
double residual_at(const Problem &p, Index... at) {
    const double stored = p.has("residual") ? p["residual"](at...) : 0;
    const bool is_8_bit = p.is("residual_type", "uint8") || p.is("residual_type", "int8");
    return p.has("residual") && is_8_bit ? (stored - p.scalar("residual_zero_point", 0)) * p.scalar("residual_scale", 1) : stored;
}

/** The residual, if there is one that can hold a NaN. */
inline HostBuffer *residual_of_floats(KernelArguments &arguments) {
    HostBuffer *residual = arguments.has_buffer("residual") ? &arguments.buffer("residual") : nullptr;
    return residual && residual->type().code != halide_type_int && residual->type().code != halide_type_uint ? residual : nullptr;
}

/** The generator parameter `activation` of a build, with kInBf16 behind it where that changes what is computed. */
inline std::string activation_of(const Problem &p, const std::string &otherwise = "none") {
    const auto named = p.params.find("activation");
    const std::string name = named == p.params.end() ? otherwise : named->second;
    const bool as_type = p.params.count("output") == 0 || p.is("output", "same");
    const bool in_bf16 = as_type ? p.is("type", "bfloat16") : p.is("output", "bfloat16");
    return in_bf16 && starts_with(name, "gelu") ? name + kInBf16 : name;
}

}  // namespace ops_test

#endif
