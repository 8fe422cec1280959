#include "lowering/cuda/print/bytes.h"

#include "lowering/cuda/print/print_expr.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool is_vector_of_halves(const Type &t) {
    return t.is_vector() && t.is_float() && t.bits() == 16;
}

std::string template_of(const std::string &word, int argument) {
    return word + "<" + std::to_string(argument) + ">";
}

std::optional<int> log2_of(const Expr &e) {
    const auto c = as_const_uint(e);
    int n = 0;
    while (c && n < 7 && (uint64_t(1) << n) < *c) {
        n++;
    }
    return c && *c == uint64_t(1) << n ? std::optional<int>(n) : std::nullopt;
}

bool is_small(const Expr &e) {
    if (const auto *select = e.as<Select>()) {
        return is_small(select->true_value) && is_small(select->false_value);
    }
    const auto part = part_of_bytes(e);
    return part && part->is_small;
}

// A number from 0 to 127 that is taken from all.
std::optional<int> zero_of(const Expr &all, double sign) {
    const auto *same = all.as<Broadcast>();
    const auto *number = same ? same->value.as<FloatImm>() : nullptr;
    const double zero = number ? sign * number->value : -1;
    return zero >= 0 && zero < 128 && zero == int(zero) ? std::optional<int>(int(zero)) : std::nullopt;
}

// The 16-bit floats that e is the floats of.
Expr narrow(const Expr &e, const Type &t) {
    const auto *same = e.as<Broadcast>();
    const auto *cast = (same ? same->value : e).as<Cast>();
    if (!cast || cast->value.type() != t.with_lanes(cast->value.type().lanes())) {
        return Expr();
    }
    return same ? Broadcast::make(cast->value, same->lanes) : cast->value;
}

std::optional<PairArithmetic> arithmetic(const Expr &e) {
    if (const auto *product = e.as<Mul>()) {
        return PairArithmetic{"multiply_pairs", product->a, product->b};
    }
    if (const auto *sum = e.as<Add>()) {
        return PairArithmetic{"add_pairs", sum->a, sum->b};
    }
    if (const auto *difference = e.as<Sub>()) {
        return PairArithmetic{"subtract_pairs", difference->a, difference->b};
    }
    return std::nullopt;
}

}  // namespace

std::optional<PartOfBytes> part_of_bytes(const Expr &e) {
    if (!e.type().is_vector() || e.type().element_of() != UInt(8)) {
        return std::nullopt;
    }
    if (const auto *rest = e.as<Mod>()) {
        if (const auto n = log2_of(rest->b)) {
            return PartOfBytes{template_of("mask_words", (1 << *n) - 1), rest->a, true};
        }
    }
    if (const auto *quotient = e.as<Div>()) {
        if (const auto n = log2_of(quotient->b)) {
            return PartOfBytes{template_of("shift_words_right", *n), quotient->a, *n > 0};
        }
    }
    const auto *call = e.as<Call>();
    const auto bits = call && call->args.size() == 2 ? as_const_uint(call->args[1]) : std::nullopt;
    if (bits && call->is_intrinsic(Call::bitwise_and)) {
        return PartOfBytes{template_of("mask_words", int(*bits)), call->args[0], *bits < 128};
    }
    if (bits && *bits < 8 && call->is_intrinsic(Call::shift_right)) {
        return PartOfBytes{template_of("shift_words_right", int(*bits)), call->args[0], *bits > 0};
    }
    return std::nullopt;
}

std::optional<BytesToFloats> bytes_to_floats(const Expr &e) {
    const Type t = e.type();
    if (!is_vector_of_halves(t)) {
        return std::nullopt;
    }
    const std::string to = "bytes_to_" + type_text(t.element_of());
    if (const auto *cast = e.as<Cast>()) {
        const Type from = cast->value.type();
        if (!from.is_int_or_uint() || from.bits() != 8) {
            return std::nullopt;
        }
        return BytesToFloats{is_small(cast->value) ? template_of("small_" + to, 0) : to, cast->value};
    }
    const auto *sum = e.as<Add>();
    const auto *difference = e.as<Sub>();
    if (!sum && !difference) {
        return std::nullopt;
    }
    const auto *cast = (sum ? sum->a : difference->a).as<Cast>();
    const auto zero = sum ? zero_of(sum->b, -1) : zero_of(difference->b, 1);
    return cast && is_small(cast->value) && zero ? std::optional<BytesToFloats>({template_of("small_" + to, *zero), cast->value})
                                                 : std::nullopt;
}

Expr whole_of_upper_halves(const Reinterpret *floats) {
    const auto *bits = is_vector_of_halves(floats->type) ? floats->value.as<Cast>() : nullptr;
    if (!bits || bits->type.element_of() != UInt(16) || bits->value.type().element_of() != UInt(32)) {
        return Expr();
    }
    const auto *quotient = bits->value.as<Div>();
    const auto *shift = Call::as_intrinsic(bits->value, {Call::shift_right});
    const bool is_upper = (quotient && as_const_uint(quotient->b) == 65536u) || (shift && as_const_uint(shift->args[1]) == 16u);
    return !is_upper ? Expr() : quotient ? quotient->a : shift->args[0];
}

std::optional<PairArithmetic> pair_arithmetic(const Expr &e) {
    const Type t = e.type();
    if (!is_vector_of_halves(t)) {
        return std::nullopt;
    }
    const auto *cast = e.as<Cast>();
    if (!cast || cast->value.type() != Float(32, t.lanes())) {
        return arithmetic(e);
    }
    auto of_floats = arithmetic(cast->value);
    if (of_floats) {
        of_floats->a = narrow(of_floats->a, t), of_floats->b = narrow(of_floats->b, t);
    }
    return of_floats && of_floats->a.defined() && of_floats->b.defined() ? of_floats : std::nullopt;
}

}  // namespace halyard
