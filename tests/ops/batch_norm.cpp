#include <cmath>

#include "epilogue.h"
#include "rows.h"

namespace ops_test {

namespace {

class BatchNormTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"layout", {"nchw", "nhwc"}},
                {"activation", {"none", "relu", "gelu_tanh", "gelu_erf", "silu", "log_relu"}},
                {"output", {"same", "float32", "uint8", "int8"}},
                {"target", {"avx2", "host"}}};
    }

    std::vector<Case> cases(const Assignments &) const override {
        std::vector<Case> cases;
        for (size_t n = 0; n < kOddSizes.size(); n++) {  // each extent odd and even, under and over a vector
            const int other = cycle({3, 1, 19, 2, 33, 8}, n);
            const bool wide = n % 2 == 0;
            cases.push_back({"random",
                             {{"w", wide ? kOddSizes[n] : other},
                              {"h", cycle({2, 1, 5}, n)},
                              {"c", wide ? other : kOddSizes[n]},
                              {"n", cycle({1, 2, 3}, n)}}});
        }
        const auto special = [](KernelArguments &arguments, const Dims &) {
            for (const char *name : {"x", "x_nhwc"}) {
                if (arguments.has_buffer(name)) {
                    HostBuffer &x = arguments.buffer(name);
                    x.set({0, 0, 0, 0}, kNaN);
                    x.set({1, 0, 1, 0}, kInfinity);
                    x.set({0, 1, 1, 0}, -kInfinity);
                    x.set({1, 1, 0, 0}, 60000);
                    x.set({1, 1, 1, 1}, 6e-8);
                }
            }
            arguments.buffer("mean").set({0}, 1000);
            arguments.buffer("variance").set({1}, 0);
        };
        cases.push_back({"special", {{"w", 17}, {"h", 3}, {"c", 17}, {"n", 2}}, special});
        return cases;
    }

    void fill(KernelArguments &arguments, const Dims &, uint64_t) const override {
        HostBuffer &variance = arguments.buffer("variance");
        std::vector<double> values = variance.values();
        for (double &v : values) {
            v = 1.01 + v;
        }
        variance.assign(values);
    }

    std::string held_to() const override {
        return "4 (\\|scale x\\| + \\|scale mean\\| + \\|bias\\|), then the activation";
    }

    std::vector<std::string> open_dims() const override {
        return {"w", "h", "c", "n"};
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const bool last = p.has("x_nhwc");
        const Tensor &x = p[last ? "x_nhwc" : "x"];
        const size_t plane = size_t(p.dim("w")) * size_t(p.dim("h")), channels = size_t(p.dim("c"));
        const Tensor &weights = p["weight"], &biases = p["bias"], &means = p["mean"], &variances = p["variance"];
        const std::string activation = activation_of(p);
        const double eps = p.scalar("eps", 0);
        std::vector<Expected> y;
        for (size_t i = 0; i < x.values.size(); i++) {
            const int c = int(last ? i % channels : i / plane % channels);
            const double scale = weights(c) / std::sqrt(variances(c) + eps), bias = biases(c);
            const double scaled = x.values[i] * scale, shifted = means(c) * scale;
            // The scale is off by 4 roundings; what it makes of x and of the mean may cancel.
            const double error = 8 * kRoundoff * (std::fabs(scaled) + std::fabs(shifted) + std::fabs(bias));
            y.push_back(stored_y(p, epilogue(activation, scaled - shifted + bias, error, 0)));
        }
        return y;
    }
};

}  // namespace

const OpTest &batch_norm_test() {
    static const BatchNormTest test;
    return test;
}

}  // namespace ops_test
