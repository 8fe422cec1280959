#include <algorithm>
#include <cmath>

#include "rows.h"

namespace ops_test {

namespace {

// In roundoffs of f32. A sum in one lane is off by up to a quarter of as many roundings as it adds (they are of both signs), and
// some 8 operations follow. What is summed is the distance from the row's first element; the mean is off by that much of its
// mean, and by a rounding of its own where there is a distance at all, which the division by a small deviation makes large. The one-pass variance is a difference of two numbers of the size of
// the mean square of that distance, and is off by that much of them.
struct LayerNormTolerance {
    double units;

    explicit LayerNormTolerance(int cols) : units(8 + cols / 4.0) {}
    double mean(double mean_distance, double mean) const {
        return mean_distance == 0 ? 0 : kRoundoff * (units * mean_distance + 2 * std::fabs(mean));
    }
    double inv(double mean_square_distance, double var_eps) const {  // relative
        return units * kRoundoff * (1 + mean_square_distance / var_eps);
    }
};

class LayerNormTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"add_residual", {"false", "true"}},
                {"output", {"same", "bfloat16", "int8", "uint8", "float8_e4m3", "float8_e5m2"}},
                {"scaling", {"tensor", "row", "block"}},
                {"set.statistics", {"two_pass", "one_pass"}},
                {"target", {"avx2", "host"}}};
    }

    std::vector<Choice> cuda_choices() const override {
        return held_rows();
    }

    void settle(Assignments &build) const override {
        settle_held_rows(build);
        settle_scaling(build);
        // It tunes nothing; there the generator has the choice.
        if (build["schedule"] == "unfused" && build.count("set.statistics")) {
            build["statistics"] = build["set.statistics"];
            build.erase("set.statistics");
        }
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases = row_cases(build);
        // A variance of 1e-4 on a mean of 30, and one of 0.3 on a mean of 1e4: the difference of mean square and squared mean would
        // have no digit left.
        const auto offset = [](KernelArguments &arguments, const Dims &dims) {
            HostBuffer &x = arguments.buffer("x");
            std::vector<double> values = x.values();
            for (size_t i = 0; i < values.size(); i++) {
                values[i] = i / size_t(dims.at("cols")) % 2 ? 1e4 + values[i] : 30 + 0.01 * values[i];
            }
            x.assign(values);
        };
        cases.push_back({"large mean", {{"cols", 384}, {"rows", 5}}, offset});
        // The first element, from which the one-pass form takes distances, is far from the others.
        const auto outlier = [](KernelArguments &arguments, const Dims &dims) {
            for (int r = 0; r < dims.at("rows"); r++) {
                arguments.buffer("x").set({0, r}, 50);
            }
        };
        cases.push_back({"outlier first", {{"cols", 200}, {"rows", 5}}, outlier});
        // The variance is 0, and a mean that is off by a rounding shows 300 times as large.
        const auto constant = [](KernelArguments &arguments, const Dims &dims) {
            const double values[] = {1000.1, 1e6 + 0.1, -0.3, 1e-6};
            for (int r = 0; r < dims.at("rows"); r++) {
                set_row(arguments.buffer("x"), r, values[r % 4]);
            }
        };
        cases.push_back({"constant rows", {{"cols", 1000}, {"rows", 4}}, constant});
        return cases;
    }

    std::string held_to() const override {
        return "(4 + cols/8) (mean \\|x - first\\| / deviation \\|weight\\| + \\|scaled\\|) + \\|mean\\| / deviation \\|weight\\| where "
               "not all are equal + 4 (\\|scaled\\| + \\|bias\\|); in one pass \\|scaled\\| times 1 + mean (x - first)^2 / variance; 8 "
               "bits by scales of their own twice that";
    }

    std::vector<std::string> open_dims() const override {
        return {"rows"};
    }

    std::vector<Expected> expected(const Problem &p) const override {
        return expected_of("y", p);
    }

    std::vector<Expected> expected_of(const std::string &output, const Problem &p) const override {
        const int cols = p.dim("cols"), rows = p.dim("rows");
        const LayerNormTolerance tolerance(cols);
        const bool one_pass = p.is("statistics", "one_pass");
        std::vector<Expected> y;
        for (int r = 0; r < rows; r++) {
            std::vector<double> h;
            for (int c = 0; c < cols; c++) {
                h.push_back(p.has("residual") ? stored(p, p["x"](c, r) + p["residual"](c, r)) : p["x"](c, r));
                if (output == "residual_out") {
                    y.push_back({h[c], 0});
                }
            }
            if (output == "residual_out") {
                continue;
            }
            double sum = 0, summed = 0, sum_sq = 0, distance_sq = 0;
            for (int c = 0; c < cols; c++) {
                sum += h[c];
                summed += std::fabs(h[c] - h[0]);
            }
            const double mean = sum / cols;
            for (int c = 0; c < cols; c++) {
                const double d = h[c] - mean, from_first = h[c] - h[0];
                sum_sq += d * d;
                distance_sq += from_first * from_first;
            }
            const double mean_error = tolerance.mean(summed / cols, mean);
            const double var = sum_sq / cols + p.scalar("eps", 0), inv = 1 / std::sqrt(var);
            // The error of the mean also enters the two-pass variance, squared.
            const double inv_error = tolerance.inv(one_pass ? distance_sq / cols : mean_error * mean_error, var);
            std::vector<Expected> row;
            for (int c = 0; c < cols; c++) {
                const double w = p["weight"](c), b = p["bias"](c);
                const double scaled = (h[c] - mean) * inv * w;
                const double error =
                    mean_error * inv * std::fabs(w) + inv_error * std::fabs(scaled) + 8 * kRoundoff * (std::fabs(scaled) + std::fabs(b));
                row.push_back({scaled + b, error});
            }
            row = stored_row(p, output, row);
            y.insert(y.end(), row.begin(), row.end());
        }
        return y;
    }
};

}  // namespace

const OpTest &layer_norm_test() {
    static const LayerNormTest test;
    return test;
}

}  // namespace ops_test
