#ifndef HALYARD_TESTS_OPS_LINEAR_H
#define HALYARD_TESTS_OPS_LINEAR_H

/** \file
 * What the tests of ops with a matrix product share: weights in their layouts, references in float64,
 * and how far off f32 may be.
 */

#include <algorithm>
#include <cmath>
#include <vector>

#include "block_weights.h"
#include "epilogue.h"

namespace ops_test {

inline bool is_packed(const std::string &argument) {
    return argument.size() > 7 && argument.compare(argument.size() - 7, 7, "_packed") == 0;
}

/** A column of the weights called `name`, k x n, in whichever layout the build has them. */
inline const double *column(const Problem &p, const std::string &name, int col) {
    auto found = p.made.find(name);
    if (found == p.made.end() && p.has(name + "_packed")) {
        const Tensor &w = p[name + "_packed"];
        const int group = w.extents[0], panel = w.extents[1], depth = group * w.extents[2], columns = panel * w.extents[3];
        Tensor all = {{depth, columns}, {}};
        for (int c = 0; c < columns; c++) {
            for (int k = 0; k < depth; k++) {
                all.values.push_back(w(k % group, c % panel, k / group, c / panel));
            }
        }
        found = p.made.emplace(name, std::move(all)).first;
    } else if (found == p.made.end()) {
        found = p.made.emplace(name, p[name + "_nk"]).first;
    }
    return found->second.row(col);
}

inline void set_weight(KernelArguments &arguments, const std::string &name, int k, int col, double value) {
    if (HostBuffer *w = find_buffer(arguments, name + "_packed")) {
        const int group = w->extents()[0], panel = w->extents()[1];
        w->set({k % group, col % panel, k / group, col / panel}, value);
    } else if (HostBuffer *t = find_buffer(arguments, name + "_nk")) {
        t->set({k, col}, value);
    }
}

/** What fills up packed weights must not matter: it is NaN. */
inline void spoil_padding(KernelArguments &arguments, const std::string &name, int64_t rows, int64_t columns) {
    HostBuffer *w = find_buffer(arguments, name + "_packed");
    if (!w) {
        return;
    }
    const int group = w->extents()[0], panel = w->extents()[1];
    for (int col = 0; col < panel * w->extents()[3]; col++) {
        for (int k = 0; k < group * w->extents()[2]; k++) {
            if (col >= columns || k >= rows) {
                w->set({k % group, col % panel, k / group, col / panel}, kNaN);
            }
        }
    }
}

/** Small integers in place of what is there, for results without rounding. */
inline void make_integers(HostBuffer *buffer, double range, double unit) {
    if (buffer) {
        std::vector<double> values = buffer->values();
        for (double &v : values) {
            v = std::isnan(v) ? v : std::floor(v * (range + 0.5) + 0.5) * unit;
        }
        buffer->assign(values);
    }
}

/** An exact number, and how far off it f32 may be. A sum of products is off by as many roundings as it has
 * terms, each of the size of the sum of their magnitudes; of one product that f32 holds, by none. */
struct Inexact {
    double value = 0, error = 0;
};

inline Inexact sum_of_products(int depth, const double *x, const double *w) {
    double sum = 0, sum_abs = 0;
    int terms = 0;
    for (int k = 0; k < depth; k++) {
        const double product = x[k] * w[k];
        sum += product;
        sum_abs += std::fabs(product);
        terms += product != 0;
    }
    const bool exact = terms <= 1 && double(float(sum)) == sum;
    return {sum, exact ? 0 : (depth + 1) * kRoundoff * sum_abs};
}

/** Row `row` of x times column `col` of w, plus bias[col] if there is one. */
inline Inexact linear(const Problem &p, const std::string &x, int row, const std::string &w, int col, int depth, const std::string &bias) {
    Inexact y;
    if (in_blocks(p, w)) {
        const Expected product = block_product(p, multiplied_row(p, p[x].row(row), depth), w, col, depth);
        y = {product.value, product.error};
    } else {
        y = sum_of_products(depth, p[x].row(row), column(p, w, col));
    }
    if (p.has(bias)) {
        const double b = p[bias](col);
        y.error += 2 * kRoundoff * (std::fabs(y.value) + std::fabs(b));
        y.value += b;
    }
    return y;
}

inline Inexact activated(const std::string &name, const Inexact &linear) {
    const Expected y = activated(name, linear.value, linear.error);
    return {y.value, y.error};
}

inline Inexact times(const Inexact &a, const Inexact &b) {
    const double value = a.value * b.value;
    const double error = std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error;
    return {value, error + kRoundoff * std::fabs(value) + 1e-37};
}

inline Inexact plus(const Inexact &a, double b) {
    return {a.value + b, a.error + 2 * kRoundoff * (std::fabs(a.value) + std::fabs(b))};
}

/** 1 / sqrt(mean(x^2) + eps) of a row. The squares are positive, so their sum is off by as many
 * roundings as it has terms, halved by the root. */
inline Inexact inverse_rms(const Problem &p, const std::string &x, int row, int depth) {
    const double *values = p[x].row(row);
    double sum = 0;
    for (int k = 0; k < depth; k++) {
        sum += values[k] * values[k];
    }
    const double inv = 1 / std::sqrt(sum / std::max(depth, 1) + p.scalar("eps", 0));
    return {inv, (depth / 2.0 + 8) * kRoundoff * inv};
}

/** A row of x, times the weights of its elements where there are any. */
inline std::vector<double> weighted(const Problem &p, const std::string &x, int row, int depth) {
    std::vector<double> values(p[x].row(row), p[x].row(row) + depth);
    for (int k = 0; p.has("weight") && k < depth; k++) {
        values[size_t(k)] *= p["weight"](k);
    }
    return values;
}

/** Off by more than rounding for what is not finite is not defined: exact there. */
inline Expected expect(const Inexact &y) {
    return {y.value, std::isfinite(y.value) ? y.error : 0};
}

inline std::string param(const Problem &p, const std::string &name, const std::string &otherwise) {
    const auto found = p.params.find(name);
    return found == p.params.end() ? otherwise : found->second;
}

/** Sizes of m, n and k at which tiles, panels and groups, or blocks, go wrong. */
inline std::vector<Dims> product_sizes(const std::string &m, const std::string &n, const std::string &k);
inline std::vector<Dims> product_sizes(const Assignments &build, const std::string &m, const std::string &n, const std::string &k) {
    return has_blocks(variant_of(build)) ? block_sizes(build, m, n, k) : product_sizes(m, n, k);
}

/** Sizes at which tiles, panels and groups do. */
inline std::vector<Dims> product_sizes(const std::string &m, const std::string &n, const std::string &k) {
    const std::vector<int> rows = {1, 2, 3, 4, 5, 7, 8, 9, 13, 17, 33, 65};
    const std::vector<int> depths = {1, 2, 7, 8, 16, 33, 64, 129, 15, 17};
    const std::vector<int> columns = {1, 7, 16, 17, 31, 47, 48, 49, 64, 65, 96, 97, 129, 300};
    std::vector<Dims> sizes;
    for (size_t i = 0; i < columns.size(); i++) {
        sizes.push_back({{m, cycle(rows, i)}, {n, columns[i]}, {k, cycle(depths, i)}});
    }
    sizes.push_back({{m, 11}, {n, 50}, {k, 0}});
    sizes.push_back({{m, 150}, {n, 50}, {k, 5}});
    return sizes;
}

/** x [>= 5, 11] with NaN, infinities, and large and small numbers in its rows. */
inline void special_rows(KernelArguments &arguments, const Dims &) {
    HostBuffer &x = arguments.buffer("x");
    x.set({2, 0}, kNaN);
    x.set({0, 3}, kInfinity);
    x.set({4, 5}, -kInfinity);
    x.set({4, 7}, kNaN);
    x.set({1, 10}, kNaN);
    for (int k = 0; k < x.extents()[0]; k++) {
        x.set({k, 6}, 60000);
        x.set({k, 8}, 6e-8);
        x.set({k, 9}, 0);
    }
}

}  // namespace ops_test

#endif
