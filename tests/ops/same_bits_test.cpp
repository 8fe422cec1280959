// Whether a row's result is the same bits for any number of threads, and whatever else is in its batch: a call of some rows gives what a
// call of all of them gives there.

#include <algorithm>
#include <cmath>
#include <optional>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "builds.h"
#include "harness.h"
#include "same_bits.h"
#include "kernel/arithmetic.h"
#include "kernel/paths.h"
#include "kernel/schedules.h"
#include "kernel/targets.h"
#include "kernel/text.h"
#include "kernel/workload.h"
#include "language/script.h"

namespace {

using namespace ops_test;
using namespace halyard;

struct Part {
    int first, count;
};

// Which of an argument's dimensions has the extent of `dim`, whatever that is; -1: none.
int place_of(const OpArgument &argument, const std::string &dim, Dims dims) {
    const auto extents = [&](int extent) {
        dims[dim] = extent;
        return extents_of(argument, dims);
    };
    const std::vector<int> one = extents(7907), other = extents(7919);
    for (size_t d = 0; d < one.size(); d++) {
        if (one[d] == 7907 && other[d] == 7919) {
            return int(d);
        }
    }
    return -1;
}

// Those that a part of the batch has, in order.
std::vector<double> part_of(const std::vector<double> &values, const std::vector<int> &extents, int dim, Part part) {
    size_t inner = 1;
    for (int d = 0; d < dim; d++) {
        inner *= size_t(extents[size_t(d)]);
    }
    const size_t step = inner * size_t(extents[size_t(dim)]);
    std::vector<double> result;
    for (size_t outer = 0; outer < values.size(); outer += step) {
        const auto from = values.begin() + long(outer + inner * size_t(part.first));
        result.insert(result.end(), from, from + long(inner * size_t(part.count)));
    }
    return result;
}

// Dimensions of which a call has many.
bool among_rows(const std::string &dim) {
    const std::vector<std::string> rows = {"m", "rows", "tokens", "queries"};
    return std::find(rows.begin(), rows.end(), dim) != rows.end();
}

using Outputs = std::map<std::string, std::vector<double>>;

class Batch {
public:
    Batch(const OpTest &test, const Op &op, const CompiledKernel &kernel, std::string dim, const Dims &dims)
        : test_(test), op_(op), kernel_(kernel), dim_(std::move(dim)), dims_(with_params(op, dims, kernel.params())), all_(kernel) {
        uint64_t seed = 0;
        for (const auto &a : kernel.arguments()) {
            const OpArgument &registered = *op.argument(a.name);
            if (!a.is_buffer) {
                all_.scalar(a.name, double(float(evaluate(registered.value, dims_).value())));
                continue;
            }
            HostBuffer &buffer = all_.buffer(a.name, Layout(extents_of(registered, dims_)));
            fill_random(buffer, ++seed);
        }
        test.fill(all_, dims_, seed);
        if (all_.has_buffer("lengths") && dims_.count("keys")) {  // most keys count
            all_.buffer("lengths").fill_random(++seed, double(dims_.at("keys")) / 2, double(dims_.at("keys")));
        }
    }

    bool is_refused() {
        return !kernel_.call(all_).ok();
    }

    Outputs all() {
        Outputs outputs = call(all_);
        for (const auto &[name, values] : outputs) {  // of which there is something to compare
            INFO(name);
            REQUIRE(std::any_of(values.begin(), values.end(), [](double v) { return std::isfinite(v) && v != 0; }));
        }
        return outputs;
    }

    Outputs some(Part part) {
        KernelArguments arguments(kernel_);
        Dims dims = dims_;
        dims[dim_] = part.count;
        for (const auto &a : kernel_.arguments()) {
            if (!a.is_buffer) {
                arguments.scalar(a.name, all_.scalar(a.name));
                continue;
            }
            const OpArgument &registered = *op_.argument(a.name);
            HostBuffer &buffer = arguments.buffer(a.name, Layout(extents_of(registered, dims)));
            if (!a.is_output) {
                const HostBuffer &whole = all_.buffer(a.name);
                const int d = place_of(registered, dim_, dims_);
                if (d >= 0) {
                    buffer.assign(part_of(whole.values(), whole.extents(), d, part));
                } else if (buffer.extents() == whole.extents()) {
                    buffer.assign(whole.values());
                }  // else fit() does
            }
        }
        test_.fit(arguments, all_, dims, part.first);
        return call(arguments);
    }

    Outputs part_of_all(const Outputs &all, Part part) {
        Outputs result;
        for (const auto &[name, values] : all) {
            const HostBuffer &whole = all_.buffer(name);
            result[name] = part_of(values, whole.extents(), place_of(*op_.argument(name), dim_, dims_), part);
        }
        return result;
    }

private:
    Outputs call(KernelArguments &arguments) {
        const CallResult r = kernel_.call(arguments);
        INFO(r.message);
        REQUIRE(r.ok());
        Outputs outputs;
        for (const auto &a : kernel_.arguments()) {
            if (a.is_output) {
                outputs[a.name] = arguments.buffer(a.name).values();
            }
        }
        return outputs;
    }

