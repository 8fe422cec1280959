#include <cmath>

#include "epilogue.h"
#include "rows.h"

namespace ops_test {

namespace {

class GroupNormTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"activation", {"none", "relu", "gelu_tanh", "gelu_erf", "silu", "log_relu"}},
                {"output", {"same", "uint8", "int8", "float8_e4m3"}},
                {"target", {"avx2", "host"}}};
    }

    // Versions for groups of one block and of several, or one.
    std::vector<Choice> cuda_choices() const override {
        return {{"set.blocks", {"0", "4"}}};
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases;
        for (size_t n = 0; n < kOddSizes.size(); n += 2) {
            const int groups = cycle({1, 2, 3, 5}, n / 2), channels = groups * cycle({3, 1, 4}, n / 2);
            cases.push_back(
                {"random", {{"w", kOddSizes[n]}, {"h", cycle({3, 1, 2}, n)}, {"c", channels}, {"g", groups}, {"n", cycle({1, 2, 3}, n)}}});
        }
        const auto special = [](KernelArguments &arguments, const Dims &) {
            HostBuffer &x = arguments.buffer("x");
            x.set({0, 0, 0, 0}, kNaN);        // group 0
            x.set({1, 1, 3, 0}, kInfinity);   // group 1
            x.set({2, 0, 0, 1}, -kInfinity);  // group 0 of the second image
            for (int w = 0; w < 21; w++) {    // group 2: a variance of 0
                for (int h = 0; h < 2; h++) {
                    x.set({w, h, 4, 0}, 3);
                    x.set({w, h, 5, 0}, 3);
                    x.set({w, h, 4, 1}, 30 + 0.5 * (w % 2));  // a mean far from 0
                    x.set({w, h, 5, 1}, 30);
                }
            }
        };
        // So long that several blocks share a group where the schedule may choose.
        if (build.at("target") == "cuda" && build.at("schedule") == "group_norm" && build.at("set.blocks") == "0") {
            cases.push_back({"long groups", {{"w", 250}, {"h", 33}, {"c", 3}, {"g", 1}, {"n", 1}}});
        }
        const auto constant = [](KernelArguments &arguments, const Dims &) {
            HostBuffer &x = arguments.buffer("x");
            std::vector<double> values = x.values();
            for (size_t i = 0; i < values.size(); i++) {
                values[i] = i < values.size() / 2 ? 1e5 + 0.3 : -1000.1;
            }
            x.assign(values);
        };
        cases.push_back({"constant groups", {{"w", 45}, {"h", 3}, {"c", 6}, {"g", 2}, {"n", 1}}, constant});
        cases.push_back({"special groups", {{"w", 21}, {"h", 2}, {"c", 6}, {"g", 3}, {"n", 2}}, special});
        return cases;
    }

    std::string held_to() const override {
        return "(4 + size/2) (mean \\|x - first\\| / deviation \\|weight\\| + \\|scaled\\|) + \\|mean\\| / deviation \\|weight\\| where "
               "not all are equal + 4 (\\|scaled\\| + \\|bias\\|), where a group has `size` elements; then the activation";
    }

    bool needs_some(const std::string &dim, const Assignments &) const override {
        return dim == "g";
    }

    std::vector<std::string> open_dims() const override {
        return {"n"};
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const int w = p.dim("w"), h = p.dim("h"), c = p.dim("c"), groups = p.dim("g"), n = p.dim("n");
        const size_t size = size_t(w) * size_t(h) * size_t(c / groups);
        const Tensor &x = p["x"], &weights = p["weight"], &biases = p["bias"];
        const std::string activation = activation_of(p);
        std::vector<Expected> y;
        for (size_t group = 0; group < size_t(groups) * size_t(n); group++) {
            const double *values = x.values.data() + group * size;
            double sum = 0, distances = 0, sum_sq = 0;  // from the first
            for (size_t i = 0; i < size; i++) {
                sum += values[i];
                distances += std::fabs(values[i] - values[0]);
            }
            const double mean = sum / double(size);
            for (size_t i = 0; i < size; i++) {
                sum_sq += (values[i] - mean) * (values[i] - mean);
            }
            const double var = sum_sq / double(size) + p.scalar("eps", 0), inv = 1 / std::sqrt(var);
            // As many roundings as there are numbers, of their mean distance from the first, and two of the mean where there is
            // any; the error of the mean also enters the variance, squared.
            const double units = (8 + double(size)) * kRoundoff;
            const double mean_error = distances == 0 ? 0 : units * distances / double(size) + 2 * kRoundoff * std::fabs(mean);
            const double inv_error = units * (1 + mean_error * mean_error / var);
            for (size_t i = 0; i < size; i++) {
                const int channel = int(group % size_t(groups)) * (c / groups) + int(i / (size_t(w) * size_t(h)));
                const double weight = weights(channel), bias = biases(channel);
                const double scaled = (values[i] - mean) * inv * weight;
                const double error = mean_error * inv * std::fabs(weight) + inv_error * std::fabs(scaled) +
                                     8 * kRoundoff * (std::fabs(scaled) + std::fabs(bias));
                y.push_back(stored_y(p, epilogue(activation, scaled + bias, error, 0)));
            }
        }
        return y;
    }
};

}  // namespace

const OpTest &group_norm_test() {
    static const GroupNormTest test;
    return test;
}

}  // namespace ops_test
