#include <array>

#include "linear.h"

namespace ops_test {

namespace {

/** The column `col` of expert e, of the weights called `name`. */
const double *column_of(const Problem &p, const std::string &name, int e, int col) {
    auto found = p.made.find(name);
    if (found == p.made.end() && p.has(name + "_packed")) {
        const Tensor &w = p[name + "_packed"];
        const int group = w.extents[0], panel = w.extents[1], depth = group * w.extents[2], columns = panel * w.extents[3];
        Tensor all = {{depth, columns, w.extents[4]}, {}};
        for (int of = 0; of < w.extents[4]; of++) {
            for (int c = 0; c < columns; c++) {
                for (int k = 0; k < depth; k++) {
                    all.values.push_back(w(k % group, c % panel, k / group, c / panel, of));
                }
            }
        }
        found = p.made.emplace(name, std::move(all)).first;
    } else if (found == p.made.end()) {
        found = p.made.emplace(name, p[name + "_nk"]).first;
    }
    return found->second.row(int64_t(e) * found->second.extents[1] + col);
}

class GroupedGemmTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused", "nk"}},
                {"type", {"float32", "float16", "bfloat16"}},
                {"gated", {"false", "true"}},
                {"gather", {"true", "false"}},
                {"combine", {"true", "false"}},
                {"add_bias", {"false", "true"}},
                {"activation", {"silu", "none", "gelu_erf"}},
                {"target", {"avx2", "host"}}};
    }

    std::vector<Case> cases(const Assignments & /*build*/) const override {
        std::vector<Case> cases;
        const std::vector<int> counts = {3, 1, 8, 5, 2};
        for (const Dims &dims : product_sizes("tokens", "n", "k")) {
            const int top_k = cycle(counts, cases.size() + 1), experts = cycle(counts, cases.size()) + top_k - 1;
            cases.push_back({"random", with(dims, std::min(top_k, experts), experts)});
        }
        cases.push_back({"all tokens to one expert", with({{"tokens", 23}, {"n", 33}, {"k", 9}}, 1, 7), all_to_one});
        cases.push_back({"many experts", with({{"tokens", 3}, {"n", 17}, {"k", 9}}, 2, 130)});
        cases.push_back({"rows of no expert", with({{"tokens", 9}, {"n", 17}, {"k", 9}}, 3, 4), some_to_none});
        cases.push_back({"no row has an expert", with({{"tokens", 9}, {"n", 17}, {"k", 9}}, 3, 4), all_to_none});
        cases.push_back({"special rows", with({{"tokens", 11}, {"n", 49}, {"k", 5}}, 1, 3), special});
        return cases;
    }

    std::string held_to() const override {
        return "(k + 1)/2 of sum \\|x w\\| + 1 of (\\|sum\\| + \\|bias\\|), through the activation; gated: of both factors; combined: of "
               "each "
               "row times its score, and (top_k + 1)/2 of the sum of their magnitudes, and by CUDA each row rounded to the type before; "
               "1/2 of y";
    }

    double most_in_bf16(const Problem &p) const override {
        return p.on_gpu && p.has("place") ? 0x1p-8 : 1e-3;
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

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t seed) const override {
        // An expert for each pair, in a pattern with experts that have none.
        std::vector<int> ids;
        uint64_t state = seed * 2654435761u + 12345;
        const int experts = int(dims.at("experts"));
        for (int p = 0; p < dims.at("tokens") * dims.at("top_k"); p++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            ids.push_back(int((state >> 33) % uint64_t(std::max(experts - experts / 4, 1))));
        }
        sort_by_expert(arguments, dims, ids);
        for (const char *w : {"w", "w_gate", "w_up"}) {
            spoil(arguments, w, dims);
        }
    }

    std::vector<std::string> batch_dims() const override {
        return {"tokens"};
    }

    /** The tokens keep their experts. */
    bool has_batches(const Assignments &choices) const override {
        return is_on(choices, "gather") && is_on(choices, "combine");  // else rows are sorted by expert, and lie in another order
    }

    void fit(KernelArguments &part, KernelArguments &all, const Dims &dims, int first) const override {
        const HostBuffer &place = all.buffer("place"), &offsets = all.buffer("offsets");
        std::vector<int> ids;
        for (int token = 0; token < dims.at("tokens"); token++) {
            for (int slot = 0; slot < dims.at("top_k"); slot++) {
                const double row = place.get({slot, first + token});
                int e = 0;
                while (offsets.get({e + 1}) <= row) {
                    e++;
                }
                ids.push_back(e);
            }
        }
        sort_by_expert(part, dims, ids);
    }

    std::vector<Expected> expected(const Problem &p) const override {
        const int rows = p.dim("tokens") * p.dim("top_k"), n = p.dim("n");
        const bool combined = p.has("place");
        std::vector<Inexact> products;
        std::vector<bool> has_expert;
        for (int row = 0; row < rows; row++) {
            const Tensor &offsets = p["offsets"];
            int e = -1;
            for (int of = 0; of < p.dim("experts"); of++) {
                e = row >= offsets(of) && row < offsets(of + 1) ? of : e;
            }
            has_expert.push_back(e >= 0);
            for (int col = 0; col < n; col++) {
                products.push_back(e < 0 ? Inexact{} : product(p, row, e, col));
            }
        }
        std::vector<Expected> y;
        if (!combined) {
            for (const Inexact &v : products) {
                y.push_back(expect(v));
            }
            return y;
        }
        for (int token = 0; token < p.dim("tokens"); token++) {
            for (int col = 0; col < n; col++) {
                Inexact sum;
                double magnitude = 0;
                for (int s = 0; s < p.dim("top_k"); s++) {
                    const int row = int(p["place"](s, token));
                    if (row < 0 || !has_expert[size_t(row)]) {
                        continue;
                    }
                    Inexact product = products[size_t(row) * n + col];
                    product.error +=
                        p.on_gpu ? roundoff_of(p) * (std::fabs(product.value) + product.error) + 0x1p-25 : 0;  // rounded rows are summed
                    const Inexact term = times({p["scores"](s, token), 0}, product);
                    sum.value += term.value;
                    sum.error += term.error;
                    magnitude += std::fabs(term.value);
                }
                sum.error += (p.dim("top_k") + 1) * kRoundoff * magnitude;
                y.push_back(expect(sum));
            }
        }
        return y;
    }

