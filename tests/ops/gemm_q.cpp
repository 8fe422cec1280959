#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "kernel/element.h"
#include "linear.h"

namespace ops_test {

namespace {

constexpr int kBlock = 32;
const halide_type_t kF16 = halide_type_t(halide_type_float, 16);

// A block of a GGUF file: where its scale and minimum of f16 are, and its elements.
struct Layout {
    int elements = 32, scale = 0, minimum = -1, low = 2;
};
const std::map<std::string, Layout> kLayouts = {{"q4_0", {32, 0, -1, 2}},  {"q4_1", {32, 0, 2, 4}},    {"q5_0", {32, 0, -1, 6}},
                                                {"q5_1", {32, 0, 2, 8}},   {"q8_0", {32, 0, -1, 2}},   {"q4_k", {256, 0, 2, 16}},
                                                {"q5_k", {256, 0, 2, 48}}, {"q6_k", {256, 208, -1, 0}}};

// A row as it is multiplied, and how far off each element may be.
struct MultipliedRow {
    std::vector<double> values, slack;
};

class GemmQTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused", "panels", "f32_panels", "interleaved"}},
                {"interleaved", {"8", "16", "32"}},
                {"activations", {"exact", "int8"}},
                {"format", {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_k", "q5_k", "q6_k", "int4", "int8"}},
                {"group_size", {"32", "64", "128"}},
                {"zero_points", {"false", "true"}},
                {"rounded", {"false", "true"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"scaling", {"none", "scalar", "column", "row"}},
                {"add_bias", {"false", "true"}},
                {"activation", {"none", "relu", "gelu_tanh", "gelu_erf", "silu", "log_relu"}},
                {"add_residual", {"false", "true"}},
                {"order", {kUsual, "residual,activation,bias,scale", "bias,scale,residual,activation"}},
                {"output", {"same", "float32", "float16", "bfloat16", "int8", "uint8"}},
                {"target", {"avx2", "host"}}};
    }

    void settle(Assignments &build) const override {
        const auto is = [&](const std::string &name) { return build["schedule"] == name || build["schedule"] == "gemm_q." + name; };
        if (is("panels") || is("f32_panels")) {  // which are for one kind
            build.erase("activations");
        }
        if (is("panels")) {  // of integers
            build.erase("rounded");
        }
        const bool interleaved = is("interleaved") || is("tf32");
        if (interleaved && build["target"] == "cuda") {  // by rows as they are
            build.erase("activations");
        }
        if (!interleaved) {
            build.erase("interleaved");
        } else if (build["format"] != "q4_1" && build["format"] != "q8_0") {
            build["format"] = "q4_0";
        }
        if (build["format"] != "int4" && build["format"] != "int8") {
            build.erase("zero_points");
            build.erase("group_size");
            build.erase("rounded");
        }
        if (build.count("rounded") && build["rounded"] == "true") {
            build.erase("activations");
        }
        if (build["activation"] == "log_relu") {  // what may be less than it is would be more times a negative scale
            build["order"] = kUsual;
        }
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases;
        const auto group = build.find("group_size");
        const auto format = build.find("format");
        const auto layout = kLayouts.find(format == build.end() ? "q4_0" : format->second);
        const int of_file = layout == kLayouts.end() ? kBlock : layout->second.elements;
        const int step = group == build.end() ? of_file : std::stoi(group->second);
        const std::vector<int> columns = {1, 7, 16, 17, 31, 48, 65, 130};
        for (size_t i = 0; i < columns.size(); i++) {
            cases.push_back(
                {"random", {{"m", cycle({1, 2, 3, 4, 5, 7, 9, 13}, i)}, {"n", columns[i]}, {"k", step * cycle({1, 3, 2, 5}, i)}}});
        }
        cases.push_back({"no depth", {{"m", 3}, {"n", 33}, {"k", 0}}});
        cases.push_back({"special rows", {{"m", 11}, {"n", 19}, {"k", std::max(128, of_file)}}, special});
        // More rows than a task of panels has, and a part of a tile.
        cases.push_back({"random", {{"m", 70}, {"n", 21}, {"k", step}}});
        return cases;
    }

    std::string held_to() const override {
        return "(k + 4)/2 of sum \\|a w\\|, then the epilogue as of gemm; of activations=int8 (k/32 + 12)/2 of sum \\|a w\\|, where a is "
               "rounded to a multiple of the largest of its block of 32 by 127, one step more or less at a tie";
    }

    // With activations=int8 blocks lie one after the other.
    bool needs_dense(const std::string &argument) const override {
        return argument.rfind("b_q", 0) == 0;
    }

    bool has_loose_extents() const override {
        return true;
    }

    std::vector<std::string> open_dims() const override {
        return {"m"};
    }

    // Blocks of 32.
    Dims fixed_dims(const std::string &) const override {
        return {{"k", 64}};
    }

    // Bytes are any; scales are finite.
    void fill(KernelArguments &arguments, const Dims &, uint64_t seed) const override {
        if (arguments.has_buffer("b_zero")) {
            arguments.buffer("b_zero").fill_random(seed + 31, 0, arguments.has_buffer("b_int4") ? 15 : 255);
        }
        for (const auto &[format, layout] : kLayouts) {
            if (HostBuffer *b = find_buffer(arguments, "b_" + format + "_interleaved")) {
                const int columns = b->extents()[0] / (format == "q4_0" ? 18 : format == "q4_1" ? 20 : 34);
                for (int col = 0; col < b->extents()[2] * columns; col++) {
                    for (int block = 0; block < b->extents()[1]; block++) {
                        const int panel = col / columns, at = 2 * (col % columns);
                        set_f16(*b, at, block, panel, (col + block) % 3 == 0 ? -0.037 : 0.021 * (1 + col % 5));
                        if (layout.minimum >= 0) {
                            set_f16(*b, 2 * columns + at, block, panel, -0.11 + 0.02 * (block % 4));
                        }
                    }
                }
            }
            HostBuffer *b = find_buffer(arguments, "b_" + format);
            for (int col = 0; b && col < b->extents()[2]; col++) {
                for (int block = 0; block < b->extents()[1]; block++) {
                    set_f16(*b, layout.scale, block, col, (col + block) % 3 == 0 ? -0.037 : 0.021 * (1 + col % 5));
                    if (layout.minimum >= 0) {
                        set_f16(*b, layout.minimum, block, col, -0.11 + 0.02 * (block % 4));
                    }
                }
            }
        }
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const int m = p.dim("m"), n = p.dim("n"), k = p.dim("k");
        const std::string activation = activation_of(p);
        const std::vector<std::string> order = order_of(p, kUsual);
        const bool in_8_bits = p.is("activations", "int8");
        const bool tf32 = p.is("tf32", "true");
        std::vector<Weight> weights;
        for (int col = 0; col < n; col++) {
            for (int i = 0; i < k; i++) {
                weights.push_back(tf32 ? cut(weight(p, i, col)) : weight(p, i, col));
            }
        }
        std::vector<Expected> y;
        for (int row = 0; row < m; row++) {
            MultipliedRow a = in_8_bits ? rounded_row(p["a"].row(row), k) : exact_row(p["a"].row(row), k);
            if (tf32) {
                std::transform(a.values.begin(), a.values.end(), a.values.begin(), cut_to_tf32);
            }
            const double roundings = in_8_bits ? k / 32.0 + 12 : k + 4;
            for (int col = 0; col < n; col++) {
                double sum = 0, error = 0;
                for (size_t i = 0; i < size_t(k); i++) {
                    const Weight &w = weights[size_t(col) * size_t(k) + i];
                    sum += a.values[i] * w.value;
                    error += roundings * kRoundoff * std::fabs(a.values[i]) * w.size + a.slack[i] * std::fabs(w.value);
                }
                const double scale = p.has("scale_column") ? p["scale_column"](col)
                                     : p.has("scale_row")  ? p["scale_row"](row)
                                                           : p.scalar("scale", 1);
                const Expected v =
                    in_order(order, {sum, error},
                             {{"scale", [&](const Expected &x) { return scaled(x, scale); }},
                              {"bias", [&](const Expected &x) { return added(x, p.has("bias") ? p["bias"](col) : 0); }},
                              {"activation", [&](const Expected &x) { return ops_test::activated(activation, x.value, x.error); }},
                              {"residual", [&](const Expected &x) { return added(x, residual_at(p, col, row)); }}});
                y.push_back(stored_y(p, v));
            }
        }
        return y;
    }

private:
    static constexpr const char *kUsual = "scale,bias,activation,residual";

    // A weight, and what its terms add up to without their signs.
    struct Weight {
        double value, size;
    };

    // A weight as f32 has it: its scaled part is exact there, so that it is rounded once, as kernels round it.
    static Weight cut(const Weight &w) {
        const double value = cut_to_tf32(w.value);
        return {value, std::fabs(value)};
    }

    static void set_f16(HostBuffer &b, int byte, int block, int col, double value) {
        uint8_t bytes[2] = {};
        halyard::store_element(kF16, bytes, value);
        b.set({byte, block, col}, bytes[0]);
        b.set({byte + 1, block, col}, bytes[1]);
    }

    static double f16_at(const Tensor &b, int byte, int block, int col) {
        const uint8_t bytes[2] = {uint8_t(b(byte, block, col)), uint8_t(b(byte + 1, block, col))};
        return halyard::load_element(kF16, bytes);
    }

    static MultipliedRow exact_row(const double *x, int k) {
        return {{x, x + k}, std::vector<double>(size_t(k), 0)};
    }

    // By the definition in generators/math/quantized_rows.h. Where x / scale is at a tie for what f32 makes of it, either side will do.
    static MultipliedRow rounded_row(const double *x, int k) {
        MultipliedRow row = {std::vector<double>(size_t(k), 0), std::vector<double>(size_t(k), 0)};
        for (int block = 0; block < k; block += kBlock) {
            double largest = 0;
            for (int i = block; i < block + kBlock; i++) {
                largest = std::isfinite(x[i]) ? std::max(largest, std::fabs(x[i])) : kNaN;
                if (std::isnan(largest)) {
                    break;
                }
            }
            const double scale = largest / 127;
            for (int i = block; i < block + kBlock && !(largest <= 1e-36); i++) {
                const double steps = x[i] / scale, down = std::floor(steps);
                const bool tie = std::fabs(steps - down - 0.5) <= 4 * 127 * kRoundoff;
                row.values[size_t(i)] = std::isnan(scale) ? kNaN : scale * std::nearbyint(steps);
                row.slack[size_t(i)] = tie ? scale : 0;
            }
        }
        return row;
    }

    // Element i of a block whose 16 bytes begin at `first`: the low bits of the first 16, then the high ones.
    static int nibble(const Tensor &b, int first, int i, int block, int col) {
        const int byte = int(b(first + i % 16, block, col));
        return i < 16 ? byte % 16 : byte / 16;
    }

    // Number j of the scales of 6 bits of a block, or of its minima: four bytes of the one, four of the other, and what is over 4 bits.
    static int six_bits(const Tensor &b, int j, bool of_minimum, int block, int col) {
        const auto at = [&](int i) { return int(b(4 + i, block, col)); };
        if (j < 4) {
            return at(of_minimum ? j + 4 : j) % 64;
        }
        const int low = of_minimum ? at(j + 4) / 16 : at(j + 4) % 16;
        return low + at(of_minimum ? j : j - 4) / 64 * 16;
    }

    // Element i of a block of a file.
    static Weight of_block(const Tensor &b, const std::string &format, int i, int block, int col) {
        const Layout layout = kLayouts.at(format);
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

    // Interleaved blocks as they lay in the file (halyard/blocks.h).
    static const Tensor &plain_blocks(const Problem &p, const std::string &format) {
        Tensor &plain = p.made["b_" + format];
        if (plain.values.empty()) {
            const Tensor &b = p["b_" + format + "_interleaved"];
            const int bytes = format == "q4_0" ? 18 : format == "q4_1" ? 20 : 34, columns = b.extents[0] / bytes;
            const int halves = kLayouts.at(format).low;
            plain.extents = {bytes, b.extents[1], b.extents[2] * columns};
            for (int col = 0; col < plain.extents[2]; col++) {
                for (int block = 0; block < plain.extents[1]; block++) {
                    for (int at = 0; at < bytes; at++) {
                        const int size = at < halves ? 2 : 4, first = at - (at < halves ? at : at - halves) % size;
                        plain.values.push_back(b(first * columns + col % columns * size + at - first, block, col / columns));
                    }
                }
            }
        }
        return plain;
    }

    static Weight weight(const Problem &p, int i, int col) {
        for (const auto &[format, layout] : kLayouts) {
            if (p.has("b_" + format + "_interleaved")) {
                return of_block(plain_blocks(p, format), format, i % layout.elements, i / layout.elements, col);
            }
            if (p.has("b_" + format)) {
                return of_block(p["b_" + format], format, i % layout.elements, i / layout.elements, col);
            }
        }
        const int block = i / kBlock, at = i % kBlock, group = i / int(p.dims.at("group_size"));
        const bool bytes = p.has("b_int8");
        const int byte = bytes ? 0 : int(p["b_int4"](block * 16 + at % 16, col));
        const double q = bytes ? p["b_int8"](i, col) : at < 16 ? byte % 16 : byte / 16;
        const double zero = p.has("b_zero") ? p["b_zero"](group, col) - (bytes ? 128 : 0) : bytes ? 0 : 8;
        const double exact = (q - zero) * p["b_scale"](group, col);
        const double w = p.is("rounded", "true") ? stored(p, exact) : exact;
        return {w, std::fabs(w)};
    }

    static void special(KernelArguments &arguments, const Dims &) {
        HostBuffer &a = arguments.buffer("a");
        a.set({2, 0}, kNaN);
        a.set({127, 7}, kNaN);
        a.set({40, 3}, kInfinity);
        a.set({20, 5}, -kInfinity);
        for (int k = 0; k < a.extents()[0]; k++) {
            a.set({k, 6}, 6000);
            a.set({k, 8}, 6e-8);
            a.set({k, 9}, 0);
        }
    }
};

}  // namespace

const OpTest &gemm_q_test() {
    static const GemmQTest test;
    return test;
}

}  // namespace ops_test
