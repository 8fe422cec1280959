#include <algorithm>
#include <cmath>

#include "rotation.h"
#include "rows.h"

namespace ops_test {

namespace {

class RopeTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {
            {"schedule", {"", "unfused"}},         {"type", {"float32", "float16", "bfloat16"}}, {"pairing", {"half_split", "interleaved"}},
            {"angles", {"tables", "frequencies"}}, {"table_type", {"float32", "bfloat16"}},      {"position_type", {"int32", "int64"}},
            {"target", {"avx2", "host"}}};
    }

    void settle(Assignments &build) const override {
        if (build["angles"] == "frequencies") {
            build.erase("table_type");
        }
    }

    // Pairs that 16, 8 or neither divide; heads that have more elements than pairs, or not.
    std::vector<Case> cases(const Assignments &) const override {
        std::vector<Case> cases;
        const std::vector<int> pairs = {8, 16, 1, 3, 32, 24, 7, 64, 40, 5, 48, 2, 128};
        for (size_t n = 0; n < pairs.size(); n++) {
            const int width = 2 * pairs[n], more = cycle({0, 16, 2, 0, 32, 6, 0, 130}, n);
            cases.push_back({"random",
                             {{"width", width},
                              {"d", width + more},
                              {"heads", cycle({3, 1, 8, 5, 2}, n)},
                              {"tokens", cycle({5, 1, 9, 4, 17, 2}, n)},
                              {"length", 50}}});
        }
        cases.push_back({"many tokens", {{"width", 64}, {"d", 64}, {"heads", 4}, {"tokens", 130}, {"length", 7}}});
        for (int width : {16, 20}) {
            cases.push_back({"special", {{"width", width}, {"d", 40}, {"heads", 3}, {"tokens", 12}, {"length", 9}}, special});
        }
        return cases;
    }

    std::string held_to() const override {
        return "1 of \\|a cos\\| + \\|b sin\\|, 2.6 where the angles are computed";
    }

    bool has_loose_extents() const override {
        return true;
    }

    std::vector<std::string> open_dims() const override {
        return {"heads", "tokens"};
    }

    // Angles of as many pairs as there are, and a row of the tables for a position.
    bool needs_some(const std::string &dim, const Assignments &build) const override {
        const auto angles = build.find("angles");
        return dim == "d" || dim == "width" || (dim == "length" && (angles == build.end() || angles->second == "tables"));
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t seed) const override {
        set_positions(arguments, dims.at("length"), seed + 23);
        set_frequencies(arguments);
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const int width = p.dim("width") / 2 * 2, d = p.dim("d");
        const Tensor &x = p["x"];
        std::vector<Expected> y;
        for (int token = 0; token < p.dim("tokens"); token++) {
            for (int head = 0; head < p.dim("heads"); head++) {
                for (int i = 0; i < d; i++) {
                    if (i >= width) {
                        y.push_back({x(i, head, token), 0});
                        continue;
                    }
                    const Turn turn = turn_of(p, token, i);
                    const double a = x(i, head, token) * turn.cosine, b = x(turn.partner, head, token) * turn.sine;
                    y.push_back({a + b, (2 * kRoundoff + turn.error) * (std::fabs(a) + std::fabs(b)) + 1e-37});
                }
            }
        }
        return y;
    }

private:
    // Also positions that no table has, of which the nearest row is read, and angles around multiples of pi/2.
    static void special(KernelArguments &arguments, const Dims &dims) {
        HostBuffer &x = arguments.buffer("x"), &positions = arguments.buffer("positions");
        x.set({0, 0, 0}, kNaN);
        x.set({1, 1, 1}, kInfinity);
        x.set({int(dims.at("width")) - 1, 2, 2}, -kInfinity);
        x.set({39, 0, 3}, kNaN);
        x.set({38, 1, 3}, kInfinity);
        x.set({2, 2, 4}, 60000);
        x.set({3, 2, 4}, 6e-8);
        const bool tables = arguments.has_buffer("cos_table");
        const std::vector<int> far = {-1, -2000000, 9, 2000000000, 8, 0};
        const std::vector<int> angles = {1048576, -1048576, 1048575, 710, 355, 0, 22, 11, 131073, 1000000, 524288, 3};
        for (int token = 0; token < 12; token++) {
            positions.set({token}, tables ? cycle(far, size_t(token)) : angles[size_t(token)]);
        }
        if (tables) {
            arguments.buffer("cos_table").set({2, 8}, kNaN);
            arguments.buffer("sin_table").set({3, 0}, kInfinity);
        }
    }
};

}  // namespace

const OpTest &rope_test() {
    static const RopeTest test;
    return test;
}

}  // namespace ops_test
