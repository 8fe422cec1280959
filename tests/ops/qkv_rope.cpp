#include <algorithm>
#include <cmath>
#include <numeric>

#include "cache.h"
#include "linear.h"
#include "rotation.h"

namespace ops_test {

namespace {

class QkvRopeTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused", "nk"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"add_bias", {"false", "true"}},
                {"qk_norm", {"none", "weight", "one_plus_weight"}},
                {"pairing", {"half_split", "interleaved"}},
                {"angles", {"tables", "frequencies"}},
                {"table_type", {"float32", "bfloat16"}},
                {"position_type", {"int32", "int64"}},
                {"cache_type", {"same", "float32", "float16", "bfloat16", "int8", "float8_e4m3", "float8_e5m2"}},
                {"page", {"0", "16"}},
                {"target", {"avx2", "host"}}};
    }

    std::vector<Choice> cuda_choices() const override {
        return {{"set.vector", {"0", "1"}}};
    }

    void settle(Assignments &build) const override {
        if (build["angles"] == "frequencies") {
            build.erase("table_type");
        }
    }

    // Heads that are panels, parts of them or neither, pairs that 16, 8 or neither divide, and heads that are turned in part.
    std::vector<Case> cases(const Assignments &) const override {
        std::vector<Case> cases;
        const std::vector<int> pairs = {8, 16, 1, 3, 32, 24, 64, 40, 5}, tokens = {1, 2, 5, 7, 13, 3, 33, 4, 100};
        for (size_t n = 0; n < pairs.size(); n++) {
            const int width = 2 * pairs[n];
            const int64_t key_heads = cycle({1, 3, 2, 4}, n);
            cases.push_back({"random",
                             {{"width", width},
                              {"d", width + cycle({0, 16, 2, 0, 0, 6}, n)},
                              {"heads", key_heads * cycle({3, 1, 2}, n)},
                              {"key_heads", key_heads},
                              {"depth", cycle({33, 16, 7, 1, 64, 129, 2}, n)},
                              {"tokens", tokens[n]},
                              {"keys", cycle({70, 33, 16}, n)},
                              {"batch", cycle({3, 2}, n)},
                              {"length", 50}}});
        }
        const Dims some = {{"width", 16},  {"d", 20},    {"heads", 4}, {"key_heads", 2}, {"depth", 5},
                           {"tokens", 11}, {"keys", 24}, {"batch", 2}, {"length", 9}};
        cases.push_back({"special rows", some, special_rows});
        cases.push_back({"slots outside", some, slots_outside});
        cases.push_back({"no token is stored", some, [](KernelArguments &arguments, const Dims &) { arguments.buffer("slots").fill(-1); }});
        return cases;
    }

    std::string held_to() const override {
        return "(depth + 1)/2 of sum \\|x w\\| + 1 of (\\|sum\\| + \\|bias\\|); normed: as much of the root mean square, and (d/2 + 11)/2 "
               "of the "
               "result; turned: 1 of \\|a cos\\| + \\|b sin\\|, 2.6 where the angles are computed";
    }

    bool has_loose_extents() const override {
        return true;
    }

    std::vector<std::string> open_dims() const override {
        return {};
    }

    bool needs_dense(const std::string &argument) const override {
        return is_packed(argument);
    }

    bool needs_some(const std::string &dim, const Assignments &build) const override {
        const auto angles = build.find("angles");
        return dim == "d" || dim == "width" || dim == "key_heads" ||
               (dim == "length" && (angles == build.end() || angles->second == "tables"));
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t seed) const override {
        const int64_t d = dims.at("d");
        spoil_padding(arguments, "w_q", dims.at("depth"), d * dims.at("heads"));
        spoil_padding(arguments, "w_k", dims.at("depth"), d * dims.at("key_heads"));
        spoil_padding(arguments, "w_v", dims.at("depth"), d * dims.at("key_heads"));
        set_positions(arguments, dims.at("length"), seed + 23);
        set_frequencies(arguments);
        // Each another one, in an order of no pattern; every fifth token is not stored.
        HostBuffer &slots = arguments.buffer("slots");
        const int all = slots_of(arguments);
        int step = std::max(all * 5 / 8, 1);
        while (std::gcd(step, all) > 1) {
            step++;
        }
        for (int token = 0; token < slots.extents()[0]; token++) {
            slots.set({token}, token % 5 == 3 || token >= all ? -1 : double((int64_t(token) + 3) * step % all));
        }
    }

    std::vector<Expected> expected(const Problem &p) const override {
        return expected_of("q", p);
    }

    std::vector<Expected> expected_of(const std::string &output, const Problem &p) const override {
        if (output != "q") {
            return rows_of_cache(output, p);
        }
        std::vector<Expected> y;
        for (int token = 0; token < p.dim("tokens"); token++) {
            for (int head = 0; head < p.dim("heads"); head++) {
                for (const Inexact &element : head_of(p, "q", head, token)) {
                    y.push_back(expect(element));
                }
            }
        }
        return y;
    }

