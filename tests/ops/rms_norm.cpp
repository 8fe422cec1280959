#include <algorithm>
#include <cmath>

#include "rows.h"

namespace ops_test {

namespace {

// In roundoffs of f32, relative to the result. The squares are positive, so their sum is off by as
// many roundings as one lane adds (at least 8 lanes), halved by the root; then some 6 operations.
struct RmsNormTolerance {
    double units;

    explicit RmsNormTolerance(int cols) : units(8 + cols / 16.0) {}
    double operator()(double value) const {
        return units * kRoundoff * std::fabs(value) + 1e-37;  // below it f32 is denormal
    }
};

class RmsNormTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"add_residual", {"false", "true"}},
                {"output", {"same", "float32", "float16", "bfloat16", "int8", "uint8", "float8_e4m3", "float8_e5m2"}},
                {"scaling", {"tensor", "row", "block"}},
                {"target", {"avx2", "host"}}};
    }

    std::vector<Choice> cuda_choices() const override {
        return held_rows();
    }

    void settle(Assignments &build) const override {
        settle_held_rows(build);
        settle_scaling(build);
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases = row_cases(build);
        // A weight that is none takes the scale of all rows with it, and is the one NaN of other outputs.
        for (const auto &[col, cols] : {std::pair(4, 65), std::pair(130, 131), std::pair(0, 9)}) {
            cases.push_back({"a weight of NaN", {{"cols", cols}, {"rows", 7}}, [at = col](KernelArguments &arguments, const Dims &) {
                                 arguments.buffer("weight").set({at}, kNaN);
                             }});
        }
        return cases;
    }

    std::string held_to() const override {
        return "(4 + cols/32) of \\|y\\|; 8 bits by scales of their own twice that";
    }

    std::vector<std::string> open_dims() const override {
        return {"rows"};
    }

    std::vector<Expected> expected(const Problem &p) const override {
        return expected_of("y", p);
    }

    std::vector<Expected> expected_of(const std::string &output, const Problem &p) const override {
        const int cols = p.dim("cols"), rows = p.dim("rows");
        const RmsNormTolerance tolerance(cols);
        std::vector<Expected> result;
        for (int r = 0; r < rows; r++) {
            double sum = 0;
            std::vector<double> h;
            for (int c = 0; c < cols; c++) {
                h.push_back(p.has("residual") ? stored(p, p["x"](c, r) + p["residual"](c, r)) : p["x"](c, r));
                sum += h[c] * h[c];
            }
            const double inv = 1 / std::sqrt(sum / std::max(cols, 1) + p.scalar("eps", 0));
            std::vector<Expected> row;
            for (int c = 0; c < cols; c++) {
                const double value = h[c] * inv * p["weight"](c);
                row.push_back(output == "residual_out" ? Expected{h[c], 0} : Expected{value, tolerance(value)});
            }
            if (output != "residual_out") {
                row = stored_row(p, output, row);
            }
            result.insert(result.end(), row.begin(), row.end());
        }
        return result;
    }
};

}  // namespace

const OpTest &rms_norm_test() {
    static const RmsNormTest test;
    return test;
}

}  // namespace ops_test
