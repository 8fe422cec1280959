#ifndef HALYARD_TESTS_OPS_BLOCK_WEIGHTS_H
#define HALYARD_TESTS_OPS_BLOCK_WEIGHTS_H

/** \file
 * Weights of 4 to 32 bits in blocks (generators/math/blocks.h): the choices that ops have of them, inputs, and references in float64.
 */

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "kernel/element.h"
#include "epilogue.h"
#include "rows.h"

namespace ops_test {

/** Has the buffer `name`, for arguments that only some builds have. */
inline HostBuffer *find_buffer(KernelArguments &arguments, const std::string &name) {
    return arguments.has_buffer(name) ? &arguments.buffer(name) : nullptr;
}

/** Elements of a block that are scaled together. */
constexpr int kOfBlock = 32;

/** A block of a GGUF file: where its scale and minimum of f16 are, and its elements. */
struct BlockLayout {
    int elements = 32, scale = 0, minimum = -1, low = 2;
};

inline const std::map<std::string, BlockLayout> &block_layouts() {
    static const std::map<std::string, BlockLayout> layouts = {
        {"q4_0", {32, 0, -1, 2}}, {"q4_1", {32, 0, 2, 4}},   {"q5_0", {32, 0, -1, 6}},  {"q5_1", {32, 0, 2, 8}},
        {"q8_0", {32, 0, -1, 2}}, {"q4_k", {256, 0, 2, 16}}, {"q5_k", {256, 0, 2, 48}}, {"q6_k", {256, 208, -1, 0}},
        {"f16", {32, -1, -1, 0}}, {"bf16", {32, -1, -1, 0}}, {"f32", {32, -1, -1, 0}}};
    return layouts;
}

/** Of an interleaved block, in bytes of one column: the minimum, what both are multiplied by, the bits beyond the fourth, the others, and all. The
 * scale comes first. */
struct InterleavedLayout {
    int minimum, small, small_minimum, high, low, bytes;
};

inline const std::map<std::string, InterleavedLayout> &interleaved_layouts() {
    static const std::map<std::string, InterleavedLayout> layouts = {
        {"q4_0", {-1, -1, -1, -1, 2, 18}}, {"q4_1", {2, -1, -1, -1, 4, 20}},   {"q5_0", {-1, -1, -1, 2, 6, 22}},
        {"q5_1", {2, -1, -1, 4, 8, 24}},   {"q8_0", {-1, -1, -1, -1, 2, 34}},  {"q4_k", {2, 4, 12, -1, 20, 148}},
        {"q5_k", {2, 4, 12, 20, 52, 180}}, {"q6_k", {-1, 2, -1, 18, 82, 210}}, {"f16", {-1, -1, -1, -1, 0, 64}},
        {"bf16", {-1, -1, -1, -1, 0, 64}}, {"f32", {-1, -1, -1, -1, 0, 128}}};
    return layouts;
}

/** Whether weights are numbers without a scale, which are interleaved always, and their type. */
inline bool is_float(const std::string &format) {
    return format == "f16" || format == "bf16" || format == "f32";
}
inline halide_type_t float_type(const std::string &format) {
    return halide_type_t(format == "bf16" ? halide_type_bfloat : halide_type_float, format == "f32" ? 32 : 16);
}

/** Choices of a build whose weights are in blocks. */
inline std::vector<Choice> block_choices() {
    return {{"interleaved", {"8", "16", "32"}},
            {"activations", {"exact", "int8"}},
            {"format", {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_k", "q5_k", "q6_k", "f16", "bf16", "f32", "int4", "int8"}},
            {"group_size", {"32", "64", "128"}},
            {"zero_points", {"false", "true"}},
            {"rounded", {"false", "true"}}};
}

inline bool is_block_choice(const std::string &name) {
    const std::vector<Choice> choices = block_choices();
    return std::any_of(choices.begin(), choices.end(), [&](const Choice &c) { return c.name == name; });
}

/** The variant that a build takes of its schedules. */
inline std::string variant_of(const Assignments &build) {
    const auto found = build.find("schedule");
    const std::string schedule = found == build.end() ? "" : found->second;
    const size_t dot = schedule.find('.');
    return dot == std::string::npos ? schedule : schedule.substr(dot + 1);
}

/** Whether a variant takes interleaved blocks. */
inline bool is_interleaved(const std::string &variant) {
    return variant == "interleaved" || variant == "tf32" || variant == "warps";
}

/** Drops what a build with weights in blocks does not have. */
inline void settle_formats(Assignments &build) {
    if (!is_interleaved(variant_of(build))) {
        build.erase("interleaved");
        if (is_float(build["format"])) {
            build["format"] = "q8_0";
        }
    } else if (build["format"] == "int4" || build["format"] == "int8") {
        build["format"] = build["format"] == "int8" ? "q4_k" : "q6_k";
    }
    if (is_float(build["format"]) || (is_interleaved(variant_of(build)) && build["target"] == "cuda")) {  // by rows as they are
        build.erase("activations");
    }
    if (build["format"] != "int4" && build["format"] != "int8") {
        build.erase("zero_points");
        build.erase("group_size");
        build.erase("rounded");
    }
    if (build.count("rounded") && build["rounded"] == "true") {
        build.erase("activations");
    }
}

/** Of ops whose weights may be in blocks or not: whether those of a variant are. */
inline bool has_blocks(const std::string &variant) {
    return variant == "blocks" || variant == "panels" || variant == "interleaved" || variant == "blocks_unfused";
}

/** Drops what a build of such an op does not have. */
inline void settle_blocks(Assignments &build) {
    if (has_blocks(variant_of(build))) {
        settle_formats(build);
        return;
    }
    for (const Choice &choice : block_choices()) {
        build.erase(choice.name);
    }
}

/** What the elements of a column are a multiple of. */
inline int block_step(const Assignments &build) {
    const auto find = [&](const char *name) {  // which a schedule may have as its own
        const auto found = build.find(name);
        return found == build.end() ? build.find(std::string("set.") + name) : found;
    };
    const auto group = find("group_size"), format = find("format");
    const auto layout = block_layouts().find(format == build.end() ? "q4_0" : format->second);
    return group != build.end() ? std::stoi(group->second) : layout == block_layouts().end() ? kOfBlock : layout->second.elements;
}

/** Sizes of m, n and k at which tiles, panels and blocks go wrong. */
inline std::vector<Dims> block_sizes(const Assignments &build, const std::string &m, const std::string &n, const std::string &k) {
    const int step = block_step(build);
    const std::vector<int> columns = {1, 7, 16, 17, 31, 48, 65, 130};
    std::vector<Dims> sizes;
    for (size_t i = 0; i < columns.size(); i++) {
        sizes.push_back({{m, cycle({1, 2, 3, 4, 5, 7, 9, 13}, i)}, {n, columns[i]}, {k, step * cycle({1, 3, 2, 5}, i)}});
    }
    sizes.push_back({{m, 3}, {n, 33}, {k, 0}});
    // More rows than a task of panels has, and a part of a tile.
    sizes.push_back({{m, 70}, {n, 21}, {k, step}});
    return sizes;
}

/** A row as it is multiplied, and how far off each element may be. */
struct MultipliedRow {
    std::vector<double> values, slack;
};

inline MultipliedRow exact_row(const double *x, int k) {
    return {{x, x + k}, std::vector<double>(size_t(k), 0)};
}

/** In 8 bits, by the definition in generators/math/quantized_rows.h. Where x / scale is at a tie for what f32 makes of it, either side will
 * do. `errors`: how far off elements may be, if they are results. */
inline MultipliedRow rounded_row(const double *x, int k, const double *errors = nullptr) {
    MultipliedRow row = {std::vector<double>(size_t(k), 0), std::vector<double>(size_t(k), 0)};
    for (int block = 0; block < k; block += kOfBlock) {
        double largest = 0, off = 0;
        for (int i = block; i < block + kOfBlock; i++) {
            largest = std::isfinite(x[i]) ? std::max(largest, std::fabs(x[i])) : kNaN;
            if (std::isnan(largest)) {
                break;
            }
            off = std::max(off, errors ? errors[i] : 0);
        }
        const double scale = largest / 127;
        for (int i = block; i < block + kOfBlock && !(largest <= 1e-36); i++) {
            const double steps = x[i] / scale, down = std::floor(steps), of_scale = off / largest;
            const double within = 6 * 127 * kRoundoff + (errors ? errors[i] / scale : 0) + of_scale * std::fabs(steps);
            row.values[size_t(i)] = std::isnan(scale) ? kNaN : scale * std::nearbyint(steps);
            row.slack[size_t(i)] = (std::fabs(steps - down - 0.5) <= within ? scale : 0) + of_scale * std::fabs(row.values[size_t(i)]);
        }
    }
    return row;
}

/** A weight, and what its terms add up to without their signs. */
struct BlockWeight {
    double value, size;
};

inline void set_f16(HostBuffer &b, int byte, int block, int col, double value) {
    uint8_t bytes[2] = {};
    halyard::store_element(halide_type_t(halide_type_float, 16), bytes, value);
    b.set({byte, block, col}, bytes[0]);
    b.set({byte + 1, block, col}, bytes[1]);
}

inline double f16_at(const Tensor &b, int byte, int block, int col) {
    const uint8_t bytes[2] = {uint8_t(b(byte, block, col)), uint8_t(b(byte + 1, block, col))};
    return halyard::load_element(halide_type_t(halide_type_float, 16), bytes);
}

// Element i of a block whose 16 bytes begin at `first`: the low bits of the first 16, then the high ones.
inline int nibble(const Tensor &b, int first, int i, int block, int col) {
    const int byte = int(b(first + i % 16, block, col));
    return i < 16 ? byte % 16 : byte / 16;
}

// Number j of the scales of 6 bits of a block, or of its minima: four bytes of the one, four of the other, and what is over 4 bits.
inline int six_bits(const Tensor &b, int j, bool of_minimum, int block, int col) {
    const auto at = [&](int i) { return int(b(4 + i, block, col)); };
    if (j < 4) {
        return at(of_minimum ? j + 4 : j) % 64;
    }
    const int low = of_minimum ? at(j + 4) / 16 : at(j + 4) % 16;
    return low + at(of_minimum ? j : j - 4) / 64 * 16;
}

// Element i of a block of a file.
inline BlockWeight of_block(const Tensor &b, const std::string &format, int i, int block, int col) {
    const BlockLayout layout = block_layouts().at(format);
    const auto byte = [&](int at) { return int(b(at, block, col)); };
    const double scale = f16_at(b, layout.scale, block, col);
    const double least = layout.minimum < 0 ? 0 : f16_at(b, layout.minimum, block, col);
    if (format == "q8_0") {
        const double w = double(int8_t(uint8_t(byte(layout.low + i)))) * scale;
        return {w, std::fabs(w)};
    }
    if (format == "q6_k") {  // two halves of 128: low bits of 64 bytes, two high bits of 32
        const int half = i / 128, part = i % 128 / 32, l = i % 32;
        const int low = byte(64 * half + 32 * (part % 2) + l), high = byte(128 + 32 * half + l);
        const int q = (part < 2 ? low % 16 : low / 16) + (high >> (2 * part)) % 4 * 16;
        const double w = (q - 32) * scale * double(int8_t(uint8_t(byte(192 + i / 16))));
        return {w, std::fabs(w)};
    }
    if (layout.elements == 256) {
        const int j = i / 32, l = i % 32, low = byte(layout.low + i / 64 * 32 + l);
        const int q = (j % 2 == 0 ? low % 16 : low / 16) + (format == "q5_k" ? (byte(16 + l) >> j) % 2 * 16 : 0);
        const double w = q * scale * six_bits(b, j, false, block, col), m = least * six_bits(b, j, true, block, col);
        return {w - m, std::fabs(w) + std::fabs(m)};
    }
    int q = nibble(b, layout.low, i, block, col);
    if (format == "q5_0" || format == "q5_1") {
        q += (byte(layout.low - 4 + i / 8) >> (i % 8)) % 2 * 16;
    }
    if (layout.minimum < 0) {
        const double w = (q - (format == "q4_0" ? 8 : 16)) * scale;
        return {w, std::fabs(w)};
    }
    return {q * scale + least, std::fabs(q * scale) + std::fabs(least)};
}

/** Element i of an interleaved block (halyard/blocks.h). */
inline BlockWeight of_interleaved(const Tensor &b, const std::string &format, int i, int block, int column) {
    const InterleavedLayout layout = interleaved_layouts().at(format);
    const int columns = b.extents[0] / layout.bytes, panel = column / columns, c = column % columns, j = i / kOfBlock, l = i % kOfBlock;
    // Byte `at` of a part of `size` bytes of the column.
    const auto part = [&](int first, int size, int at) { return int(b(first * columns + c * size + at, block, panel)); };
    const auto half = [&](int first) { return f16_at(b, first * columns + 2 * c, block, panel); };
    if (is_float(format)) {
        const int size = float_type(format).bytes();
        uint8_t bytes[4];
        for (int byte = 0; byte < size; byte++) {
            bytes[byte] = uint8_t(part(l * size / 4 * 4, 4, l * size % 4 + byte));
        }
        const double w = halyard::load_element(float_type(format), bytes);
        return {w, std::fabs(w)};
    }
    const auto bits = [&](int first, int fours, int byte) { return part(first + 4 * (fours + byte / 4), 4, byte % 4); };
    double scale = half(0), least = layout.minimum < 0 ? 0 : half(layout.minimum);
    if (layout.small >= 0) {
        const int byte = part(layout.small + (format == "q6_k" ? i / 16 : j), 1, 0);
        scale *= format == "q6_k" ? int(int8_t(uint8_t(byte))) : byte;
    }
    if (layout.small_minimum >= 0) {
        least *= -part(layout.small_minimum + j, 1, 0);
    }
    if (format == "q8_0") {
        const double w = double(int8_t(uint8_t(bits(layout.low, 8 * j, l)))) * scale;
        return {w, std::fabs(w)};
    }
    const int low = bits(layout.low, 4 * j, l % 16);
    int q = l < 16 ? low % 16 : low / 16;
    if (format == "q6_k") {
        q += (bits(layout.high, 2 * j, l % 4 + l / 16 * 4) >> (2 * (l % 16 / 4))) % 4 * 16;
    } else if (layout.high >= 0) {
        q += (bits(layout.high, j, l % 4) >> (l / 4)) % 2 * 16;
    }
    const double w = (q - (format == "q4_0" ? 8 : format == "q5_0" ? 16 : format == "q6_k" ? 32 : 0)) * scale;
    return {w + least, std::fabs(w) + std::fabs(least)};
}

/** Weight (i, col) of those called `name`. */
inline BlockWeight block_weight(const Problem &p, const std::string &name, int i, int col) {
    for (const auto &[format, layout] : block_layouts()) {
        if (p.has(name + "_" + format + "_interleaved")) {
            return of_interleaved(p[name + "_" + format + "_interleaved"], format, i % layout.elements, i / layout.elements, col);
        }
        if (p.has(name + "_" + format)) {
            return of_block(p[name + "_" + format], format, i % layout.elements, i / layout.elements, col);
        }
    }
    const int block = i / kOfBlock, at = i % kOfBlock, group = i / int(p.dims.at("group_size"));
    const bool bytes = p.has(name + "_int8");
    const int byte = bytes ? 0 : int(p[name + "_int4"](block * 16 + at % 16, col));
    const double q = bytes ? p[name + "_int8"](i, col) : at < 16 ? byte % 16 : byte / 16;
    const double zero = p.has(name + "_zero") ? p[name + "_zero"](group, col) - (bytes ? 128 : 0) : bytes ? 0 : 8;
    const double exact = (q - zero) * p[name + "_scale"](group, col);
    const double w = p.is("rounded", "true") ? stored(p, exact) : exact;
    return {w, std::fabs(w)};
}

/** Weights called `name`, as they stand, and their sizes. */
struct BlockMatrix {
    const Tensor &values, &sizes;
};

inline BlockMatrix block_matrix(const Problem &p, const std::string &name, int depth, int columns) {
    Tensor &values = p.made[name + " values"], &sizes = p.made[name + " sizes"];
    if (values.extents.empty()) {
        values.extents = sizes.extents = {depth, columns};
        for (int col = 0; col < columns; col++) {
            for (int i = 0; i < depth; i++) {
                // In f32 its scaled part is exact, so that it is rounded once, as kernels round it.
                const BlockWeight exact = block_weight(p, name, i, col);
                const double value = cut_to_tf32(exact.value);
                const BlockWeight w = p.is("tf32", "true") ? BlockWeight{value, std::fabs(value)} : exact;
                values.values.push_back(w.value);
                sizes.values.push_back(w.size);
            }
        }
    }
    return {values, sizes};
}

/** Whether the weights called `name` are in blocks. */
inline bool in_blocks(const Problem &p, const std::string &name) {
    const auto there = [&](const std::string &format) { return p.has(name + "_" + format) || p.has(name + "_" + format + "_interleaved"); };
    const auto &layouts = block_layouts();
    return there("int4") || there("int8") || std::any_of(layouts.begin(), layouts.end(), [&](const auto &l) { return there(l.first); });
}

/** Columns that weights in blocks have in the test at least. */
inline int block_columns(const Problem &p, const std::string &name) {
    for (const auto &[format, layout] : block_layouts()) {
        if (p.has(name + "_" + format + "_interleaved")) {
            const Tensor &blocks = p[name + "_" + format + "_interleaved"];
            return blocks.extents[2] * (blocks.extents[0] / interleaved_layouts().at(format).bytes);
        }
        if (p.has(name + "_" + format)) {
            return p[name + "_" + format].extents[2];
        }
    }
    return p[name + (p.has(name + "_int4") ? "_int4" : "_int8")].extents[1];
}

/** A row as the build multiplies it with such weights. `errors`: how far off elements may be, if they are results. */
inline MultipliedRow multiplied_row(const Problem &p, const double *x, int k, const double *errors = nullptr) {
    if (p.is("activations", "int8")) {
        return rounded_row(x, k, errors);
    }
    MultipliedRow row = exact_row(x, k);
    if (p.is("tf32", "true")) {
        std::transform(row.values.begin(), row.values.end(), row.values.begin(), cut_to_tf32);
    }
    for (int i = 0; errors && i < k; i++) {
        row.slack[size_t(i)] = errors[i];
    }
    return row;
}

/** The product of it and a column, and how far off it may be. */
inline Expected block_product(const Problem &p, const MultipliedRow &row, const std::string &name, int col, int k) {
    const BlockMatrix w = block_matrix(p, name, k, block_columns(p, name));
    const double roundings = p.is("activations", "int8") ? k / 32.0 + 12 : k + 4;
    const double *values = w.values.row(col), *sizes = w.sizes.row(col);
    Expected y = {0, 0};
    for (int i = 0; i < k; i++) {
        y.value += row.values[size_t(i)] * values[i];
        y.error += roundings * kRoundoff * std::fabs(row.values[size_t(i)]) * sizes[i] + row.slack[size_t(i)] * std::fabs(values[i]);
    }
    return y;
}

/** What a weight of a format is of its scale at most. */
inline double largest_of(const std::string &format) {
    static const std::map<std::string, double> largest = {
        {"q4_0", 8},        {"q4_1", 15}, {"q5_0", 16},  {"q5_1", 31}, {"q8_0", 128}, {"q4_k", 15 * 63}, {"q5_k", 31 * 63},
        {"q6_k", 32 * 128}, {"int4", 15}, {"int8", 255}, {"f16", 1},   {"bf16", 1},   {"f32", 1}};
    return largest.at(format);
}

/** Sets all elements of interleaved weights that are numbers. */
template<typename Value>
void fill_floats(HostBuffer &b, const std::string &format, const Value &value) {
    const int columns = b.extents()[0] / interleaved_layouts().at(format).bytes, size = float_type(format).bytes(), in_word = 4 / size;
    for (int panel = 0; panel < b.extents()[2]; panel++) {
        for (int block = 0; block < b.extents()[1]; block++) {
            for (int at = 0; at < b.extents()[0]; at += size) {
                const int word = at / 4, col = panel * columns + word % columns;
                uint8_t bytes[4];
                halyard::store_element(float_type(format), bytes, value(word / columns * in_word + at % 4 / size, block, col));
                for (int byte = 0; byte < size; byte++) {
                    b.set({at + byte, block, panel}, bytes[byte]);
                }
            }
        }
    }
}

/** Bytes are any; scales are finite. `unit`: and so that weights are from about -1 to 1, where products of them are multiplied. */
inline void fill_blocks(KernelArguments &arguments, const std::string &name, uint64_t seed, bool unit = false) {
    if (HostBuffer *zeros = find_buffer(arguments, name + "_zero")) {
        zeros->fill_random(seed + 31, 0, arguments.has_buffer(name + "_int4") ? 15 : 255);
    }
    if (HostBuffer *scales = find_buffer(arguments, name + "_scale"); scales && unit) {
        std::vector<double> values = scales->values();
        for (double &v : values) {
            v /= largest_of(arguments.has_buffer(name + "_int4") ? "int4" : "int8");
        }
        scales->assign(values);
    }
    for (const auto &[format, layout] : block_layouts()) {
        // What is multiplied by another scale is so by one of 6 bits, or of 8 with a sign.
        const double by = unit ? 8 / largest_of(format) : 1, of_minimum = unit && layout.elements > 32 ? 1 / 63.0 : 1;
        const auto scale_of = [&](int block, int col) { return by * ((col + block) % 3 == 0 ? -0.037 : 0.021 * (1 + col % 5)); };
        const auto minimum_of = [&](int block) { return of_minimum * (-0.11 + 0.02 * (block % 4)); };
        HostBuffer *const interleaved = find_buffer(arguments, name + "_" + format + "_interleaved");
        if (interleaved && is_float(format)) {
            uint64_t state = seed;
            fill_floats(*interleaved, format, [&](int, int, int) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                return double(int32_t(state >> 32)) / 0x1p31;
            });
        } else if (HostBuffer *b = interleaved) {
            const int columns = b->extents()[0] / interleaved_layouts().at(format).bytes;
            for (int col = 0; col < b->extents()[2] * columns; col++) {
                for (int block = 0; block < b->extents()[1]; block++) {
                    const int panel = col / columns, at = 2 * (col % columns);
                    set_f16(*b, at, block, panel, scale_of(block, col));
                    if (layout.minimum >= 0) {
                        set_f16(*b, 2 * columns + at, block, panel, minimum_of(block));
                    }
                }
            }
        }
        HostBuffer *b = find_buffer(arguments, name + "_" + format);
        for (int col = 0; b && col < b->extents()[2]; col++) {
            for (int block = 0; block < b->extents()[1]; block++) {
                set_f16(*b, layout.scale, block, col, scale_of(block, col));
                if (layout.minimum >= 0) {
                    set_f16(*b, layout.minimum, block, col, minimum_of(block));
                }
            }
        }
    }
}

/** Has weights in blocks, if there are any, be integers: scales of 1, minima of -2. Says whether there are. */
inline bool make_blocks_integers(KernelArguments &arguments, const std::string &name) {
    if (HostBuffer *scales = find_buffer(arguments, name + "_scale")) {
        scales->fill(1);
        return true;
    }
    bool found = false;
    for (const auto &[format, layout] : block_layouts()) {
        const int of_panel = interleaved_layouts().at(format).bytes;
        for (const std::string ending : {"", "_interleaved"}) {
            HostBuffer *b = find_buffer(arguments, name + "_" + format + ending);
            found = found || b;
            if (b && is_float(format)) {
                fill_floats(*b, format, [](int i, int block, int col) { return (i * 7 + block * 5 + col * 3) % 31 - 15; });
                continue;
            }
            const int columns = ending.empty() ? 1 : b ? b->extents()[0] / of_panel : 0;
            for (int panel = 0; b && panel < b->extents()[2]; panel++) {
                for (int block = 0; block < b->extents()[1]; block++) {
                    for (int col = 0; col < columns; col++) {
                        set_f16(*b, (ending.empty() ? layout.scale : 0) + 2 * col, block, panel, 1);
                        if (layout.minimum >= 0) {
                            set_f16(*b, layout.minimum * columns + 2 * col, block, panel, -2);
                        }
                    }
                }
            }
        }
    }
    return found;
}

/** Interleaved blocks lie one after the other, and by rounded rows those of a file. */
inline bool is_block_of_file(const std::string &argument) {
    return argument.find("_interleaved") != std::string::npos || argument.find("_q4_") != std::string::npos ||
           argument.find("_q5_") != std::string::npos || argument.find("_q6_") != std::string::npos ||
           argument.find("_q8_") != std::string::npos;
}

}  // namespace ops_test

#endif
