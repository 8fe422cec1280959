#include "op_test.h"
#include "sizes.h"

namespace ops_test {

namespace {

// Integers, which have to be right.
class ExpertSortTest : public OpTest {
public:
    std::vector<Choice> choices() const override {
        return {{"schedule", {"", "unfused"}}, {"set.chunk", {"32", "1", "17", "128"}}, {"target", {"avx2", "host"}}};
    }

    std::vector<Choice> cuda_choices() const override {
        return {{"set.threads", {"128", "64"}}};
    }

    void settle(Assignments &build) const override {
        if (build["schedule"] == "unfused") {
            build.erase("set.chunk");
        }
    }

    std::vector<Case> cases(const Assignments & /*build*/) const override {
        std::vector<Case> cases;
        const std::vector<int> top_k = {1, 2, 8, 3}, experts = {1, 5, 64, 17, 300};
        for (size_t i = 0; i < kOddSizes.size(); i++) {
            cases.push_back({"random", {{"tokens", kOddSizes[i]}, {"top_k", cycle(top_k, i)}, {"experts", cycle(experts, i)}}});
        }
        const Dims dims = {{"tokens", 70}, {"top_k", 2}, {"experts", 9}};
        cases.push_back({"many", {{"tokens", 2000}, {"top_k", 4}, {"experts", 40}}});
        cases.push_back({"one expert", dims, [](KernelArguments &a, const Dims &) { a.buffer("ids").fill(5); }});
        cases.push_back({"none", dims, [](KernelArguments &a, const Dims &) { a.buffer("ids").fill(-1); }});
        cases.push_back({"out of range", dims, [](KernelArguments &a, const Dims &) { a.buffer("ids").fill_random(3, -4, 14); }});
        cases.push_back({"far out of range", dims, [](KernelArguments &a, const Dims &) {
                             a.buffer("ids").fill_random(4, 0, 9);
                             a.buffer("ids").set({0, 1}, double(INT32_MIN));
                             a.buffer("ids").set({1, 3}, double(INT32_MAX));
                         }});
        return cases;
    }

    std::string held_to() const override {
        return "exact";
    }

    std::vector<std::string> open_dims() const override {
        return {};
    }

    void fill(KernelArguments &arguments, const Dims &dims, uint64_t seed) const override {
        arguments.buffer("ids").fill_random(seed, 0, double(dims.at("experts")));
    }

    std::vector<Expected> expected(const Problem &p) const override {
        return expected_of("offsets", p);
    }

    std::vector<Expected> expected_of(const std::string &output, const Problem &p) const override {
        const int top_k = p.dim("top_k"), pairs = top_k * p.dim("tokens");
        std::vector<double> offsets, order, place(size_t(pairs), -1);
        for (int e = 0; e < p.dim("experts"); e++) {
            offsets.push_back(double(order.size()));
            for (int pair = 0; pair < pairs; pair++) {
                if (p["ids"](pair % top_k, pair / top_k) == e) {
                    place[size_t(pair)] = double(order.size());
                    order.push_back(pair);
                }
            }
        }
        offsets.push_back(double(order.size()));
        order.resize(size_t(pairs), -1);
        if (output == "row_index") {
            for (double &pair : order) {
                pair = pair < 0 ? -1 : double(int(pair) / top_k);
            }
        }
        std::vector<Expected> y;
        for (double v : output == "offsets" ? offsets : output == "place" ? place : order) {
            y.push_back({v, 0});
        }
        return y;
    }
};

}  // namespace

const OpTest &expert_sort_test() {
    static const ExpertSortTest test;
    return test;
}

}  // namespace ops_test
