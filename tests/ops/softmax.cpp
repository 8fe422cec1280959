#include <algorithm>
#include <cmath>

#include "rows.h"

namespace ops_test {

namespace {

// In roundoffs of f32, relative to the result. e^x is off by 4 + 2 |x|, and what goes into it is
// off by 3 roundings of the numbers that it is made of; the same again for the sum below the
// line, which has as many roundings as one lane adds (at least 8 lanes), and 4 for the rest.
struct SoftmaxTolerance {
    int cols;
    double size, top;  // |scale * x| + |mask| of the row; its maximum
    bool scaled_or_masked;

    double operator()(double logit, double value) const {
        const double exponential = 4 + 2 * std::min(std::fabs(logit - top), 90.0) + 3 * size;
        const double below = 4 + 3 * size + cols / 8.0 + 2;
        return (exponential + below + 4) * kRoundoff * value + 2e-38;  // e^x is 0 where f32 is denormal
    }
    // The logarithm has the relative error of the sum, and a rounding of each of its parts.
    double log(double logit, double value) const {
        const double rounded = scaled_or_masked ? 6 * size : 0;
        return (rounded + 4 + cols / 8.0 + 8 + 4 * std::fabs(logit - top) + 4 * std::fabs(value)) * kRoundoff;
    }
};

class SoftmaxTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"scaled", {"false", "true"}},
                {"masked", {"false", "true"}},
                {"causal", {"false", "true"}},
                {"log", {"false", "true"}},
                {"output", {"same", "float32", "float16", "bfloat16", "int8", "uint8", "float8_e4m3"}},
                {"target", {"avx2", "host"}}};
    }

    std::vector<Choice> cuda_choices() const override {
        return held_rows();
    }

    void settle(Assignments &build) const override {
        settle_held_rows(build);
    }

    bool has_batches(const Assignments &choices) const override {
        return !is_on(choices, "causal") && !is_on(choices, "log");  // logarithms are none of integers above 0
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases = row_cases(build);
        cases.push_back({"several blocks a row", {{"cols", 33001}, {"rows", 2}}});
        for (int cols : {1, 16, 33, 130, 33001}) {
            // Whole rows masked, rows with one column left, logits that differ by more than e^x holds, and NaN and infinity.
            const auto masked = [cols](KernelArguments &arguments, const Dims &) {
                HostBuffer &x = arguments.buffer("x");
                set_row(x, 1, -kInfinity);
                set_row(x, 3, -kInfinity);
                x.set({cols - 1, 3}, 2);
                for (int c = 0; c < cols; c++) {
                    x.set({c, 4}, -11.0 * (c % 3000));
                    x.set({c, 5}, 60000 - 32.0 * (c % 3000));
                    x.set({c, 6}, -60000 + 32.0 * (c % 3));
                }
                x.set({cols / 2, 8}, kNaN);
                x.set({cols - 1, 9}, kInfinity);
            };
            cases.push_back({"masked", {{"cols", cols}, {"rows", 10}}, masked});
        }
        if (build.at("masked") == "true") {
            const auto mask = [](KernelArguments &arguments, const Dims &dims) {
                HostBuffer &m = arguments.buffer("mask");
                for (int r = 0; r < dims.at("rows"); r++) {
                    for (int c = 0; c < dims.at("cols"); c++) {
                        m.set({c, r}, r == 2 || (c + r) % 3 == 0 ? -kInfinity : 0);
                    }
                }
            };
            cases.push_back({"mask of -infinity", {{"cols", 67}, {"rows", 9}}, mask});
        }
        if (build.at("causal") == "true") {
            cases.push_back({"rows that see nothing", {{"cols", 5}, {"rows", 21}}});
            cases.push_back({"square", {{"cols", 33}, {"rows", 33}}});
        }
        return cases;
    }

    std::string held_to() const override {
        return "(7 + cols/16 + (highest - logit) + 3 size) of y, where `size` is the largest \\|scale x\\| + \\|mask\\| of a row; log 6 + "
               "cols/16 + 2 (highest - logit) + 2 \\|y\\| + 3 size where scaled or masked";
    }

    std::vector<std::string> open_dims() const override {
        return {"rows"};
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const int cols = p.dim("cols"), rows = p.dim("rows");
        const double scale = p.scalar("scale", 1);
        const Tensor &x = p["x"], *mask = p.has("mask") ? &p["mask"] : nullptr;
        const bool causal = p.is("causal", "true"), log = p.is("log", "true"), scaled = p.is("scaled", "true");
        std::vector<Expected> y;
        for (int r = 0; r < rows; r++) {
            std::vector<double> logits;
            double top = -kInfinity, size = 0, sum = 0;
            bool none = true;  // all is masked
            for (int c = 0; c < cols; c++) {
                const double m = mask ? (*mask)(c, r) : 0;
                const bool seen = !causal || c <= r + cols - rows;
                const double logit = seen ? scale * x(c, r) + m : -kInfinity;
                logits.push_back(logit);
                top = std::max(top, logit);  // a NaN comes in with the sum
                none = none && logit == -kInfinity;
                if (std::isfinite(logit)) {
                    size = std::max(size, std::fabs(scale * x(c, r)) + std::fabs(m));
                }
            }
            const SoftmaxTolerance tolerance{cols, size, top, mask || scaled};
            for (double logit : logits) {
                sum += none ? 0 : std::exp(logit - top);
            }
            for (double logit : logits) {
                double value = none ? 0 : std::exp(logit - top) / sum, error = tolerance(logit, value);
                if (log) {
                    value = none ? -kInfinity : logit - top - std::log(sum);
                    error = tolerance.log(logit, value);
                }
                y.push_back(stored_y(p, {value, logit == -kInfinity ? 0 : error}));
            }
        }
        return y;
    }
};

}  // namespace

const OpTest &softmax_test() {
    static const SoftmaxTest test;
    return test;
}

}  // namespace ops_test
