#ifndef HALYARD_TESTS_OPS_ROWS_H
#define HALYARD_TESTS_OPS_ROWS_H

/** \file
 * Inputs that every op over the rows of a matrix gets.
 */

#include <cmath>
#include <limits>

#include "kernel/element.h"
#include "op_test.h"
#include "sizes.h"

namespace ops_test {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline bool is_f16(const Assignments &build) {
    const auto type = build.find("type");
    return type != build.end() && type->second == "float16";
}

inline bool is_bf16(const Assignments &build) {
    const auto type = build.find("type");
    return type != build.end() && type->second == "bfloat16";
}

inline void set_row(HostBuffer &x, int row, double value) {
    for (int c = 0; c < x.extents()[0]; c++) {
        x.set({c, row}, value);
    }
}

/** Rows of every odd size, then 9 rows, each with something else that is special. */
inline std::vector<Case> row_cases(const Assignments &build) {
    std::vector<Case> cases;
    for (size_t n = 0; n < kOddSizes.size(); n++) {
        cases.push_back({"random", {{"cols", kOddSizes[n]}, {"rows", cycle({5, 1, 9, 2, 17, 8, 3}, n)}}});
    }
    cases.push_back({"many rows", {{"cols", 1032}, {"rows", 513}}});  // CUDA gives few rows more threads
    // Sums of them overflow f16, and their squares by far; f32 holds both.
    const double large = is_f16(build) ? 65504 : 1e17;
    for (int cols : {1, 2, 17, 64, 131}) {
        const auto special = [cols, large](KernelArguments &arguments, const Dims &) {
            HostBuffer &x = arguments.buffer("x");
            x.set({cols / 2, 0}, kNaN);
            x.set({cols - 1, 2}, kInfinity);
            x.set({cols / 3, 4}, -kInfinity);
            set_row(x, 5, large);
            set_row(x, 6, 0.1);
            set_row(x, 7, 0);
            for (int c = 0; c < cols; c++) {
                x.set({c, 8}, c % 2 ? 6e-8 : 1e-40);
            }
            x.set({0, 10}, kNaN);
            x.set({cols - 1, 12}, kNaN);
            x.set({0, 13}, large);
        };
        cases.push_back({"special rows", {{"cols", cols}, {"rows", 15}}, special});
    }
    // Where threads follow from the columns, rows on both sides of each limit.
    if (const auto threads = build.find("set.threads"); threads != build.end() && threads->second == "0") {
        const int kib = is_f16(build) || is_bf16(build) ? 512 : 256;
        for (int limit : {1024, 4096, 6144, 28 * kib, 96 * kib}) {
            cases.push_back({"the longest of a version", {{"cols", limit}, {"rows", 2}}});
            cases.push_back({"the shortest of the next", {{"cols", limit + 1}, {"rows", 1}}});
        }
        // Several short rows in a block, the last of which takes some again, and lengths that are no multiple of a vector.
        const Dims short_rows[] = {{{"cols", 3}, {"rows", 65}},   {{"cols", 16}, {"rows", 130}}, {{"cols", 24}, {"rows", 33}},
                                   {{"cols", 32}, {"rows", 32}},  {{"cols", 40}, {"rows", 17}},  {{"cols", 77}, {"rows", 9}},
                                   {{"cols", 104}, {"rows", 40}}, {{"cols", 128}, {"rows", 16}}, {{"cols", 132}, {"rows", 5}},
                                   {{"cols", 200}, {"rows", 6}},  {{"cols", 204}, {"rows", 6}},  {{"cols", 512}, {"rows", 7}},
                                   {{"cols", 513}, {"rows", 5}},  {{"cols", 2044}, {"rows", 5}}, {{"cols", 2047}, {"rows", 1}}};
        for (const Dims &dims : short_rows) {
            cases.push_back({"several rows a block", dims});
        }
    }
    return cases;
}

/** Where the CUDA schedules of rows keep them. */
inline std::vector<Choice> held_rows() {
    return {{"set.threads", {"0", "64"}}, {"set.held", {"registers", "shared"}}, {"set.resident", {"0", "2"}}, {"set.unroll", {"2", "1"}}};
}

/** With no threads these follow from the columns of a call. */
inline void settle_held_rows(Assignments &build) {
    if (build["set.threads"] == "0") {
        for (const char *name : {"set.held", "set.resident", "set.unroll"}) {
            build.erase(name);
        }
    }
    if (build["set.threads"].empty()) {
        build.erase("set.threads");
    }
}

/** As the storage type of the problem holds it. */
inline double stored(const Problem &p, double value) {
    const halide_type_t type = p.is("type", "float16")    ? halide_type_t(halide_type_float, 16)
                               : p.is("type", "bfloat16") ? halide_type_t(halide_type_bfloat, 16)
                                                          : halide_type_t(halide_type_float, 32);
    uint64_t bits = 0;
    halyard::store_element(type, &bits, double(float(value)));
    return halyard::load_element(type, &bits);
}

/** Bits of the exponent of an output in 8-bit floating point, or 0. */
inline int float8_exponent(const Problem &p) {
    return p.is("output", "float8_e4m3") ? 4 : p.is("output", "float8_e5m2") ? 5 : 0;
}

inline bool is_8_bit(const Problem &p) {
    return p.is("output", "int8") || p.is("output", "uint8") || float8_exponent(p) != 0;
}

/** As the storage type holds what is off by an error: off by that of both ends. */
inline Expected stored_within(const Problem &p, const Expected &e) {
    if (std::isinf(stored(p, e.value))) {
        return {stored(p, e.value), 0};
    }
    const double low = stored(p, e.value - e.error), high = stored(p, e.value + e.error);
    return {e.value, std::max({e.error, e.value - low, high - e.value}), e.or_less};
}

/** The largest number of an output of 8 bits, which the largest of a row becomes by a scale of its own. */
inline double largest_8_bit(const Problem &p) {
    return float8_exponent(p) == 4 ? 448 : float8_exponent(p) == 5 ? 57344 : 127;
}

/** What an 8-bit output holds for a value: `scale` and `zero_point` of math/quantize.h, which are in
 * f32, with an error of 3 roundings. */
inline Expected quantized(const Problem &p, const Expected &e, double scale, double zero_point) {
    if (const int exponent = float8_exponent(p)) {
        if (scale == 0) {
            return {0, 0, false, exponent};
        }
        const double q = e.value / scale;
        return {q, e.error / scale + 3 * kRoundoff * std::fabs(q), e.or_less, exponent};
    }
    if (std::isnan(e.value) || std::isnan(scale) || (e.value == 0 && scale == 0)) {
        return {zero_point, 0};
    }
    const double low = p.is("output", "uint8") ? 0 : -128;
    const double q = e.value / scale;
    if (std::isinf(q) || std::fabs(q) > 1e6) {
        return {q < 0 ? low : low + 255, 0};
    }
    return {q + zero_point, e.error / scale + 3 * kRoundoff * std::fabs(q), e.or_less};
}

/** By y_scale and y_zero_point where the output, or another one than y, has 8 bits. */
inline Expected stored_y(const Problem &p, const Expected &e, const std::string &y = "y") {
    return is_8_bit(p) ? quantized(p, e, p.scalar(y + "_scale", 0), p.scalar(y + "_zero_point", 0)) : e;
}

/** Scales that are computed are for 8 bits without a zero point. */
inline void settle_scaling(Assignments &build) {
    const std::string &output = build["output"];
    if (output != "int8" && output != "float8_e4m3" && output != "float8_e5m2") {
        build.erase("scaling");
    }
}

/** A row of y, of row_scale or of block_scale, where the row is to be this before it is stored. */
inline std::vector<Expected> stored_row(const Problem &p, const std::string &output, const std::vector<Expected> &row) {
    std::vector<Expected> result;
    const bool blocks = p.is("scaling", "block");
    if (!blocks && !p.is("scaling", "row")) {
        for (const auto &e : row) {
            result.push_back(stored_y(p, e));
        }
        return result;
    }
    const size_t size = blocks ? 128 : row.size(), scales = blocks ? (row.size() + size - 1) / size : 1;
    for (size_t n = 0; n < scales; n++) {
        const size_t first = n * size, end = std::min(row.size(), first + size);
        double peak = 0, low = 0, high = 0;
        for (size_t c = first; c < end; c++) {
            const double value = std::fabs(row[c].value), error = std::isfinite(value) ? row[c].error : 0;
            peak = std::isnan(value) || std::isnan(peak) ? kNaN : std::max(peak, value);
            low = std::max(low, value - error);
            high = std::max(high, value + error);
        }
        const bool finite = std::isfinite(peak);
        const double error = finite ? std::max(high - peak, peak - low) : 0, scale = peak / largest_8_bit(p);
        if (output != "y") {
            result.push_back({scale, error / largest_8_bit(p) + 2 * kRoundoff * std::fabs(scale)});
            continue;
        }
        for (size_t c = first; c < end; c++) {  // the error of the largest is in the scale as well
            const Expected &e = row[c];
            if (finite) {
                const double of_scale = peak > error ? error / (peak - error) * (std::fabs(e.value) + e.error) : 0;
                result.push_back(quantized(p, {e.value, e.error + of_scale}, scale, 0));
            } else {
                const double q = e.value / scale;  // 0 of what is finite
                result.push_back({float8_exponent(p) == 0 && std::isnan(q) ? 0 : q, 0, false, float8_exponent(p)});
            }
        }
    }
    return result;
}

}  // namespace ops_test

#endif