    const OpTest &test_;
    const Op &op_;
    const CompiledKernel &kernel_;
    const std::string dim_;
    const Dims dims_;
    KernelArguments all_;
};

// "" or the first difference.
std::string difference(const Outputs &got, const Outputs &want) {
    for (const auto &[name, values] : got) {
        if (const std::string differs = ops_test::difference(values, want.at(name)); !differs.empty()) {
            return name + ": " + differs;
        }
    }
    return "";
}

// With other numbers of threads, which a device has no use for, and of some of the batch. `rows`: of all of it, where the dimension is of rows.
std::string check_dim(const OpTest &test, const Op &op, const CompiledKernel &kernel, const std::string &dim, Dims dims, int rows,
                      Sizes taken) {
    const bool of_rows = among_rows(dim), on_device = kernel.target().find("cuda") != std::string::npos;
    const int few = on_device ? 4 : dim == "c" ? 37 : 7, count = !of_rows ? few : dim == "queries" ? 70 : rows;
    dims[dim] = count;
    Batch batch(test, op, kernel, dim, dims);
    if (taken == Sizes::kSome && batch.is_refused()) {
        return "";
    }
    kernel.set_threads(2);
    const Outputs all = batch.all();
    std::string wrong;
    for (int threads : on_device ? std::vector<int>() : std::vector<int>{1, 3, 7}) {
        kernel.set_threads(threads);
        const std::string differs = difference(batch.all(), all);
        wrong += differs.empty() ? "" : fmt::format("\n  {} threads: {}", threads, differs);
    }
    kernel.set_threads(2);
    for (int part : !of_rows    ? std::vector<int>{1, 2, 5, 19}
                    : on_device ? std::vector<int>{1, 3, 16, 33, 64, 200}
                                : std::vector<int>{1, 2, 3, 4, 5, 8, 13, 16, 33, 64}) {
        if (part > count) {
            break;
        }
        // The emulator takes seconds for many rows: of those one part.
        const bool is_large = on_device && part > (of_rows ? 16 : 1);
        const int middle = (count - part) / 2;
        for (int first : is_large ? std::vector<int>{middle} : std::vector<int>{0, middle, count - part}) {
            const std::string differs = difference(batch.some({first, part}), batch.part_of_all(all, {first, part}));
            wrong += differs.empty() ? "" : fmt::format("\n  {} of {} {}, from {} on: {}", part, count, dim, first, differs);
        }
    }
    return wrong;
}

// The first sizes of the registry, halved until they are small. On a device what is summed is long enough, and columns are few enough, that
// 1 and 1100 rows have different versions.
Dims sizes_of(const Op &op, const CompiledKernel &kernel) {
    const bool on_device = kernel.target().find("cuda") != std::string::npos;
    const std::vector<std::string> summed = {"k", "cols", "depth"};
    Dims dims = op.shapes.front();
    for (auto &[name, extent] : dims) {
        const bool is_summed = std::find(summed.begin(), summed.end(), name) != summed.end();
        while (name != "keys" && extent > (!on_device ? 600 : is_summed ? 2048 : name == "queries" ? 64 : 300)) {
            extent /= 2;
        }
    }
    if (dims.count("keys")) {
        dims["keys"] = 1100;  // several splits
    }
    while (on_device && dims.count("key_heads") && dims["heads"] > 8 && dims["key_heads"] % 2 == 0) {  // heads are alike
        dims["heads"] /= 2;
        dims["key_heads"] /= 2;
    }
    if (on_device && dims.count("experts") && dims.count("k")) {  // no versions, but many rows for each token
        dims["k"] = 64;
        dims["n"] = 40;
        dims["experts"] = 6;
        dims["top_k"] = 2;
    }
    return dims;
}

}  // namespace

std::string ops_test::check_same_bits(const OpTest &test, const std::string &name, const Assignments &choices, int rows, Sizes taken) {
    const Op &op = find_op(name);
    const CompiledKernel kernel = build(name, choices);
    std::string wrong;
    for (const auto &dim : test.batch_dims()) {
        wrong += check_dim(test, op, kernel, dim, sizes_of(op, kernel), rows, taken);
    }
    return wrong.empty() ? "" : fmt::format("{} {}:{}", name, assignments_text(choices), wrong);
}

