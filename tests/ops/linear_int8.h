#ifndef HALYARD_TESTS_OPS_LINEAR_INT8_H
#define HALYARD_TESTS_OPS_LINEAR_INT8_H

/** \file
 * What the tests of ops with products of 8 bits share: inputs that fit each other, and references in float64.
 */

#include <cmath>
#include <string>
#include <vector>

#include "linear.h"

namespace ops_test {

/** What a build gives of the rows of its products, and of their output. */
inline std::vector<Choice> int8_choices(const std::string &rows) {
    return {{rows + "_type", {"uint8", "int8"}},
            {"type", {"float32", "float16", "bfloat16"}},
            {"output", {"same", "float32", "uint8", "int8"}},
            {"scaling", {"tensor", "row"}},
            {"zero_point", {"false", "true"}},
            {"add_bias", {"false", "true"}}};
}

/** NAME_sum: the sums of the columns of weights as they are now. */
inline void set_column_sums(KernelArguments &arguments, const std::string &name, int64_t depth) {
    HostBuffer *sums = find_buffer(arguments, name + "_sum"), *packed = find_buffer(arguments, name + "_packed");
    if (!sums) {
        return;
    }
    const HostBuffer &weights = packed ? *packed : arguments.buffer(name + "_nk");
    const Tensor w = {weights.extents(), weights.values()};
    for (int col = 0; col < sums->extents()[0]; col++) {
        double sum = 0;
        for (int k = 0; k < depth; k++) {
            const int group = w.extents[0], panel = w.extents[1];
            sum += packed ? w(k % group, col % panel, k / group, col / panel) : w(k, col);
        }
        sums->set({col}, sum);
    }
}

/** The scales of a matrix of weights, and its sums. */
inline void fill_weights(KernelArguments &arguments, const std::string &name, int64_t depth, uint64_t seed) {
    arguments.buffer(name + "_scale").fill_random(seed, 0.001, 0.02);
    set_column_sums(arguments, name, depth);
}

/** The scales and zero points of rows, where each has its own. */
inline void fill_rows(KernelArguments &arguments, const std::string &name) {
    if (HostBuffer *scales = find_buffer(arguments, name + "_scale_row")) {
        scales->fill_random(6, 0.001, 0.02);
    }
    if (HostBuffer *zero_points = find_buffer(arguments, name + "_zero_point_row")) {
        zero_points->fill_random(7, -100, 200);
    }
}

/** Weights with products as large as they get: where sums of two are kept in 16 bits, they saturate. */
inline void make_extreme(KernelArguments &arguments, const std::string &name, int64_t depth) {
    for (const char *layout : {"_packed", "_nk"}) {
        if (HostBuffer *w = find_buffer(arguments, name + layout)) {
            w->fill(-128);
        }
    }
    set_column_sums(arguments, name, depth);
}

/** The same of rows in 8 bits, and of their weights. */
inline void make_extreme(KernelArguments &arguments, const std::string &rows, const std::vector<std::string> &weights, int64_t depth) {
    HostBuffer &x = arguments.buffer(rows);
    x.fill(x.type().code == halide_type_uint ? 255 : -128);
    for (const auto &name : weights) {
        make_extreme(arguments, name, depth);
    }
}

/** Null where the problem has no such input. */
inline const Tensor *find_input(const Problem &p, const std::string &name) {
    return p.has(name) ? &p[name] : nullptr;
}

/** Rows of x times columns of w, both in 8 bits. What they are made of is looked up once: by name for each element, that took
 * longer than the products. */
class ProductInt8 {
    const Tensor &rows, &column_scales, *row_zero_points, *row_scales;
    double zero_point, scale;
    const double *columns;
    int64_t stride;  // from a column to the next
    int depth;

public:
    ProductInt8(const Problem &p, const std::string &x, const std::string &w, int depth)
        : rows(p[x]), column_scales(p[w + "_scale"]), row_zero_points(find_input(p, x + "_zero_point_row")),
          row_scales(find_input(p, x + "_scale_row")), zero_point(p.scalar(x + "_zero_point", 0)), scale(p.scalar(x + "_scale", 1)),
          columns(column(p, w, 0)), stride(p.made.at(w).extents[0]), depth(depth) {}