private:
    /** Rows of the cache. */
    static int slots_of(KernelArguments &arguments) {
        const std::vector<int> extents = arguments.buffer(arguments.has_buffer("k") ? "k" : "k_pages").extents();
        return extents[1] * extents[3];
    }

    static void slots_outside(KernelArguments &arguments, const Dims &) {
        HostBuffer &slots = arguments.buffer("slots");
        const int all = slots_of(arguments);
        const std::vector<double> outside = {double(all), -1, double(all) - 1, -2, 2147483647, 0, -2147483648.0, double(all) + 1};
        for (size_t i = 0; i < outside.size(); i++) {
            slots.set({int(i)}, outside[i]);
        }
        for (int token = int(outside.size()); token < slots.extents()[0]; token++) {
            slots.set({token}, token);
        }
    }

    /** The elements of a head of a token as they are stored, but for what storing rounds. */
    static std::vector<Inexact> head_of(const Problem &p, const std::string &name, int head, int token) {
        const int d = p.dim("d");
        std::vector<Inexact> values;
        for (int i = 0; i < d; i++) {
            values.push_back(linear(p, "x", token, "w_" + name, head * d + i, p.dim("depth"), "bias_" + name));
        }
        if (name == "v") {
            return values;
        }
        return rotated(p, token, p.has("norm_" + name) ? normed(p, p["norm_" + name], values) : values);
    }

    static std::vector<Inexact> normed(const Problem &p, const Tensor &weight, const std::vector<Inexact> &values) {
        double sum = 0, error = 0;
        for (const Inexact &v : values) {
            sum += v.value * v.value;
            error += (2 * std::fabs(v.value) + v.error) * v.error;
        }
        const double d = double(values.size()), mean = sum / d + p.scalar("eps", 0), inv = 1 / std::sqrt(mean);
        // What is as much less has a root that is further off than that of what is more.
        const double off = std::isfinite(mean) ? 1 / std::sqrt(mean - error / d) - inv : 0;
        const Inexact factor{inv, (d / 2 + 8) * kRoundoff * inv + off};
        std::vector<Inexact> y;
        for (size_t i = 0; i < values.size(); i++) {
            const double w = weight(int(i));
            const bool more = p.is("qk_norm", "one_plus_weight");
            y.push_back(times(times(values[i], factor), {more ? 1 + w : w, more ? kRoundoff * std::fabs(1 + w) : 0}));
        }
        return y;
    }

    static std::vector<Inexact> rotated(const Problem &p, int token, const std::vector<Inexact> &values) {
        std::vector<Inexact> y = values;
        for (int i = 0; i < p.dim("width") / 2 * 2; i++) {
            const Turn turn = turn_of(p, token, i);
            const Inexact &a = values[size_t(i)], &b = values[size_t(turn.partner)];
            const double x = a.value * turn.cosine, z = b.value * turn.sine;
            const double of_sum = (2 * kRoundoff) * (std::fabs(x) + std::fabs(z)) + turn.error * (std::fabs(a.value) + std::fabs(b.value));
            y[size_t(i)] = {x + z, a.error * (std::fabs(turn.cosine) + turn.error) + b.error * (std::fabs(turn.sine) + turn.error) +
                                       of_sum + 1e-37};
        }
        return y;
    }

    /** A cache or its scales: what a token stores, or nothing. */
    static std::vector<Expected> rows_of_cache(const std::string &output, const Problem &p) {
        const std::string name = output.substr(0, 1);
        const bool scales = output.find("scale") != std::string::npos, paged = p.dims.count("page") > 0 && p.dim("page") > 0;
        const int d = scales ? 1 : p.dim("d"), heads = p.dim("key_heads"), rows = paged ? p.dim("page") : p.dim("keys");
        const int sequences = paged ? (p.dim("keys") + rows - 1) / rows * p.dim("batch") + 1 : p.dim("batch");
        std::vector<Expected> y(size_t(d) * rows * heads * sequences, Expected::untouched());
        // As rows of an output of 8 bits with scales of their own are.
        Problem of_row;
        of_row.params = {{"output", p.is("cache_type", "int8")          ? "int8"
                                    : p.is("cache_type", "float8_e4m3") ? "float8_e4m3"
                                    : p.is("cache_type", "float8_e5m2") ? "float8_e5m2"
                                                                        : "same"},
                         {"scaling", "row"}};
        for (int token = 0; token < p.dim("tokens"); token++) {
            const double slot = p["slots"](token);
            if (slot < 0 || slot >= double(rows) * sequences) {
                continue;
            }
            for (int head = 0; head < heads; head++) {
                std::vector<Expected> elements;
                for (const Inexact &element : head_of(p, name, head, token)) {
                    elements.push_back(expect(element));
                }
                if (!of_row.is("output", "same")) {
                    elements = stored_row(of_row, scales ? "row_scale" : "y", elements);
                }
                const int64_t to = (int64_t(slot) / rows * heads + head) * rows + int64_t(slot) % rows;
                std::copy(elements.begin(), elements.end(), y.begin() + to * d);
            }
        }
        return y;
    }
};

}  // namespace

const OpTest &qkv_rope_test() {
    static const QkvRopeTest test;
    return test;
}

}  // namespace ops_test