namespace {

void check_host(const OpTest &test, const std::string &op) {
    for (const Assignments &choices : builds_of_same_bits(test)) {
        CHECK(check_same_bits(test, op, choices, kRowsOnHost) == "");
    }
}

std::optional<ScriptHeader> head_of_cuda_schedule(const std::string &op) {
    for (const auto &s : schedules_of(op)) {
        if (s.place == kCudaTarget && s.name == op) {
            ScriptOptions options;
            options.lib_dirs = {paths().schedules};
            options.target = resolve_targets(kCudaTarget).front();
            return read_header(s.path, options);
        }
    }
    return std::nullopt;
}

enum class OnCuda { kNone, kSame, kByParameter };

OnCuda on_cuda(const std::string &op) {
    const auto head = head_of_cuda_schedule(op);
    const auto is_it = [](const Tunable &t) { return t.name == "invariant"; };
    return !head ? OnCuda::kNone : std::any_of(head->params.begin(), head->params.end(), is_it) ? OnCuda::kByParameter : OnCuda::kSame;
}

void check_cuda(const OpTest &test, const std::string &op) {
    const OnCuda how = on_cuda(op);
    REQUIRE(how != OnCuda::kNone);
    // The sizes of a call decide on tiles, and results are not rounded more than they need be.
    const ScriptHeader head = *head_of_cuda_schedule(op);
    Assignments choices = cuda_builds(test, op).front();
    for (auto c = choices.begin(); c != choices.end();) {
        c = c->first.rfind("set.", 0) == 0 ? choices.erase(c) : std::next(c);
    }
    for (const auto &[name, value] : first_choices(test)) {
        if (choices.count(name) && name != "schedule" && name != "target" && !head.generator.count(name)) {
            choices[name] = name == "output" ? "float32" : value;
        }
    }
    if (choices.count("type")) {
        choices["type"] = "float16";
    }
    test.settle(choices);
    if (how == OnCuda::kByParameter) {
        choices["set.invariant"] = "true";
    }
    CHECK(check_same_bits(test, op, choices, how == OnCuda::kByParameter ? 1100 : 130) == "");
}

// Its line of docs/reference/same_bits.md.
std::string line_of(const OpTest &test, const std::string &op) {
    const OnCuda how = on_cuda(op);
    return fmt::format("| {} | {} | yes | {} |", op, join(test.batch_dims(), ", "),
                       how == OnCuda::kNone   ? ""
                       : how == OnCuda::kSame ? "yes"
                                              : "with `invariant=true`");
}

}  // namespace

// Tiles of few rows and of many in which the compiler ordered what is around the sums in two ways.
TEST_CASE("swiglu: same bits as searches tune it") {
    const Assignments blocks = {{"schedule", "swiglu.blocks"}, {"type", "float32"}, {"output", "float32"}};
    const Assignments panels = {{"schedule", "swiglu.interleaved"}, {"type", "float16"}, {"output", "float32"}};
    const auto with = [](Assignments all, const Assignments &more) {
        for (const auto &[name, value] : more) {
            all[name] = value;
        }
        return all;
    };
    for (const Assignments &choices : {with(blocks, {{"activation", "silu"},
                                                     {"activations", "exact"},
                                                     {"add_bias", "true"},
                                                     {"format", "q5_1"},
                                                     {"set.columns", "1"},
                                                     {"set.rows", "2"},
                                                     {"set.task", "4"},
                                                     {"target", "host"}}),
                                       with(blocks, {{"activation", "gelu_tanh"},
                                                     {"activations", "int8"},
                                                     {"add_bias", "false"},
                                                     {"format", "q8_0"},
                                                     {"set.columns", "4"},
                                                     {"set.rows", "2"},
                                                     {"target", "avx2"}}),
                                       with(panels, {{"activation", "gelu_tanh"},
                                                     {"add_bias", "false"},
                                                     {"format", "f16"},
                                                     {"set.few", "128"},
                                                     {"set.interleaved", "8"},
                                                     {"set.rows", "6"},
                                                     {"target", "host"}})}) {
        CHECK(check_same_bits(swiglu_test(), "swiglu", choices, kRowsOnHost) == "");
    }
}

// The largest of a row, its factor and 1 / 127, multiplied in two orders.
TEST_CASE("rms_norm: same bits as searches tune it") {
    const Assignments choices = {{"schedule", "rms_norm"}, {"type", "float32"}, {"add_residual", "true"}, {"output", "int8"},
                                 {"scaling", "row"},       {"set.accum", "4"},  {"set.rows", "16"},       {"target", "host"}};
    CHECK(check_same_bits(rms_norm_test(), "rms_norm", choices, kRowsOnHost) == "");
}

#define HALYARD_OP(name, ...)                                                                                                              \
    TEST_CASE(#name ": same bits") {                                                                                                       \
        check_host(name##_test(), #name);                                                                                                  \
    }                                                                                                                                      \
    TEST_CASE(#name ": same bits on cuda") {                                                                                               \
        check_cuda(name##_test(), #name);                                                                                                  \
    }                                                                                                                                      \
    TEST_CASE(#name " has its line on the page of same bits", "[same_bits_page]") {                                                        \
        CHECK_THAT(read_file(HALYARD_SOURCE "/docs/reference/same_bits.md"),                                                               \
                   Catch::Contains("\n" + line_of(name##_test(), #name) + "\n"));                                                          \
    }
#include "ops.inc"
#undef HALYARD_OP
