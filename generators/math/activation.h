#ifndef HALYARD_MATH_ACTIVATION_H
#define HALYARD_MATH_ACTIVATION_H

/** \file
 * Activations in f32.
 */

#include <Halide.h>

#include "math/compare.h"
#include "math/exp.h"
#include "math/log.h"

namespace halyard {

enum class Activation { kNone, kRelu, kGeluTanh, kGeluErf, kSilu, kLogRelu };

inline std::map<std::string, Activation> activations() {
    return {{"none", Activation::kNone},
            {"relu", Activation::kRelu},
            {"gelu_tanh", Activation::kGeluTanh},
            {"gelu_erf", Activation::kGeluErf},
            {"silu", Activation::kSilu},
            {"log_relu", Activation::kLogRelu}};
}

/** 1 / (1 + e^-x). */
inline Halide::Expr sigmoid(const Halide::Expr &x, const Halide::Target &target = {}) {
    return 1.0f / (1.0f + exp_f32(-x, target));
}

/** erf for |x| <= 3.92, where 1 - erf(x) drops below half an epsilon. A rational minimax fit in
 * x^2 (error 2e-8, 5 epsilon after f32 rounding): no exponential, one division. */
inline Halide::Expr erf_f32(const Halide::Expr &x) {
    using namespace Halide;
    const Expr z = clamp(x, -3.92f, 3.92f);
    const Expr u = z * z;
    Expr p = 2.050089051e-6f;
    for (float c : {2.848831632e-4f, 3.765626112e-3f, 5.274875090e-2f, 1.904066503e-1f, 1.128379107e+0f}) {
        p = p * u + c;
    }
    Expr q = 3.809175542e-5f;
    for (float c : {1.162538189e-3f, 1.496923529e-2f, 1.141091883e-1f, 5.020762682e-1f, 1.0f}) {
        q = q * u + c;
    }
    return z * p / q;
}

inline Halide::Expr activate(Activation a, const Halide::Expr &x, const Halide::Target &target = {}) {
    using namespace Halide;
    switch (a) {
    case Activation::kRelu:
        // Not max(x, 0): a NaN has to stay one.
        return select(has_minus_f32(x), 0.0f, x);
    case Activation::kGeluTanh: {
        // 0.5 x (1 + tanh u) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3); Hendrycks and Gimpel 2016.
        const Expr u2 = 1.5957691216f * (x + 0.044715f * x * x * x);
        // Clamped below, as -infinity * 0 would be NaN; a NaN comes back in with the sigmoid.
        return max(x, -10.0f) * sigmoid(u2, target);
    }
    case Activation::kGeluErf:
        // x Phi(x). Below -5.5 the exact value is under 1e-7 and the fit's error would grow with x.
        return select(is_below_f32(x, -5.5f), 0.0f, 0.5f * x * (1.0f + erf_f32(x * 0.70710678f)));
    case Activation::kSilu:
        return max(x, -87.0f) * sigmoid(x, target);  // as gelu_tanh
    case Activation::kLogRelu:
        return log_f32(activate(Activation::kRelu, x));  // -infinity where ReLU gives 0
    default:
        return x;
    }
}

}  // namespace halyard

#endif
