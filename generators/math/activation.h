#ifndef HALYARD_MATH_ACTIVATION_H
#define HALYARD_MATH_ACTIVATION_H

/** \file
 * Activations in f32.
 */

#include <Halide.h>

#include "math/compare.h"
#include "math/exp.h"
#include "math/log.h"
#include "math/own_rounding.h"

namespace halyard {

enum class Activation { kNone, kRelu, kGeluTanh, kGeluErf, kSilu, kLogRelu };

inline std::map<std::string, Activation> activations() {
    return {{"none", Activation::kNone},        {"relu", Activation::kRelu}, {"gelu_tanh", Activation::kGeluTanh},
            {"gelu_erf", Activation::kGeluErf}, {"silu", Activation::kSilu}, {"log_relu", Activation::kLogRelu}};
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

/** Phi(x), the normal distribution: 1/2 + z p(z^2) for |z| <= 5, where 1 - Phi(z) drops below 3e-7. A minimax fit (error
 * 1.6e-7, 5 epsilon after f32 rounding) around the middle of z^2, as powers of z^2 itself would cancel. No division. Even and
 * odd powers are summed apart, as one chain of 12 steps is longer than a processor looks ahead. */
inline Halide::Expr phi_f32(const Halide::Expr &x) {
    using namespace Halide;
    const float kEnd = 5.0f;
    const Expr z = clamp(x, -kEnd, kEnd);
    const Expr w = z * z * (2 / (kEnd * kEnd)) - 1.0f;
    const Expr v = w * w;
    Expr even = 6.087285583e-4f, odd = -1.613265718e-3f;
    for (float c : {1.722796122e-3f, 6.410513539e-3f, 1.640217379e-2f, 3.144217283e-2f, 5.152052268e-2f, 1.413637847e-1f}) {
        even = even * v + c;
    }
    for (float c : {-2.685573883e-3f, -1.116434019e-2f, -2.326865308e-2f, -4.044260830e-2f, -7.029628009e-2f}) {
        odd = odd * v + c;
    }
    const Expr p = odd * w + even;
    return z * p + 0.5f;
}

/** gelu_erf or gelu_tanh for a result of bf16: x (1/2 + z p(z^2)), where the bracket is 0 and 1 at the ends of z. Minimax fits,
 * off by 2^-16.6 |x| at most, where bf16 rounds by 2^-9. 15 instructions, in place of 23 of phi_f32 and of an exponential and a
 * division. */
inline Halide::Expr gelu_bf16(Activation a, const Halide::Expr &x) {
    using namespace Halide;
    struct Fit {
        float end, even[5], odd[4];
    };
    const Fit fit = a == Activation::kGeluErf ? Fit{4.3f,
                                                    {2.746698912e-3f, 9.078008123e-3f, 2.614814043e-2f, 5.556106567e-2f, 1.640538424e-1f},
                                                    {-7.038084790e-3f, -1.451515127e-2f, -3.971719369e-2f, -8.003824949e-2f}}
                                              : Fit{4.15f,
                                                    {2.333759330e-3f, 7.659698837e-3f, 2.392213419e-2f, 5.591054261e-2f, 1.698670536e-1f},
                                                    {-5.956358742e-3f, -1.260923874e-2f, -3.834917769e-2f, -8.229648322e-2f}};
    const Expr z = min(x, fit.end);
    const Expr w = z * z * (2 / (fit.end * fit.end)) - 1.0f;
    const Expr v = w * w;
    const auto chain = [&](const float *c, int count) {
        Expr sum = c[0];
        for (int i = 1; i < count; i++) {
            sum = sum * v + c[i];
        }
        return sum;
    };
    const Expr p = chain(fit.odd, 4) * w + chain(fit.even, 5);
    return select(is_below_f32(x, -fit.end), 0.0f, x * (z * p + 0.5f));
}

/** x sigmoid(u). */
inline Halide::Expr times_sigmoid(const Halide::Expr &x, const Halide::Expr &u, const Halide::Target &target) {
    return target.has_gpu_feature() ? x * sigmoid(u, target) : x / (1.0f + exp_f32(-u, target));
}

/** As activate(), in an order that the compiler may change. */
inline Halide::Expr activate_in_any_order(Activation a, const Halide::Expr &x, const Halide::Target &target, const Halide::Type &stored) {
    using namespace Halide;
    if ((a == Activation::kGeluErf || a == Activation::kGeluTanh) && stored.is_bfloat() && !target.has_gpu_feature()) {
        return gelu_bf16(a, x);
    }
    switch (a) {
    case Activation::kRelu:
        // Not max(x, 0): a NaN has to stay one.
        return select(has_minus_f32(x), 0.0f, x);
    case Activation::kGeluTanh: {
        // 0.5 x (1 + tanh u) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3); Hendrycks and Gimpel 2016.
        const Expr u2 = 1.5957691216f * (x + 0.044715f * x * x * x);
        // Clamped below, as -infinity * 0 would be NaN; a NaN comes back in with the sigmoid.
        return times_sigmoid(max(x, -10.0f), u2, target);
    }
    case Activation::kGeluErf:
        // x Phi(x). Below -5.5 the exact value is under 1e-7 and the fit's error would grow with x; above 5 it is x.
        return select(is_below_f32(x, -5.5f), 0.0f,
                      target.has_gpu_feature() ? 0.5f * x * (1.0f + erf_f32(x * 0.70710678f)) : select(x > 5.0f, x, x * phi_f32(x)));
    case Activation::kSilu: return times_sigmoid(max(x, -87.0f), x, target);                                 // as gelu_tanh
    case Activation::kLogRelu: return log_f32(activate_in_any_order(Activation::kRelu, x, target, stored));  // -infinity where ReLU gives 0
    default: return x;
    }
}

/** stored    what the result is stored as: of a bf16, which keeps 8 bits, less is computed */
inline Halide::Expr activate(Activation a, const Halide::Expr &x, const Halide::Target &target = {},
                             const Halide::Type &stored = Halide::Float(32)) {
    const Halide::Expr y = activate_in_any_order(a, x, target, stored);
    return target.has_gpu_feature() ? y : in_written_order(y);
}

}  // namespace halyard

#endif
