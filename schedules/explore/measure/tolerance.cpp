#include "explore/measure/tolerance.h"

#include <algorithm>
#include <cmath>

namespace halyard::explore {

namespace {

struct Own {
    const char *op;
    double factor;  // on the epsilons of its sums
};

// What an op needs beyond the rule below, and why.
const Own kOwn[] = {
    // Mean and variance are sums of their own before the element is computed from both; a mean near 0 cancels.
    {"layer_norm", 4},
    {"group_norm", 4},
    // An exp of a sum: an error of the logit is one of the weight, times the size of the logit.
    {"attention", 8},
    {"decode_attention", 8},
    // Two products after one another, the second over what the first rounded.
    {"swiglu_mlp", 4},
    // An element of the first that is rounded to 8 bits may lie on either side of a half: a step of 1/127 of its row's largest.
    {"swiglu_mlp_int8", 400},
};

double epsilon_of(const halide_type_t &type) {
    if (type.code == halide_type_bfloat) {
        return 0x1p-7;
    }
    return type.code != halide_type_float ? 0 : type.bits == 16 ? 0x1p-10 : type.bits == 32 ? 0x1p-23 : 0x1p-52;
}

}  // namespace

Tolerance tolerance_of(const std::string &op, const CompiledKernel &kernel, double flops_an_element, bool floats) {
    Tolerance t;
    const bool between = floats;
    for (const auto &a : kernel.arguments()) {
        const double epsilon = epsilon_of(a.type);
        floats = floats || epsilon > 0;
        t.storage = std::max(t.storage, epsilon);
    }
    // Rounding errors of a sum of n terms in another order walk at random: the square root of n, four times for the
    // worst of many elements; and some for functions that are not exact.
    t.epsilons = 16 + 4 * std::sqrt(std::max(flops_an_element, 0.0));
    for (const Own &own : kOwn) {
        t.epsilons *= op == own.op ? own.factor : 1;
    }
    // A value halfway between two steps goes either way; of two columns that are nearly equal either may be the larger.
    t.steps = floats ? 1 : 0;
    t.strangers = floats ? 0.01 : 0;
    // An ulp of an index that is rounded may be another entry of a table: of one element in ten thousand, fewer than an edge has.
    t.jumps = between ? 1e-4 : 0;
    return t;
}

}  // namespace halyard::explore
