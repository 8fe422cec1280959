// What the headers of generators/math promise, at points over all of f32.

#include <algorithm>
#include <cmath>
#include <sstream>

#include <catch2/catch.hpp>

#include "math/activation.h"
#include "math/compare.h"
#include "math/exp.h"
#include "math/float8_rounding.h"
#include "math/own_rounding.h"
#include "math/pow.h"
#include "math/quantize.h"
#include "math/tanh.h"
#include "math/trig.h"
#include "support.h"

namespace {

using namespace halyard;
using namespace math_test;

constexpr double kEpsilon = 0x1p-23;

// Every f32 within `reach` of a point where something changes.
std::vector<float> around(const std::vector<float> &points, int reach = 50) {
    std::vector<float> all;
    for (float p : points) {
        float below = p, above = p;
        all.push_back(p);
        for (int i = 0; i < reach; i++) {
            all.push_back(below = std::nextafter(below, -INFINITY));
            all.push_back(above = std::nextafter(above, INFINITY));
        }
    }
    return all;
}

}  // namespace

TEST_CASE("exp: relative error, both ends, NaN") {
    const auto x = samples(4099, around({-87.5f, -87.33f, -87.0f, 88.37f, 88.722839f, 88.73f, 89.2f, -0.34657f, 0.34657f}));
    for (const auto &target : targets()) {
        INFO(target.to_string());
        const double growth = target.has_feature(Halide::Target::FMA) ? 1 / 40.0 : 1 / 2.0;
        const auto y = evaluate<float>([](const auto &v) { return exp_f32(v); }, x, target);
        double worst = 0;  // of the bound
        size_t wrong = 0;
        for (size_t i = 0; i < x.size(); i++) {
            const double exact = std::exp(double(x[i]));
            if (std::isnan(x[i])) {
                wrong += !std::isnan(y[i]);
            } else if (x[i] < -87.5f) {
                wrong += y[i] != 0;
            } else if (x[i] > 88.73f) {
                wrong += !std::isinf(y[i]);
            } else if (x[i] >= -86.98f && x[i] <= 88.72f) {
                const double bound = (1 + std::fabs(double(x[i])) * growth) * kEpsilon * exact;
                worst = std::max(worst, std::fabs(y[i] - exact) / bound);
            } else {  // the step to 0 or to infinity
                wrong += !(y[i] >= 0 && y[i] <= 2e-38) && !(y[i] > 3.39e38);
            }
        }
        CHECK(wrong == 0);
        CHECK(worst < 1);
        CHECK(worst > 0.4);  // the bound is not a wide one
    }
}

TEST_CASE("exp of what is not above 0: relative error, the end, NaN") {
    const auto x = samples(4099, around({-87.5f, -87.33f, -86.99f, -86.98f, -0.34657f, -1.03972f, 0.0f}));
    for (const auto &target : targets()) {
        INFO(target.to_string());
        const double growth = target.has_feature(Halide::Target::FMA) ? 1 / 40.0 : 1 / 2.0;
        const auto y = evaluate<float>([](const auto &v) { return exp_nonpositive_f32(v); }, x, target);
        double worst = 0;  // of the bound
        size_t wrong = 0;
        for (size_t i = 0; i < x.size(); i++) {
            const double exact = std::exp(double(x[i]));
            if (std::isnan(x[i])) {
                wrong += !std::isnan(y[i]);
            } else if (x[i] < -86.99f) {
                wrong += y[i] != 0;
            } else if (x[i] <= 1e-4f) {
                const double bound = (1 + std::fabs(double(x[i])) * growth) * kEpsilon * exact;
                worst = std::max(worst, std::fabs(y[i] - exact) / bound);
            }
        }
        CHECK(wrong == 0);
        CHECK(worst < 1);
        CHECK(worst > 0.4);  // the bound is not a wide one
    }
}

