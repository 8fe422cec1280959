#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "draws.h"
#include "linear.h"

namespace ops_test {

namespace {

// Logits are multiples of 1/4 with many ties, so that the order of them is exact. Where a share of weights, which are exponentials of
// f32, is as good as at a limit, the token on either side of it will do.
class SampleTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}},      {"type", {"float32", "float16", "bfloat16"}},
                {"min_p_first", {"true", "false"}}, {"temperature_last", {"false", "true"}},
                {"logprobs", {"true", "false"}},    {"target", {"avx2", "host"}}};
    }

    void settle(Assignments &build) const override {
        if (build["schedule"] == "unfused") {
            build.erase("digit");
        }
    }

    std::vector<Case> cases(const Assignments &build) const override {
        std::vector<Case> cases;
        const bool emulated = build.at("target") == "cuda";  // which takes its time
        for (size_t n = 0; n < kOddSizes.size(); n += emulated ? 4 : 1) {
            cases.push_back({"random", {{"vocab", kOddSizes[n]}, {"rows", cycle({5, 1, 9, 2, 17, 8, 31}, n)}}});
        }
        // Several chunks of panels. In the second few tokens have nearly all of the weight, as in text.
        const auto peaked = [](KernelArguments &arguments, const Dims &dims) {
            HostBuffer &x = arguments.buffer("logits");
            for (int row = 0; row < dims.at("rows"); row++) {
                for (int i = 0; i < 12; i++) {
                    x.set({int((i * 1237 + row * 311) % dims.at("vocab")), row}, 16 - 0.5 * i);
                }
            }
        };
        cases.push_back({"a vocabulary", {{"vocab", 5003}, {"rows", emulated ? 5 : 13}}});
        cases.push_back({"peaked", {{"vocab", 9001}, {"rows", emulated ? 3 : 12}}, peaked});
        const double large = is_f16(build) ? 65504 : 3e38;
        for (int vocab : emulated ? std::vector<int>{1, 131} : std::vector<int>{1, 2, 17, 131, 1025}) {
            const auto special = [large](KernelArguments &arguments, const Dims &dims) { special_rows(arguments, dims, large); };
            cases.push_back({"special rows", {{"vocab", vocab}, {"rows", 44}}, special});
        }
        return cases;
    }

    static void special_rows(KernelArguments &arguments, const Dims &dims, double large) {
        HostBuffer &x = arguments.buffer("logits"), &temperature = arguments.buffer("temperature"), &top_k = arguments.buffer("top_k");
        HostBuffer &top_p = arguments.buffer("top_p"), &min_p = arguments.buffer("min_p"), &uniform = arguments.buffer("uniform");
        const int vocab = int(dims.at("vocab"));
        const auto plain = [&](int row) {
            temperature.set({row}, 1);
            top_k.set({row}, 0);
            top_p.set({row}, 1);
            min_p.set({row}, 0);
        };
        for (int row = 0; row < dims.at("rows"); row++) {
            if (row % 2 == 0) {
                plain(row);
            }
        }
        x.set({vocab / 2, 0}, kNaN);
        x.set({vocab - 1, 1}, kInfinity);
        x.set({vocab / 3, 2}, -kInfinity);
        set_row(x, 3, -kInfinity);
        x.set({0, 4}, kInfinity);
        x.set({vocab - 1, 4}, kInfinity);
        set_row(x, 5, large);
        set_row(x, 6, -large);
        set_row(x, 7, 0);
        set_row(x, 8, 0.25);
        temperature.set({9}, kNaN);
        temperature.set({10}, kInfinity);
        x.set({vocab / 2, 10}, -kInfinity);
        temperature.set({11}, -1);
        temperature.set({12}, 1e-30);
        temperature.set({13}, 1e-44);
        temperature.set({14}, -kInfinity);
        temperature.set({15}, 0);
        x.set({vocab / 2, 15}, kNaN);
        top_k.set({16}, -1);
        top_k.set({17}, vocab);
        top_k.set({18}, 2147483647);
        top_k.set({19}, vocab - 1);
        top_k.set({20}, -2147483648.0);
        const double shares[] = {0, -1, kNaN, 2, 1e-9, kInfinity};
        for (int n = 0; n < 6; n++) {
            plain(21 + n);
            top_p.set({21 + n}, shares[n]);
            plain(27 + n);
            min_p.set({27 + n}, shares[n]);
        }
        const double numbers[] = {0, 1, kNaN, -1, 0x1.fffffep-1, 1e-30, kInfinity};
        for (int n = 0; n < 7; n++) {
            plain(33 + n);
            uniform.set({33 + n}, numbers[n]);
        }
        // Ties across the cuts of top-k and of top-p, and what is far below.
        for (int row : {40, 41, 42, 43}) {
            plain(row);
            set_row(x, row, row % 2 ? 1 : -2);
            x.set({vocab - 1, row}, 1);
            x.set({vocab / 2, row}, -kInfinity);
            top_k.set({row}, row < 42 ? 3 : 0);
            top_p.set({row}, row < 42 ? 1 : 0.375);
        }
        x.set({0, 43}, large);
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t) const override {
        make_integers(&arguments.buffer("logits"), 14, 0.25);
        const double temperatures[] = {1, 0.75, 0, 1.5, 0.5, 2, 1}, top_p[] = {0.9, 1, 0.5, 0.97, 0.3}, min_p[] = {0, 0.1, 0.02};
        const int top_k[] = {0, 5, 40, 1, 0, 7, 0, 3, 100, 0, 2};
        for (int row = 0; row < dims.at("rows"); row++) {
            const auto set = [&](const char *name, double value) {
                HostBuffer &buffer = arguments.buffer(name);
                if (row < buffer.extents()[0]) {
                    buffer.set({row}, value);
                }
            };
            set("temperature", temperatures[row % 7]);
            set("top_k", top_k[row % 11]);
            set("top_p", top_p[row % 5]);
            set("min_p", min_p[row % 3]);
            set("uniform", std::fmod(0.137 + row * 0.6180339887, 1.0));
        }
    }

    std::string held_to() const override {
        return "0: the token of exact weights; where a share is within 16 roundings of a limit, that on the other side of it, too";
    }

    std::vector<std::string> open_dims() const override {
        return {"rows"};
    }

    std::vector<Expected> expected(const Problem &p) const override {
        return expected_of("token", p);
    }

    std::vector<Expected> expected_of(const std::string &output, const Problem &p) const override {
        std::vector<Expected> y;
        for (int row = 0; row < p.dim("rows"); row++) {
            const double *x = p["logits"].row(row);
            const int vocab = p.dim("vocab");
            const Asked asked{p["temperature"](row), p["top_p"](row), p["min_p"](row), p["uniform"](row), int(p["top_k"](row))};
            const std::vector<int> tokens = tokens_of(p, x, vocab, asked);
            if (output == "token") {
                y.push_back(one_of(tokens));
                continue;
            }
            if (tokens.front() < 0) {
                y.push_back({kNaN, 0});
                continue;
            }
            double low = kInfinity, high = -kInfinity, error = 0;
            for (int token : tokens) {
                const Expected e = logprob_of(x, vocab, token);
                low = std::min(low, e.value);
                high = std::max(high, e.value);
                error = std::max(error, e.error);
            }
            y.push_back({(low + high) / 2, (high - low) / 2 + error});
        }
        return y;
    }

private:
    // The error is that of cross_entropy: of the logarithm of a sum, and of a distance.
    static Expected logprob_of(const double *x, int vocab, int token) {
        const double top = largest_of(x, vocab);
        double sum = 0;
        for (int i = 0; i < vocab; i++) {
            sum += x[i] == -kInfinity ? 0 : std::exp(below(x[i], top));
        }
        const double at = below(x[token], top), value = at - std::log(sum);
        return {value, (30 + vocab / 8.0 + 4 * std::fabs(at) + std::fabs(value)) * kRoundoff};
    }
};

}  // namespace

const OpTest &sample_test() {
    static const SampleTest test;
    return test;
}

}  // namespace ops_test
