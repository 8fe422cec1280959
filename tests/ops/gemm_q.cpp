#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernel/element.h"
#include "linear.h"

namespace ops_test {

namespace {

constexpr int kBlock = 32;
const halide_type_t kF16 = halide_type_t(halide_type_float, 16);

// Bytes of a block of a GGUF file before its elements.
int header_of(const std::string &format) {
    return format == "q4_1" ? 4 : 2;
}

class GemmQTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}},
                {"format", {"q4_0", "q4_1", "q8_0", "int4", "int8"}},
                {"group_size", {"32", "64", "128"}},
                {"zero_points", {"false", "true"}},
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
        if (build["format"] != "int4" && build["format"] != "int8") {
            build.erase("zero_points");
            build.erase("group_size");
        }
        if (build["activation"] == "log_relu") {  // what may be less than it is would be more times a negative scale
            build["order"] = kUsual;
        }
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases;
        const auto group = build.find("group_size");
        const int step = group == build.end() ? kBlock : std::stoi(group->second);
        const std::vector<int> columns = {1, 7, 16, 17, 31, 48, 65, 130};
        for (size_t i = 0; i < columns.size(); i++) {
            cases.push_back(
                {"random", {{"m", cycle({1, 2, 3, 4, 5, 7, 9, 13}, i)}, {"n", columns[i]}, {"k", step * cycle({1, 3, 2, 5}, i)}}});
        }
        cases.push_back({"no depth", {{"m", 3}, {"n", 33}, {"k", 0}}});
        cases.push_back({"special rows", {{"m", 11}, {"n", 19}, {"k", 128}}, special});
        return cases;
    }

    std::string held_to() const override {
        return "(k + 4)/2 of sum \\|a w\\|, then the epilogue as of gemm";
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
        for (const std::string format : {"q4_0", "q4_1", "q8_0"}) {
            HostBuffer *b = find_buffer(arguments, "b_" + format);
            for (int col = 0; b && col < b->extents()[2]; col++) {
                for (int block = 0; block < b->extents()[1]; block++) {
                    set_f16(*b, 0, block, col, (col + block) % 3 == 0 ? -0.037 : 0.021 * (1 + col % 5));
                    if (format == "q4_1") {
                        set_f16(*b, 2, block, col, -0.11 + 0.02 * (block % 4));
                    }
                }
            }
        }
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const int m = p.dim("m"), n = p.dim("n"), k = p.dim("k");
        const std::string activation = activation_of(p);
        const std::vector<std::string> order = order_of(p, kUsual);
        const Tensor &a = p["a"];
        std::vector<Weight> weights;
        for (int col = 0; col < n; col++) {
            for (int i = 0; i < k; i++) {
                weights.push_back(weight(p, i, col));
            }
        }
        std::vector<Expected> y;
        for (int row = 0; row < m; row++) {
            for (int col = 0; col < n; col++) {
                double sum = 0, sum_abs = 0;
                for (int i = 0; i < k; i++) {
                    const Weight &w = weights[size_t(col) * size_t(k) + size_t(i)];
                    sum += a(i, row) * w.value;
                    sum_abs += std::fabs(a(i, row)) * w.size;
                }
                const double scale = p.has("scale_column") ? p["scale_column"](col)
                                     : p.has("scale_row")  ? p["scale_row"](row)
                                                           : p.scalar("scale", 1);
                const Expected v =
                    in_order(order, {sum, (k + 4) * kRoundoff * sum_abs},
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

    // Element i of a block whose 16 bytes begin at `first`: the low bits of the first 16, then the high ones.
    static double nibble(const Tensor &b, int first, int i, int block, int col) {
        const int byte = int(b(first + i % 16, block, col));
        return i < 16 ? byte % 16 : byte / 16;
    }

    static Weight weight(const Problem &p, int i, int col) {
        const int block = i / kBlock, at = i % kBlock;
        for (const std::string format : {"q4_0", "q4_1", "q8_0"}) {
            if (!p.has("b_" + format)) {
                continue;
            }
            const Tensor &b = p["b_" + format];
            const double scale = f16_at(b, 0, block, col);
            if (format == "q8_0") {
                const double w = double(int8_t(uint8_t(b(header_of(format) + at, block, col)))) * scale;
                return {w, std::fabs(w)};
            }
            const double q = nibble(b, header_of(format), at, block, col);
            if (format == "q4_0") {
                return {(q - 8) * scale, std::fabs((q - 8) * scale)};
            }
            const double least = f16_at(b, 2, block, col);
            return {q * scale + least, std::fabs(q * scale) + std::fabs(least)};
        }
        const int group = i / int(p.dims.at("group_size"));
        const bool bytes = p.has("b_int8");
        const double q = bytes ? p["b_int8"](i, col) : nibble(p["b_int4"], 0, at, block, col);
        const double zero = p.has("b_zero") ? p["b_zero"](group, col) - (bytes ? 128 : 0) : bytes ? 0 : 8;
        const double w = (q - zero) * p["b_scale"](group, col);
        return {w, std::fabs(w)};
    }

    static void special(KernelArguments &arguments, const Dims &) {
        HostBuffer &a = arguments.buffer("a");
        a.set({2, 0}, kNaN);
        a.set({127, 7}, kNaN);
        a.set({40, 3}, kInfinity);
        a.set({20, 5}, -kInfinity);
        for (int k = 0; k < 128; k++) {
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
