#include "language/exact_numbers.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// What a number may be. Doubles tell what fits: a power of two is exact in them.
struct Range {
    double least, most;

    bool within(double lowest, double highest) const {
        return least >= lowest && most <= highest;
    }
};

constexpr double kMost32 = 2147483647.0, kLeast32 = -2147483648.0;
constexpr int64_t kOfSums = int64_t(1) << 61, kOfFactors = INT32_MAX;  // what the operands end at

Range range_of(const Expr &e);

Range around(std::initializer_list<double> values) {
    return {std::min(values), std::max(values)};
}

Range sum(const Range &a, const Range &b) {
    return {a.least + b.least, a.most + b.most};
}

Range difference(const Range &a, const Range &b) {
    return {a.least - b.most, a.most - b.least};
}

Range product(const Range &a, const Range &b) {
    return around({a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most});
}

// The quotient is no further from 0 than a, but where it is rounded down to -1.
Range quotient(const Range &a, const Range &b) {
    if (b.least >= 1) {
        return around({std::floor(a.least / b.least), std::floor(a.least / b.most), a.most / b.least, a.most / b.most, 0});
    }
    const double most = std::max(std::fabs(a.least), std::fabs(a.most));
    return {std::min(a.least >= 0 && b.least >= 0 ? 0 : -most, 0.0), most};
}

Range remainder(const Range &b) {
    return {0, std::max({std::fabs(b.least), std::fabs(b.most), 1.0}) - 1};
}

Range either(const Range &a, const Range &b) {
    return {std::min(a.least, b.least), std::max(a.most, b.most)};
}

Range range_of(const Expr &e) {
    if (const auto v = as_const_int(e)) {
        return {double(*v), double(*v)};
    }
    if (const auto *op = e.as<Variable>()) {
        // Calls with other extents are errors.
        return {op->param.defined() && op->param.is_buffer() && op->name.find(".extent.") != std::string::npos ? 0 : kLeast32, kMost32};
    }
    if (const auto *op = e.as<Cast>()) {
        return op->value.type() == Int(32) || op->value.type() == Int(64) ? range_of(op->value) : Range{kLeast32, kMost32};
    }
    if (const auto *op = e.as<Add>()) {
        return sum(range_of(op->a), range_of(op->b));
    }
    if (const auto *op = e.as<Sub>()) {
        return difference(range_of(op->a), range_of(op->b));
    }
    if (const auto *op = e.as<Mul>()) {
        return product(range_of(op->a), range_of(op->b));
    }
    if (const auto *op = e.as<Div>()) {
        return quotient(range_of(op->a), range_of(op->b));
    }
    if (const auto *op = e.as<Mod>()) {
        return remainder(range_of(op->b));
    }
    if (const auto *op = e.as<Min>()) {
        const Range a = range_of(op->a), b = range_of(op->b);
        return {std::min(a.least, b.least), std::min(a.most, b.most)};
    }
    if (const auto *op = e.as<Max>()) {
        const Range a = range_of(op->a), b = range_of(op->b);
        return {std::max(a.least, b.least), std::max(a.most, b.most)};
    }
    if (const auto *op = e.as<Select>()) {
        return either(range_of(op->true_value), range_of(op->false_value));
    }
    return e.type() == Int(64) ? Range{-std::ldexp(1.0, 62), std::ldexp(1.0, 62)} : Range{kLeast32, kMost32};
}

bool is_number(const Expr &e) {
    return e.type() == Int(32) || e.type() == Int(64);
}

void widen(Expr &a, Expr &b) {
    a = cast<int64_t>(a);
    b = cast<int64_t>(b);
}

// Of different numbers of bits, both with 64.
void match(Expr &a, Expr &b) {
    if (is_number(a) && is_number(b) && a.type() != b.type()) {
        widen(a, b);
    }
}

// Only on the sides that need it: Halide tries both sides of each minimum and maximum.
Expr ending_at(Expr e, int64_t most) {
    const Range range = range_of(e);
    if (range.most > double(most)) {
        e = min(e, make_const(Int(64), most));
    }
    return range.least < double(-most) ? max(e, make_const(Int(64), -most)) : e;
}

// Has both operands as many bits as the result wants.
void make_room(Expr &a, Expr &b, const Range &result, int64_t most) {
    if (!is_number(a) || !is_number(b)) {
        return;
    }
    if (!result.within(kLeast32, kMost32)) {
        widen(a, b);
    }
    match(a, b);
    if (a.type() == Int(64) && !result.within(-std::ldexp(1.0, 62), std::ldexp(1.0, 62))) {
        a = ending_at(a, most);
        b = ending_at(b, most);
    }
}

// The lowest number by -1 is no number of as many bits, and processors end a program that divides so.
void make_room_to_divide(Expr &a, Expr &b) {
    const Range x = range_of(a), y = range_of(b);
    if (is_number(a) && is_number(b) && x.least <= kLeast32 && y.least <= -1 && y.most >= -1) {
        widen(a, b);
    }
    match(a, b);
}

}  // namespace

Expr exact_sum(Expr a, Expr b) {
    make_room(a, b, sum(range_of(a), range_of(b)), kOfSums);
    return a + b;
}

Expr exact_difference(Expr a, Expr b) {
    make_room(a, b, difference(range_of(a), range_of(b)), kOfSums);
    return a - b;
}

Expr exact_product(Expr a, Expr b) {
    make_room(a, b, product(range_of(a), range_of(b)), kOfFactors);
    return a * b;
}

Expr exact_quotient(Expr a, Expr b) {
    make_room_to_divide(a, b);
    return a / b;
}

Expr exact_remainder(Expr a, Expr b) {
    make_room_to_divide(a, b);
    return a % b;
}

Expr exact_select(const Expr &condition, Expr yes, Expr no) {
    match(yes, no);
    return select(condition, yes, no);
}

Expr in_32_bits(const Expr &e) {
    return cast<int32_t>(e);
}

Expr exact_of(const Expr &e) {
    const auto *narrow = e.as<Cast>();
    return narrow && narrow->value.type() == Int(64) ? narrow->value : e;
}

}  // namespace halyard
