#include "lowering/cuda/tensor_cores/fused_terms.h"

#include <algorithm>

#include "lowering/cuda/tensor_cores/fused_parts.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

void terms_of(const Expr &e, std::vector<Expr> &terms) {
    if (const auto *add = e.as<Add>()) {
        terms_of(add->a, terms);
        terms_of(add->b, terms);
    } else {
        terms.push_back(e);
    }
}

Expr sum_of(const std::vector<Expr> &terms) {
    Expr sum;
    for (const auto &t : terms) {
        sum = sum.defined() ? sum + t : t;
    }
    return sum;
}

}  // namespace

const Call *exponential(const Expr &e) {
    const auto *call = e.as<Call>();
    return call && call->name == "exp2_f32" ? call : nullptr;
}

void factors_of(const Expr &e, std::vector<Expr> &factors) {
    if (const auto *mul = e.as<Mul>()) {
        factors_of(mul->a, factors);
        factors_of(mul->b, factors);
    } else {
        factors.push_back(e);
    }
}

Expr product_of(const std::vector<Expr> &factors) {
    Expr product = 1.0f;
    for (const auto &f : factors) {
        product = is_const_one(product) ? f : product * f;
    }
    return product;
}

LinearIn linear_in(const Expr &value, const std::string &name) {
    std::vector<Expr> terms, others;
    terms_of(value, terms);
    LinearIn result;
    for (const auto &t : terms) {
        if (!held_in(t).count(name)) {
            others.push_back(t);
            continue;
        }
        std::vector<Expr> factors, rest;
        factors_of(t, factors);
        const auto is_it = [&](const Expr &f) {
            const auto *load = f.as<Load>();
            return load && load->name == name;
        };
        if (result.factor.defined() || std::count_if(factors.begin(), factors.end(), is_it) != 1) {
            return {};
        }
        std::copy_if(factors.begin(), factors.end(), std::back_inserter(rest), [&](const Expr &f) { return !is_it(f); });
        result.factor = product_of(rest);
        if (varies_in_row(result.factor) || held_in(result.factor).count(name)) {
            return {};
        }
    }
    result.rest = sum_of(others);
    return result;
}

}  // namespace halyard
