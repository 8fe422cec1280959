#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rows.h"

namespace ops_test {

namespace {

class CrossEntropyTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"smoothed", {"false", "true"}},
                {"target", {"avx2", "host"}}};
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases;
        for (size_t n = 0; n < kOddSizes.size(); n++) {
            cases.push_back({"random", {{"cols", kOddSizes[n]}, {"rows", cycle({5, 1, 9, 2, 17, 8, 3}, n)}}});
        }
        cases.push_back({"several blocks a row", {{"cols", 33001}, {"rows", 2}}});
        const double large = is_f16(build) ? 60000 : 1e17;
        const auto special = [large](KernelArguments &arguments, const Dims &dims) {
            HostBuffer &x = arguments.buffer("logits"), &labels = arguments.buffer("labels");
            const int cols = int(dims.at("cols"));
            x.set({cols / 2, 0}, kNaN);
            x.set({cols - 1, 1}, kInfinity);
            x.set({cols / 3, 2}, -kInfinity);
            labels.set({2}, cols / 3);  // of probability 0
            set_row(x, 3, -kInfinity);
            set_row(x, 4, large);
            for (int c = 0; c < cols; c++) {
                x.set({c, 5}, 60000 - 32.0 * (c % 3000));  // in f16 too
            }
            labels.set({6}, cols);
            labels.set({7}, -1);
            labels.set({8}, -100);
            x.set({0, 8}, kNaN);  // ignored
            labels.set({9}, 2147483647);
            labels.set({10}, 0);
            labels.set({11}, cols - 1);
        };
        for (int cols : {1, 17, 64, 131, 33001}) {
            cases.push_back({"special rows", {{"cols", cols}, {"rows", 12}}, special});
        }
        if (build.at("smoothed") == "true") {
            // A weight of 0 leaves out what is -infinity, of the other columns and of the label.
            for (const double smoothing : {0.0, 1.0}) {
                const auto alter = [special, smoothing](KernelArguments &arguments, const Dims &dims) {
                    special(arguments, dims);
                    arguments.scalar("label_smoothing", smoothing);
                };
                cases.push_back({fmt::format("smoothing of {}", smoothing), {{"cols", 33}, {"rows", 12}}, alter});
            }
            // Whose sum is no number of f32, and whose mean is one.
            if (build.at("type") == "float32") {
                const auto far = [](KernelArguments &arguments, const Dims &) {
                    HostBuffer &x = arguments.buffer("logits");
                    std::vector<double> values = x.values();
                    for (size_t i = 0; i < values.size(); i++) {
                        values[i] = i % 100 == 0 ? 0 : -1e37;
                    }
                    x.assign(values);
                };
                cases.push_back({"far logits", {{"cols", 100}, {"rows", 2}}, far});
            }
        }
        return cases;
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t) const override {
        HostBuffer &labels = arguments.buffer("labels");
        std::vector<double> values = labels.values();
        for (double &v : values) {
            v = v < 10 ? -100 : std::fmod(v * 7, double(std::max<int64_t>(dims.at("cols"), 1)));
        }
        labels.assign(values);
    }

    std::string held_to() const override {
        return "15 + cols/16 + 2 \\|logit of the label - highest\\| + \\|loss\\|/2; smoothed, (2 + cols/2) of (highest - lowest logit) "
               "more";
    }

    bool needs_some(const std::string &dim, const Assignments &) const override {
        return dim == "cols";
    }

    std::vector<std::string> open_dims() const override {
        return {"rows"};
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const int cols = p.dim("cols"), rows = p.dim("rows");
        const double s = p.is("smoothed", "true") ? p.scalar("label_smoothing", 0) : 0;
        std::vector<Expected> loss;
        for (int r = 0; r < rows; r++) {
            const double label = p["labels"](r);
            double top = -kInfinity, sum = 0, total = 0, size = 0;
            for (int c = 0; c < cols; c++) {
                top = std::max(top, p["logits"](c, r));
            }
            for (int c = 0; c < cols; c++) {
                const double below = p["logits"](c, r) - top;
                sum += std::exp(below);
                total += below;
                size = std::max(size, std::fabs(below));
            }
            if (label == -100) {
                loss.push_back({0, 0});
            } else if (label < 0 || label >= cols) {
                loss.push_back({kNaN, 0});
            } else {
                const double at_label = p["logits"](int(label), r) - top;
                const double value = std::log(sum) - ((s < 1 ? (1 - s) * at_label : 0) + (s > 0 ? s / cols * total : 0));
                // The logarithm is off by the relative error of the sum, which has e^x and an addition in each
                // lane; the rest by roundings of the distances from the top, and by those of their sum.
                const double units = 30 + cols / 8.0 + 4 * std::fabs(at_label) + std::fabs(value) + (s > 0 ? 4 + cols : 0) * size;
                loss.push_back({value, units * kRoundoff});
            }
        }
        return loss;
    }
};

}  // namespace

const OpTest &cross_entropy_test() {
    static const CrossEntropyTest test;
    return test;
}

}  // namespace ops_test
