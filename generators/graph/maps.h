#ifndef HALYARD_GRAPH_MAPS_H
#define HALYARD_GRAPH_MAPS_H

/** \file
 * Functions of single elements, by the names that a graph has for them.
 *
 * Halide's exp, log, pow, tanh, sin and cos of f32 become vector code in the plugin; those of f64 are calls of libm.
 */

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <Halide.h>

#include "math/activation.h"
#include "math/compare.h"

namespace halyard {

/** A call of the C library, as Halide has no such function. */
inline Halide::Expr of_libm(const std::string &name, const Halide::Expr &x) {
    using namespace Halide;
    const Expr wide = x.type() == Float(64) ? x : cast<double>(x);
    const Expr result = Internal::Call::make(Float(64), name, {wide}, Internal::Call::PureExtern);
    return x.type() == Float(64) ? result : cast<float>(result);
}

/** Integers are divided toward zero, as in C; by 0 to 0. */
inline Halide::Expr divided(const Halide::Expr &a, const Halide::Expr &b) {
    using namespace Halide;
    if (a.type().is_float()) {
        return a / b;
    }
    if (a.type().is_uint()) {
        return a / b;
    }
    const Expr size = abs(a) / abs(b);
    return select((a < 0) != (b < 0), -cast(a.type(), size), cast(a.type(), size));
}

/** The sign of the divisor, as in Python, or of the dividend, as fmod() in C: of floats that is exact, whatever their quotient. */
inline Halide::Expr remainder_of(const Halide::Expr &a, const Halide::Expr &b, bool as_c) {
    using namespace Halide;
    if (a.type().is_float()) {
        const Expr wide = Internal::Call::make(Float(64), "fmod", {cast<double>(a), cast<double>(b)}, Internal::Call::PureExtern);
        const Expr r = cast(a.type(), wide);
        return as_c ? r : select((b < 0) != (r < 0) && r != 0, r + b, r);
    }
    const Expr r = a % b;  // from 0 to |b|
    if (a.type().is_uint()) {
        return r;
    }
    return as_c ? select(a < 0 && r != 0, r - cast(a.type(), abs(b)), r) : select(b < 0 && r != 0, r + b, r);
}

inline Halide::Expr is_nan_of(const Halide::Expr &x) {
    using namespace Halide;
    if (x.type() == Float(64)) {
        return (reinterpret<int64_t>(x) & Internal::make_const(Int(64), 0x7fffffffffffffff)) >
               Internal::make_const(Int(64), 0x7ff0000000000000);
    }
    return is_nan_f32(cast<float>(x));
}

/** The smaller or the larger of two; a NaN where one of them is. */
template<typename F>
Halide::Expr one_of(const Halide::Expr &a, const Halide::Expr &b, const F &pick) {
    using namespace Halide;
    Expr result = pick(a, b);
    for (const Expr &e : {a, b}) {
        if (e.type().is_float() && !Internal::is_const(e)) {
            result = select(is_nan_of(e), e, result);
        }
    }
    return result;
}

/** A number of the same order as a float that is no NaN; both zeros have the same. Halide takes it that there are no infinities, and
 * models compare with them. */
inline Halide::Expr order_of(const Halide::Expr &x) {
    using namespace Halide;
    if (x.type() == Float(64)) {
        const Expr bits = reinterpret<int64_t>(x), size = bits & Internal::make_const(Int(64), 0x7fffffffffffffff);
        return select(bits < 0, -size, size);
    }
    const Expr bits = f32_bits(x), size = bits & 0x7fffffff;
    return select(bits < 0, -size, size);
}

/** Whether a constant is -infinity. */
inline bool is_minus_infinity(const Halide::Expr &e) {
    const auto number = Halide::Internal::as_const_float(e);
    return number && *number == -std::numeric_limits<double>::infinity();
}

/** x == -infinity. By its bits it is no equality, as LLVM would make one of x itself of that, and answer it with no. */
inline Halide::Expr equals_minus_infinity(const Halide::Expr &x) {
    using namespace Halide;
    if (x.type() == Float(64)) {
        return reinterpret<uint64_t>(x) >= Internal::make_const(UInt(64), 0xfff0000000000000) && !is_nan_of(x);
    }
    return is_minus_infinity_f32(cast<float>(x)) && !is_nan_of(x);
}

/** Compares floats by their order, and others as they are; a NaN is neither equal nor less. */
template<typename F>
Halide::Expr compared(const Halide::Expr &a, const Halide::Expr &b, const F &compare) {
    if (!a.type().is_float()) {
        return Halide::cast<uint8_t>(compare(a, b));
    }
    const auto constant = [](const Halide::Expr &e) {
        const auto number = Halide::Internal::as_const_float(e);
        return number && *number == *number;
    };
    Halide::Expr result = compare(order_of(a), order_of(b));
    result = constant(a) ? result : result && !is_nan_of(a);
    return Halide::cast<uint8_t>(constant(b) ? result : result && !is_nan_of(b));
}

/** Of numbers that may be truth values: uint8 that is 0 or 1. */
inline Halide::Expr truth(const Halide::Expr &condition) {
    return Halide::cast<uint8_t>(condition);
}

using Arguments = std::vector<Halide::Expr>;
using Numbers = std::function<double(const char *name)>;

/** The functions of two elements. */
inline const std::map<std::string, std::function<Halide::Expr(const Halide::Expr &, const Halide::Expr &)>> &binary_maps() {
    using namespace Halide;
    static const std::map<std::string, std::function<Expr(const Expr &, const Expr &)>> table = {
        {"add", [](const Expr &a, const Expr &b) { return a + b; }},
        {"sub", [](const Expr &a, const Expr &b) { return a - b; }},
        {"mul", [](const Expr &a, const Expr &b) { return a * b; }},
        {"div", [](const Expr &a, const Expr &b) { return divided(a, b); }},
        {"min", [](const Expr &a, const Expr &b) { return one_of(a, b, [](const Expr &x, const Expr &y) { return min(x, y); }); }},
        {"max", [](const Expr &a, const Expr &b) { return one_of(a, b, [](const Expr &x, const Expr &y) { return max(x, y); }); }},
        {"mod", [](const Expr &a, const Expr &b) { return remainder_of(a, b, false); }},
        {"fmod", [](const Expr &a, const Expr &b) { return remainder_of(a, b, true); }},
        {"equal",
         [](const Expr &a, const Expr &b) {
             if (is_minus_infinity(a) || is_minus_infinity(b)) {
                 return cast<uint8_t>(equals_minus_infinity(is_minus_infinity(a) ? b : a));
             }
             return compared(a, b, [](const Expr &x, const Expr &y) { return x == y; });
         }},
        {"less", [](const Expr &a, const Expr &b) { return compared(a, b, [](const Expr &x, const Expr &y) { return x < y; }); }},
        {"less_equal", [](const Expr &a, const Expr &b) { return compared(a, b, [](const Expr &x, const Expr &y) { return x <= y; }); }},
        {"and", [](const Expr &a, const Expr &b) { return a & b; }},
        {"or", [](const Expr &a, const Expr &b) { return a | b; }},
        {"xor", [](const Expr &a, const Expr &b) { return a ^ b; }},
        {"shift_left", [](const Expr &a, const Expr &b) { return a << b; }},
        {"shift_right", [](const Expr &a, const Expr &b) { return a >> b; }},
    };
    return table;
}

/** The functions of one element, of floats. */
inline const std::map<std::string, std::function<Halide::Expr(const Halide::Expr &)>> &unary_maps() {
    using namespace Halide;
    static const std::map<std::string, std::function<Expr(const Expr &)>> table = {
        {"exp", [](const Expr &x) { return exp(x); }},
        {"log", [](const Expr &x) { return log(x); }},
        {"sqrt", [](const Expr &x) { return sqrt(x); }},
        {"tanh", [](const Expr &x) { return tanh(x); }},
        {"sin", [](const Expr &x) { return sin(x); }},
        {"cos", [](const Expr &x) { return cos(x); }},
        {"tan", [](const Expr &x) { return tan(x); }},
        {"asin", [](const Expr &x) { return asin(x); }},
        {"acos", [](const Expr &x) { return acos(x); }},
        {"atan", [](const Expr &x) { return atan(x); }},
        {"sinh", [](const Expr &x) { return sinh(x); }},
        {"cosh", [](const Expr &x) { return cosh(x); }},
        {"asinh", [](const Expr &x) { return asinh(x); }},
        {"acosh", [](const Expr &x) { return acosh(x); }},
        {"atanh", [](const Expr &x) { return atanh(x); }},
        {"erf", [](const Expr &x) { return x.type() == Float(64) ? of_libm("erf", x) : select(is_nan_f32(x), x, erf_f32(x)); }},
        {"floor", [](const Expr &x) { return floor(x); }},
        {"ceil", [](const Expr &x) { return ceil(x); }},
        {"round", [](const Expr &x) { return round(x); }},  // halves to the even number
        {"sigmoid",
         [](const Expr &x) {
             return x.type() == Float(64) ? Internal::make_const(Float(64), 1) / (Internal::make_const(Float(64), 1) + exp(-x))
                                          : sigmoid(x);
         }},
        // log(1 + e^x), where no exponential overflows.
        {"softplus",
         [](const Expr &x) {
             const Expr one = cast(x.type(), 1);
             return max(x, cast(x.type(), 0)) + log(one + exp(-abs(x)));
         }},
    };
    return table;
}

/** `type` is the result's. Halves are computed as f32. */
inline Halide::Expr map_elements(const std::string &fn, Arguments in, const Halide::Type &type) {
    using namespace Halide;
    const Type stored = in.back().type();
    const bool half = stored.is_float() && stored.bits() < 32;
    for (Expr &e : in) {
        e = half && e.type() == stored ? cast<float>(e) : e;
    }
    const Expr &x = in[0];
    const Type t = x.type();
    const auto finished = [&](const Expr &e) { return cast(type, e); };
    if (const auto f = binary_maps().find(fn); f != binary_maps().end() && in.size() == 2) {
        return finished(f->second(in[0], in[1]));
    }
    if (const auto f = unary_maps().find(fn); f != unary_maps().end() && in.size() == 1) {
        return finished(f->second(x));
    }
    if (fn == "identity") {
        return finished(x);
    } else if (fn == "cast") {
        return finished(x);
    } else if (fn == "truth") {
        return truth(x != cast(t, 0));
    } else if (fn == "not") {
        return truth(x == cast(t, 0));
    } else if (fn == "invert") {
        return finished(~x);
    } else if (fn == "where") {
        return finished(select(x != cast(t, 0), in[1], in[2]));
    } else if (fn == "neg") {
        return finished(-x);
    } else if (fn == "abs") {
        return finished(t.is_uint() ? x : cast(t, abs(x)));
    } else if (fn == "sign") {
        const Expr zero = cast(t, 0), one = cast(t, 1);
        return finished(select(x > zero, one, x < zero, t.is_uint() ? zero : -one, zero));
    } else if (fn == "relu") {
        return finished(t == Float(32) ? select(has_minus_f32(x), 0.0f, x) : max(x, cast(t, 0)));
    } else if (fn == "isnan") {
        return truth(is_nan_of(x));
    } else if (fn == "gelu") {
        return finished(t == Float(32) ? activate(Activation::kGeluErf, x)
                                       : x * (of_libm("erf", x * Expr(0.70710678118654752)) + Expr(1.0)) * Expr(0.5));
    } else if (fn == "pow") {
        if (in[1].type().is_float() && t.is_float()) {
            return finished(pow(x, cast(t, in[1])));
        }
        return finished(pow(t.is_float() ? x : cast<double>(x), cast(t.is_float() ? t : Float(64), in[1])));
    }
    throw CompileError("a graph has no function \"" + fn + "\"");
}

}  // namespace halyard

#endif
