#include "linear.h"

namespace ops_test {

namespace {

class SpladeTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "by tiles", "unfused"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"add_bias", {"true", "false"}},
                {"masked", {"true", "false"}},
                {"target", {"avx2", "host"}}};
    }

    void settle(Assignments &build) const override {
        const auto is = [&](const char *name, const char *value) { return build.count(name) && build.at(name) == value; };
        const bool on_tensor_cores = is("target", "cuda") && is("schedule", "splade");
        if (on_tensor_cores && is("masked", "false")) {
            build["set.ping_pong"] = "true";
            build["set.rows"] = "64";
        } else if (on_tensor_cores && is("set.columns", "256")) {
            build["set.rows"] = "128";
            build["set.stages"] = "4";
        } else if (is("schedule", "by tiles")) {
            build["schedule"] = "";
            build["type"] = is("type", "float16") ? "bfloat16" : build["type"];
            build["set.tiles"] = "always";
            build["set.panels"] = "2";
        }
    }

    // One version for the positions of a call, or all of them.
    std::vector<Choice> cuda_choices() const override {
        return {{"set.columns", {"0", "64", "256", "128"}}};
    }

    std::vector<Case> cases(const Assignments & /*build*/) const override {
        std::vector<Case> cases;
        size_t n = 0;
        for (Dims dims : product_sizes("positions", "vocab", "k")) {
            dims["batch"] = cycle({1, 2, 3}, n++);
            cases.push_back({"random", dims});
        }
        const auto special = [](KernelArguments &arguments, const Dims &) {
            HostBuffer &x = arguments.buffer("x");
            x.set({2, 3, 0}, kNaN);
            x.set({1, 16, 1}, kInfinity);
            x.set({0, 1, 2}, -kInfinity);
            for (int k = 0; k < 5; k++) {
                for (int i = 0; i < 17; i++) {
                    x.set({k, i, 3}, 1e-5);
                }
            }
        };
        cases.push_back({"special", {{"positions", 17}, {"vocab", 49}, {"k", 5}, {"batch", 4}}, special});
        // Blocks of positions that count, in part or not at all; what does not count may be anything.
        const auto blocks = [](KernelArguments &arguments, const Dims &) {
            HostBuffer &x = arguments.buffer("x");
            x.set({0, 140, 0}, kNaN);
            x.set({3, 75, 1}, find_buffer(arguments, "lengths") ? kNaN : 1);
            x.set({3, 149, 1}, find_buffer(arguments, "lengths") ? kInfinity : 1);
        };
        cases.push_back({"blocks", {{"positions", 150}, {"vocab", 70}, {"k", 9}, {"batch", 4}}, blocks});
        return cases;
    }

    std::string held_to() const override {
        return "the most of a column's logits, each (k + 1)/2 of sum \\|x w\\| + 1 of (\\|sum\\| + \\|bias\\|), and 3 of y";
    }

    std::vector<std::string> open_dims() const override {
        return {"batch"};
    }

    bool needs_dense(const std::string &argument) const override {
        return is_packed(argument);
    }

    // All of a sequence, some of it, more than there is, nothing.
    void fill(KernelArguments &arguments, const Dims &dims, uint64_t) const override {
        spoil_padding(arguments, "w", dims.at("k"), dims.at("vocab"));
        if (HostBuffer *lengths = find_buffer(arguments, "lengths")) {
            const int64_t all = dims.at("positions");
            for (int n = 0; n < lengths->extents()[0]; n++) {
                lengths->set({n}, double(n % 4 == 0 ? all : n % 4 == 1 ? (all + 1) / 2 : n % 4 == 2 ? all + 3 : 0));
            }
        }
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const Tensor &x = p["x"];
        const int depth = p.dim("k");
        std::vector<Expected> y;
        for (int n = 0; n < p.dim("batch"); n++) {
            const int length = p.has("lengths") ? std::min(int(p["lengths"](n)), p.dim("positions")) : p.dim("positions");
            for (int col = 0; col < p.dim("vocab"); col++) {
                const double *w = column(p, "w", col), bias = p.has("bias") ? p["bias"](col) : 0;
                double top = 0, error = 0;  // relu
                for (int i = 0; i < length; i++) {
                    const Inexact logit = plus(sum_of_products(depth, x.row(i + int64_t(n) * x.extents[1]), w), bias);
                    top = std::isnan(top) || std::isnan(logit.value) ? kNaN : std::max(top, logit.value);
                    error = std::isfinite(logit.value) ? std::max(error, logit.error) : error;
                }
                const double value = std::log1p(top);
                y.push_back(expect({value, error + 6 * kRoundoff * value}));
            }
        }
        return y;
    }
};

}  // namespace

const OpTest &splade_test() {
    static const SpladeTest test;
    return test;
}

}  // namespace ops_test