    /** The sum of a row, without its zero point, times a column: exact, then rounded to f32. */
    Inexact sum(int row, int col) const {
        const double zero = row_zero_points ? (*row_zero_points)(row) : zero_point;
        const double *of_x = rows.row(row), *of_w = columns + int64_t(col) * stride;
        double sum = 0;
        for (int k = 0; k < depth; k++) {
            sum += (of_x[k] - zero) * of_w[k];
        }
        return {sum, kRoundoff * std::fabs(sum)};
    }

    /** What 1 in such a sum stands for. */
    double unit(int row, int col) const {
        return (row_scales ? (*row_scales)(row) : scale) * column_scales(col);
    }

    /** Such a sum times its unit, plus the column's bias if there is one. */
    Inexact linear(int row, int col, const Tensor *bias) const {
        const double value = sum(row, col).value * unit(row, col);
        const Inexact product = {value, 5 * kRoundoff * std::fabs(value)};
        return bias ? plus(product, (*bias)(col)) : product;
    }
};

/** A row rounded to int8 by the scale that takes its largest to 127: the integers, by how much each may differ, as f32 may
 * end on the other side of a half, and the scale. A row with a NaN or an infinity has none. */
struct QuantizedRow {
    std::vector<double> q, off;
    Inexact scale;
};

inline QuantizedRow quantize_row(const std::vector<Inexact> &row) {
    double low = 0, peak = 0, high = 0;  // the largest, and where f32 may have it
    bool finite = true;
    for (const Inexact &v : row) {
        finite = finite && std::isfinite(v.value);
        low = std::max(low, std::fabs(v.value) - v.error);
        peak = std::max(peak, std::fabs(v.value));
        high = std::max(high, std::fabs(v.value) + v.error);
    }
    if (!finite) {
        return {std::vector<double>(row.size()), std::vector<double>(row.size()), {kNaN, 0}};
    }
    QuantizedRow y;
    y.scale = {peak / 127, (high - low + 2 * kRoundoff * high) / 127};
    for (const Inexact &v : row) {
        const double q = peak > 0 ? v.value * 127 / peak : 0;
        const double error = low > 0 ? (127 * v.error + std::fabs(q) * (high - low)) / low + 3 * kRoundoff * std::fabs(q) : 127;
        const auto rounded = [](double x) { return std::nearbyint(std::clamp(x, -127.0, 127.0)); };
        y.q.push_back(rounded(q));
        y.off.push_back(std::max(rounded(q + error) - rounded(q), rounded(q) - rounded(q - error)));
    }
    return y;
}

/** Such a row times column `col` of w. The sum is exact but for what the row may be off. */
inline Inexact linear_int8(const Problem &p, const QuantizedRow &x, const Inexact &scale, const std::string &w, int col) {
    const double *of_w = column(p, w, col);
    Inexact sum;
    for (size_t k = 0; k < x.q.size(); k++) {
        const double v = of_w[k];
        sum.value += x.q[k] * v;
        sum.error += x.off[k] * std::fabs(v);
    }
    Inexact y = times(sum, scale);
    const double w_scale = p[w + "_scale"](col);
    return {y.value * w_scale, (y.error + 4 * kRoundoff * (std::fabs(y.value) + y.error)) * w_scale};
}

/** Sizes of m, n and k at which tiles, panels and groups go wrong; steps of the tensor cores are 128 deep. */
inline std::vector<Dims> int8_product_sizes(const std::string &m, const std::string &n, const std::string &k) {
    std::vector<Dims> sizes = product_sizes(m, n, k);
    sizes.push_back({{m, 70}, {n, 136}, {k, 272}});
    sizes.push_back({{m, 37}, {n, 93}, {k, 405}});
    return sizes;
}

}  // namespace ops_test

#endif