TEST_CASE("comparisons hold for NaN and infinity") {
    const auto x = samples(65537 * 3, around({0.0f, -5.5f}, 3));
    for (const auto &target : targets()) {
        INFO(target.to_string());
        const auto codes = evaluate<uint8_t>(
            [](const auto &v) {
                return Halide::cast<uint8_t>(Halide::select(is_nan_f32(v), 1, 0) + Halide::select(is_zero_f32(v), 2, 0) +
                                             Halide::select(is_minus_infinity_f32(v), 4, 0) + Halide::select(is_below_f32(v, -5.5f), 8, 0) +
                                             Halide::select(has_minus_f32(v), 16, 0));
            },
            x, target);
        size_t wrong = 0;
        for (size_t i = 0; i < x.size(); i++) {
            const bool nan = std::isnan(x[i]);
            const int want = (nan ? 1 : 0) + (x[i] == 0 ? 2 : 0) + (x[i] == -INFINITY || (nan && std::signbit(x[i])) ? 4 : 0) +
                             (x[i] < -5.5f ? 8 : 0) + (!nan && std::signbit(x[i]) ? 16 : 0);
            wrong += codes[i] != want;
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("activations keep NaN and have their limits") {
    const std::vector<float> x = samples(65537, around({0.0f, -5.5f, -10.0f, -87.0f}, 3));
    for (const auto &target : targets()) {
        for (const auto &a : activations()) {
            INFO(target.to_string() << " " << a.first);
            const auto y = evaluate<float>([&](const auto &v) { return activate(a.second, v); }, x, target);
            size_t wrong = 0;
            for (size_t i = 0; i < x.size(); i++) {
                if (std::isnan(x[i])) {
                    wrong += !std::isnan(y[i]);
                } else if (a.second == Activation::kLogRelu) {
                    const bool right =
                        x[i] <= 0 ? y[i] == -INFINITY : std::fabs(y[i] - std::log(double(x[i]))) <= 1e-6 * (1 + std::fabs(y[i]));
                    wrong += !(right || y[i] == x[i]);  // infinity
                } else if (a.second == Activation::kNone || x[i] > 100) {
                    wrong += y[i] != x[i];
                } else if (x[i] < -100 || x[i] == 0) {
                    wrong += y[i] != 0;
                }
            }
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("GELU for bf16: error, limits, NaN") {
    const auto x = samples(65537, around({0.0f, -4.3f, 4.3f, -4.15f, 4.15f}, 3));
    for (const auto &target : targets()) {
        for (Activation a : {Activation::kGeluErf, Activation::kGeluTanh}) {
            INFO(target.to_string() << (a == Activation::kGeluErf ? " erf" : " tanh"));
            const auto y = evaluate<float>([&](const auto &v) { return activate(a, v, {}, Halide::BFloat(16)); }, x, target);
            size_t wrong = 0;
            double worst = 0;  // of |x|
            for (size_t i = 0; i < x.size(); i++) {
                const double v = x[i];
                const double phi = a == Activation::kGeluErf ? 0.5 * std::erfc(-v / std::sqrt(2.0))
                                                             : 1 / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
                if (std::isnan(v)) {
                    wrong += !std::isnan(y[i]);
                } else if (std::isinf(v)) {
                    wrong += y[i] != (v > 0 ? INFINITY : 0);
                } else if (v < -5) {
                    wrong += y[i] != 0;
                } else if (v != 0) {
                    worst = std::max(worst, std::fabs(y[i] - v * phi) / std::max(std::fabs(v), 1e-30));
                }
            }
            CHECK(wrong == 0);
            CHECK(worst < 0x1p-16);
            CHECK(worst > 0x1p-18);
        }
    }
}

TEST_CASE("tanh, sin, cos, log and powers of fragments: errors, NaN, signs") {
    struct Function {
        const char *name;
        Fragment fragment;
        double (*exact)(double);
        double bound;   // of the result, in epsilons
        float largest;  // |x|
    };
    const Function functions[] = {
        {"tanh", [](const auto &v) { return tanh_f32(v); }, [](double v) { return std::tanh(v); }, 1.4, INFINITY},
        {"sin", [](const auto &v) { return sin_f32(v); }, [](double v) { return std::sin(v); }, 1.6, kLargestAngle},
        {"cos", [](const auto &v) { return cos_f32(v); }, [](double v) { return std::cos(v); }, 1.6, kLargestAngle},
        {"log", [](const auto &v) { return log_or_nan_f32(v); }, [](double v) { return std::log(v); }, 1.6, INFINITY},
        {"exp", [](const auto &v) { return exp_exact_f32(v); }, [](double v) { return std::exp(v); }, 0.6, INFINITY},
        {"pow", [](const auto &v) { return pow_f32(v, -7.25f); }, [](double v) { return std::pow(v, -7.25); }, 0.6, INFINITY},
    };
    const auto x = samples(65537, around({0.0f, 0.625f, 1.0f, 1e-4f, 1.5707964f, 3.1415927f, 102943.7f}));
    for (const auto &target : targets()) {
        for (const Function &f : functions) {
            INFO(target.to_string() << " " << f.name);
            const auto y = evaluate<float>(f.fragment, x, target);
            double worst = 0;
            size_t wrong = 0;
            for (size_t i = 0; i < x.size(); i++) {
                const double exact = f.exact(x[i]);
                if (!(std::fabs(x[i]) <= f.largest) && f.largest < INFINITY) {
                    continue;
                }
                if (std::isnan(exact)) {
                    wrong += !std::isnan(y[i]);
                } else if (exact == 0 || std::isinf(float(exact))) {
                    wrong += y[i] != float(exact) || std::signbit(y[i]) != std::signbit(exact);
                } else {
                    const double spacing = std::max(std::fabs(exact) * kEpsilon, 0x1p-149);
                    worst = std::max(worst, std::fabs(y[i] - exact) / spacing);
                }
            }
            CHECK(wrong == 0);
            CHECK(worst < f.bound);
            CHECK(worst > 0.3 * f.bound);
        }
    }
}

TEST_CASE("sin and cos of angles of f64 up to 2^20, in vectors and alone") {
    // As of a position and a frequency of f32: a product of two f32, exact in f64.
    constexpr float kFrequency = 0x1.fffffep-1f;
    const auto angle = [](const Halide::Expr &v) { return Halide::cast<double>(v) * Halide::Expr(double(kFrequency)); };
    auto x = samples(65537, around({0.0f, 1.5707964f, 3.1415927f, 102943.7f, 1048575.0f, 524288.5f}));
    for (int i = 0; i < 3000; i++) {
        x.push_back(float(1048576 - 317 * i));
    }
    for (const auto &target : targets()) {
        for (const int quarters : {0, 1}) {
            for (const Lanes lanes : {Lanes::kMany, Lanes::kOne}) {
                INFO(target.to_string() << " " << quarters << (lanes == Lanes::kOne ? " alone" : ""));
                const auto y = evaluate<float>([&](const auto &v) { return sin_quarters_f64(angle(v), quarters); }, x, target, lanes);
                double worst = 0;  // of epsilons
                for (size_t i = 0; i < x.size(); i++) {
                    const double a = double(x[i]) * double(kFrequency), exact = quarters == 0 ? std::sin(a) : std::cos(a);
                    if (std::fabs(a) <= kLargestWideAngle && std::fabs(exact) > 1e-30) {
                        worst = std::max(worst, std::fabs(y[i] - exact) / (std::fabs(exact) * kEpsilon));
                    }
                }
                CHECK(worst < 1.6);
                CHECK(worst > 0.5);
            }
        }
    }
}

TEST_CASE("what the compiler may order or fuse in two ways is rounded by itself, and nothing else is") {
    using namespace Halide;
    const Expr a = Internal::Variable::make(Float(32), "a"), b = Internal::Variable::make(Float(32), "b"),
               c = Internal::Variable::make(Float(32), "c"), d = Internal::Variable::make(Float(32), "d"),
               i = Internal::Variable::make(Int(32), "i");
    const auto ordered = [](const Expr &e) {
        std::ostringstream text;
        text << in_written_order(e);
        return text.str();
    };
    const auto same = [&](const Expr &e, const Expr &as) { return Internal::equal(in_written_order(e), as); };
    CHECK(same(a * b * c, own_product(a, b) * c));
    CHECK(same(a * (b * c), a * own_product(b, c)));
    CHECK(same(a + b + c, own_sum(a, b) + c));
    CHECK(same(a * b + c * d, a * b + own_product(c, d)));
    CHECK(same(a * b - c * d, a * b - own_product(c, d)));
    INFO(ordered(a - b - c) << " " << ordered(a / b * c));
    CHECK(same(a - b - c, Internal::Call::make(Float(32), Internal::Call::strict_sub, {a, b}, Internal::Call::PureIntrinsic) - c));
    CHECK(same(a / b * c, Internal::Call::make(Float(32), Internal::Call::strict_div, {a, b}, Internal::Call::PureIntrinsic) * c));
    for (const Expr &only :
         {Expr((a * b + c) * d + a), Expr((a + b) * c), Expr(a / (b + c)), Expr(i * i * i + i + 3), Expr(max(a * b, c) * d)}) {
        CHECK(same(only, only));
    }
}

TEST_CASE("quantize: ties to even, clamped, NaN is the zero point") {
    std::vector<float> halves;
    for (int i = -600; i <= 600; i++) {
        halves.push_back(0.5f * float(i));
    }
    const auto x = samples(65537, around(halves, 2));
    for (const auto &target : targets()) {
        for (int zero_point : {0, 3, -128, 127, 255}) {
            for (OutputType type : {OutputType::kU8, OutputType::kS8}) {
                INFO(target.to_string() << " zero point " << zero_point);
                const int low = type == OutputType::kU8 ? 0 : -128, high = low + 255;
                const auto y =
                    evaluate<int32_t>([&](const auto &v) { return Halide::cast<int32_t>(quantize(type, v, 1.0f, zero_point)); }, x, target);
                size_t wrong = 0;
                for (size_t i = 0; i < x.size(); i++) {
                    const double v = std::isnan(x[i]) ? 0 : std::nearbyint(double(x[i]));
                    wrong += y[i] != std::clamp(v + zero_point, double(low), double(high));
                }
                CHECK(wrong == 0);
            }
        }
    }
}

TEST_CASE("float8: nearest, ties to even, saturated, NaN stays") {
    for (const Float8 type : {Float8::kE4M3, Float8::kE5M2}) {
        const int digits = type == Float8::kE4M3 ? 3 : 2, bias = type == Float8::kE4M3 ? 7 : 15,
                  largest = type == Float8::kE4M3 ? 0x7e : 0x7b;
        std::vector<double> numbers;  // of bytes without a sign, in their order
        for (int byte = 0; byte <= largest; byte++) {
            const int exponent = byte >> digits, rest = byte & ((1 << digits) - 1);
            numbers.push_back(std::ldexp(exponent == 0 ? rest : rest + (1 << digits), std::max(exponent, 1) - bias - digits));
        }
        REQUIRE(numbers.back() == double(largest_float8(type)));
        std::vector<float> points = {0, INFINITY, -INFINITY};
        for (size_t i = 0; i + 1 < numbers.size(); i++) {
            for (double v : {numbers[i], (numbers[i] + numbers[i + 1]) / 2}) {
                points.insert(points.end(), {float(v), float(-v)});
            }
        }
        const auto x = samples(40009, around(points, 2));
        for (const auto &target : targets()) {
            INFO(target.to_string());
            const auto y = evaluate<uint8_t>([&](const auto &v) { return float8_of_f32(type, v); }, x, target);
            size_t wrong = 0;
            for (size_t i = 0; i < x.size(); i++) {
                if (std::isnan(x[i])) {
                    wrong += y[i] != 0x7f;
                    continue;
                }
                const double size = std::fabs(double(x[i]));
                size_t byte =
                    size_t(std::lower_bound(numbers.begin(), numbers.end(), size) - numbers.begin());  // the first that is as large
                if (byte == numbers.size()) {
                    byte--;
                } else if (byte > 0) {
                    const double below = size - numbers[byte - 1], above = numbers[byte] - size;
                    byte -= below < above || (below == above && byte % 2 == 1);
                }
                wrong += y[i] != (byte | (std::signbit(x[i]) ? 0x80 : 0));
            }
            CHECK(wrong == 0);
        }
    }
}