private:
    static double roundoff_of(const Problem &p) {
        return p.is("type", "float32") ? kRoundoff : p.is("type", "float16") ? 0x1p-11 : 0x1p-8;
    }

    static Dims with(Dims dims, int top_k, int experts) {
        dims["top_k"] = top_k;
        dims["experts"] = experts;
        return dims;
    }

    static Inexact product(const Problem &p, int row, int e, int col) {
        const int from = p.has("row_index") ? int(p["row_index"](row)) : row;
        const auto linear = [&](const std::string &suffix) {
            Inexact v = sum_of_products(p.dim("k"), p["x"].row(from), column_of(p, "w" + suffix, e, col));
            return p.has("bias" + suffix) ? plus(v, p["bias" + suffix](col, e)) : v;
        };
        const std::string activation = activation_of(p, "none");
        return p.has("w_up_nk") || p.has("w_up_packed") ? times(activated(activation, linear("_gate")), linear("_up"))
                                                        : activated(activation, linear(""));
    }

    /** offsets, row_index and place for these experts of the pairs, as expert_sort makes them. */
    static void sort_by_expert(KernelArguments &arguments, const Dims &dims, const std::vector<int> &ids) {
        const int experts = int(dims.at("experts")), top_k = int(dims.at("top_k")), rows = int(ids.size());
        HostBuffer &offsets = arguments.buffer("offsets");
        HostBuffer *index = find_buffer(arguments, "row_index"), *place = find_buffer(arguments, "place");
        int row = 0;
        for (int pair = 0; place && pair < rows; pair++) {
            place->set({pair % top_k, pair / top_k}, -1);
        }
        for (int e = 0; e < experts; e++) {
            offsets.set({e}, row);
            for (int pair = 0; pair < rows; pair++) {
                if (ids[size_t(pair)] != e) {
                    continue;
                }
                if (index) {
                    index->set({row}, pair / top_k);
                }
                if (place) {
                    place->set({pair % top_k, pair / top_k}, row);
                }
                row++;
            }
        }
        offsets.set({experts}, row);
        for (; index && row < rows; row++) {
            index->set({row}, -1);
        }
    }

    static void all_to_one(KernelArguments &arguments, const Dims &dims) {
        sort_by_expert(arguments, dims, std::vector<int>(size_t(dims.at("tokens") * dims.at("top_k")), 4));
    }
    static void some_to_none(KernelArguments &arguments, const Dims &dims) {
        std::vector<int> ids(size_t(dims.at("tokens") * dims.at("top_k")));
        for (size_t p = 0; p < ids.size(); p++) {
            ids[p] = int(p * 7 % 5) - 1;
        }
        sort_by_expert(arguments, dims, ids);
    }
    static void all_to_none(KernelArguments &arguments, const Dims &dims) {
        sort_by_expert(arguments, dims, std::vector<int>(size_t(dims.at("tokens") * dims.at("top_k")), -1));
    }
    /** One row for each token, in their order. */
    static void special(KernelArguments &arguments, const Dims &dims) {
        sort_by_expert(arguments, dims, {0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2});
        special_rows(arguments, dims);
    }

    /** What fills up packed weights, and all of an expert that has no rows, must not matter: it is NaN. */
    static void spoil(KernelArguments &arguments, const std::string &name, const Dims &dims) {
        HostBuffer *w = find_buffer(arguments, name + "_packed");
        if (!w) {
            return;
        }
        const std::vector<int> extents = w->extents();
        for (int e = 0; e < extents[4]; e++) {
            for (int col = 0; col < extents[1] * extents[3]; col++) {
                for (int k = 0; k < extents[0] * extents[2]; k++) {
                    if (col >= dims.at("n") || k >= dims.at("k")) {
                        w->set({k % extents[0], col % extents[1], k / extents[0], col / extents[1], e}, kNaN);
                    }
                }
            }
        }
    }
};

}  // namespace

const OpTest &grouped_gemm_test() {
    static const GroupedGemmTest test;
    return test;
}

}  // namespace ops_test
