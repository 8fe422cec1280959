#include <cmath>

#include "rows.h"

namespace ops_test {

namespace {

// In roundoffs of f32, relative to the result. The squares are positive, so their sum is off by as
// many roundings as one lane adds (at least 8 lanes), halved by the root; then some 6 operations.
struct Tolerance {
    double units;

    explicit Tolerance(int cols)
        : units(8 + cols / 16.0) {
    }
    double operator()(double value) const {
        return units * kRoundoff * std::fabs(value) + 1e-37;  // below it f32 is denormal
    }
};

class RmsNormTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"target", {"avx512,avx2", "avx2", "host"}}};
    }

    std::vector<Case> cases(const Assignments &build) const override {
        return row_cases(build);
    }

    std::vector<std::string> open_dims() const override {
        return {"rows"};
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const int cols = p.dim("cols"), rows = p.dim("rows");
        const Tolerance tolerance(cols);
        std::vector<Expected> y;
        for (int r = 0; r < rows; r++) {
            double sum = 0;
            for (int c = 0; c < cols; c++) {
                sum += p["x"](c, r) * p["x"](c, r);
            }
            const double inv = 1 / std::sqrt(sum / cols + p.scalar("eps", 0));
            for (int c = 0; c < cols; c++) {
                const double value = p["x"](c, r) * inv * p["weight"](c);
                y.push_back({value, tolerance(value)});
            }
        }
        return y;
    }
};

}  // namespace

const OpTest &rms_norm_test() {
    static const RmsNormTest test;
    return test;
}

}  // namespace ops_test
