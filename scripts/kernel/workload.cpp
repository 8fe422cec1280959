#include "kernel/workload.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "language/diagnostics.h"
#include "kernel/element.h"
#include "kernel/failure.h"
#include "kernel/own_op.h"
#include "kernel/text.h"

namespace halyard {

namespace {

const OpArgument &registered(const Op &op, const std::string &name) {
    const OpArgument *a = op.argument(name);
    if (!a) {
        throw Failure(fmt::format("generators/ops.inc: error: the line of {} lacks its argument \"{}\"", op.name, name));
    }
    return *a;
}

// Nothing where an extent uses a dimension that only the generator knows.
std::optional<Layout> layout_of(const Op &op, const OpArgument &argument, const Dims &dims) {
    Layout layout;
    for (const auto &extent : argument.extents) {
        const auto value = evaluate(extent, dims);
        if (!value) {
            return std::nullopt;
        }
        if (*value < 0 || *value > INT32_MAX || *value != std::floor(*value)) {
            throw Failure(
                fmt::format("{}: the extent {} of {} is {:g} for {}", op.name, extent, argument.name, *value, shape_text(op, dims)));
        }
        layout.extents.push_back(static_cast<int>(*value));
    }
    return layout;
}

// Of inputs that are no numbers of both signs.
const std::map<std::string, std::pair<double, double>> kRanges = {
    {"variance", {0, 1}}, {"uniform", {0, 1}}, {"temperature", {0.5, 1.5}}, {"top_p", {0.5, 1}}, {"min_p", {0, 0.1}}};

uint64_t mixed(uint64_t x) {  // splitmix64
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

// Reproducible values, uniform in [low, high), of which each is that of its coordinates: one schedule of a generator may want more of an
// input than another one, and what both read is the same.
void fill_by_place(HostBuffer &buffer, uint64_t seed, double low, double high) {
    halide_buffer_t &b = *buffer.raw();
    const int bytes = b.type.bytes(), dimensions = b.dimensions, columns = dimensions > 0 ? b.dim[0].extent : 1;
    const size_t rows = columns > 0 ? buffer.size() / size_t(columns) : 0;
    for (size_t n = 0; n < rows; n++) {
        uint64_t key = mixed(seed);
        int64_t at = 0;
        size_t rest = n;
        for (int d = 1; d < dimensions; d++) {
            const auto index = int64_t(rest % size_t(b.dim[d].extent));
            rest /= size_t(b.dim[d].extent);
            key = mixed(key ^ uint64_t(b.dim[d].min + index));
            at += index * b.dim[d].stride;
        }
        for (int c = 0; c < columns; c++) {
            const int64_t first = dimensions > 0 ? b.dim[0].min : 0, step = dimensions > 0 ? b.dim[0].stride : 0;
            const double unit = double(mixed(key + uint64_t(first + c)) >> 11) * 0x1p-53;
            store_element(b.type, b.host + (at + c * step) * bytes, low + unit * (high - low));
        }
    }
}

void fill(HostBuffer &buffer, const KernelArgument &argument, const Dims &dims, uint64_t seed) {
    const bool integer = argument.type.code == halide_type_int || argument.type.code == halide_type_uint;
    const auto keys = dims.find(dims.count("keys") > 0 ? "keys" : "positions");
    const auto top_k = dims.find("top_k");
    if (argument.name == "offsets" && top_k != dims.end()) {  // experts have rows alike
        const int64_t rows = dims.at("tokens") * top_k->second, experts = buffer.extents()[0] - 1;
        for (int64_t e = 0; e <= experts; e++) {
            buffer.set({int(e)}, double(rows * e / std::max<int64_t>(experts, 1)));
        }
    } else if (argument.name == "place" && top_k != dims.end()) {  // the pairs of tokens and experts in an order of no pattern
        const int64_t rows = dims.at("tokens") * top_k->second;
        int64_t step = std::max<int64_t>(rows * 5 / 8, 1);
        while (std::gcd(step, rows) != 1) {
            step++;
        }
        for (int64_t pair = 0; pair < rows; pair++) {
            buffer.set({int(pair % top_k->second), int(pair / top_k->second)}, double(pair * step % rows));
        }
    } else if (argument.name == "row_index" && top_k != dims.end()) {
        buffer.fill_random(seed, 0, double(dims.at("tokens")));
    } else if (argument.name == "slots") {  // rows of a cache: each token another one
        for (int token = 0; token < buffer.extents()[0]; token++) {
            buffer.set({token}, token);
        }
    } else if (argument.name == "lengths" && keys != dims.end()) {
        buffer.fill(double(keys->second));            // nothing is padding: the work that the flops count
    } else if (integer && argument.type.bits == 8) {  // quantised values
        buffer.fill_random(seed, argument.type.code == halide_type_int ? -128 : 0, argument.type.code == halide_type_int ? 127 : 255);
    } else if (const auto range = kRanges.find(argument.name); range != kRanges.end() && !integer) {
        buffer.fill_random(seed, range->second.first, range->second.second);
    } else if (dims.empty()) {  // a generator's of whom it is
        fill_by_place(buffer, seed, integer ? 0 : -1, integer ? 100 : 1);
    } else {
        buffer.fill_random(seed, integer ? 0 : -1, integer ? 100 : 1);
    }
}

}  // namespace

// Asks the kernel itself: a buffer without memory gets the extents that the kernel wants it to have. One of no elements would be
// an empty array, which may have no memory.
void query_layouts(const CompiledKernel &kernel, KernelArguments &arguments, const std::vector<KernelArgument> &unknown) {
    if (unknown.empty()) {
        return;
    }
    for (const auto &a : unknown) {
        halide_buffer_t *raw = arguments.buffer(a.name, Layout(std::vector<int>(a.dimensions, 1))).raw();
        raw->host = nullptr;
    }
    const CallResult r = kernel.call(arguments);
    if (!r.ok()) {
        throw Failure(fmt::format("the kernel does not say what size its arguments have: {}", r.message));
    }
    for (const auto &a : unknown) {
        const halide_buffer_t *raw = arguments.buffer(a.name).raw();
        Layout layout;
        for (int d = 0; d < a.dimensions; d++) {
            layout.extents.push_back(raw->dim[d].extent);
            layout.mins.push_back(raw->dim[d].min);
        }
        arguments.buffer(a.name, layout);
    }
}

void fill_inputs(const CompiledKernel &kernel, KernelArguments &arguments, const Dims &dims, uint64_t seed) {
    for (const auto &a : kernel.arguments()) {
        if (a.is_buffer && !a.is_output) {
            fill(arguments.buffer(a.name), a, dims, ++seed);
        }
    }
}

Dims with_params(const Op &op, Dims dims, const Assignments &params) {
    if (op.is_own()) {
        return dims;
    }
    for (const auto &p : params) {
        if (!p.second.empty() && p.second.size() < 10 && p.second.find_first_not_of("0123456789") == std::string::npos) {
            dims.emplace(p.first, std::stol(p.second));
        } else if (p.second == "true" || p.second == "false") {
            dims.emplace(p.first, p.second == "true");
        }
    }
    const auto type = params.find("type");
    dims.emplace("group", type != params.end() && type->second == "bfloat16" ? 2 : 1);
    for (const auto &a : op.arguments) {
        const auto value = a.is_buffer() ? std::nullopt : evaluate(a.value, dims);
        if (value && *value == std::floor(*value) && std::fabs(*value) < 1e9) {
            dims.emplace(a.name, static_cast<int64_t>(*value));
        }
    }
    return dims;
}

void check_shape(const Op &op, const Dims &dims) {
    if (op.is_own()) {
        return;  // the kernel says what is wrong with it
    }
    for (const auto &d : dims) {
        if (std::find(op.dims.begin(), op.dims.end(), d.first) == op.dims.end()) {
            const std::string hint = did_you_mean(d.first, op.dims);
            throw UsageError(fmt::format("{} has no dimension \"{}\"; it has {}{}", op.name, d.first, quoted_list(op.dims),
                                         hint.empty() ? "" : "\n  " + hint));
        }
    }
    for (const auto &name : op.dims) {
        if (dims.count(name) == 0) {
            throw UsageError(fmt::format("the shape {} lacks {}; {} has for example {}", shape_text(op, dims), name, op.name,
                                         shape_text(op, op.shapes.front())));
        }
    }
}

KernelArguments make_arguments(const Op &op, const CompiledKernel &kernel, const Dims &shape, uint64_t seed, bool filled) {
    if (op.is_own()) {
        return make_own_arguments(kernel, shape, seed, filled);
    }
    const Dims dims = with_params(op, shape, kernel.params());
    KernelArguments arguments(kernel);
    std::vector<KernelArgument> unknown;
    for (const auto &a : kernel.arguments()) {
        const OpArgument &r = registered(op, a.name);
        if (!a.is_buffer) {
            arguments.scalar(a.name, r.value.empty() ? 1 : evaluate(r.value, dims).value_or(1));
        } else if (const auto layout = layout_of(op, r, dims)) {
            arguments.buffer(a.name, *layout);
        } else {
            unknown.push_back(a);
        }
    }
    query_layouts(kernel, arguments, unknown);
    if (filled) {
        fill_inputs(kernel, arguments, shape, seed);
    }
    return arguments;
}

namespace {

// What a generator estimates of an input is a hint: what a call reads of it is there, too, where that is more.
void enlarge_inputs(const CompiledKernel &kernel, KernelArguments &arguments) {
    std::map<std::string, Layout> hints;
    for (const auto &a : kernel.arguments()) {
        if (a.is_buffer && !a.is_output && a.dimensions > 0) {
            halide_buffer_t *raw = arguments.buffer(a.name).raw();
            for (int d = 0; d < a.dimensions; d++) {
                hints[a.name].mins.push_back(raw->dim[d].min);
                hints[a.name].extents.push_back(raw->dim[d].extent);
            }
            raw->host = nullptr;
        }
    }
    const CallResult r = hints.empty() ? CallResult() : kernel.call(arguments);
    for (auto &[name, layout] : hints) {
        const halide_buffer_t *raw = arguments.buffer(name).raw();
        for (size_t d = 0; r.ok() && d < layout.extents.size(); d++) {
            const int begin = std::min(layout.mins[d], raw->dim[d].min);
            const int end = std::max(layout.mins[d] + layout.extents[d], raw->dim[d].min + raw->dim[d].extent);
            layout.mins[d] = begin;
            layout.extents[d] = end - begin;
        }
        arguments.buffer(name, layout);
    }
}

}  // namespace

KernelArguments make_estimated_arguments(const CompiledKernel &kernel, uint64_t seed) {
    KernelArguments arguments(kernel);
    std::vector<KernelArgument> unknown;
    for (const auto &a : kernel.arguments()) {
        if (!a.is_buffer) {
            arguments.scalar(a.name, a.scalar_estimate);
        } else if (int(a.estimate.size()) == a.dimensions) {
            Layout layout;
            for (const auto &range : a.estimate) {
                layout.mins.push_back(range.first);
                layout.extents.push_back(range.second);
            }
            arguments.buffer(a.name, layout);
        } else if (a.is_output) {
            throw Failure(fmt::format("the generator estimates no size for its output \"{}\"; give it one with "
                                      "set_estimates",
                                      a.name));
        } else {
            unknown.push_back(a);
        }
    }
    query_layouts(kernel, arguments, unknown);
    enlarge_inputs(kernel, arguments);
    fill_inputs(kernel, arguments, {}, seed);
    return arguments;
}

double flops_of(const Op &op, const Dims &dims) {
    const auto flops = evaluate(op.flops, dims);
    if (!flops) {
        throw Failure(fmt::format("generators/ops.inc: error: {}: flops \"{}\" use a name that no shape has", op.name, op.flops));
    }
    return *flops;
}

std::string sizes_text(const Op &op, const Dims &dims, const CompiledKernel &kernel, KernelArguments &arguments) {
    if (op.is_own()) {
        return own_sizes_text(op.own_sizes);
    }
    std::vector<std::string> items;
    for (const auto &a : kernel.arguments()) {
        if (!a.is_buffer) {
            const OpArgument *r = op.argument(a.name);
            const auto value = r && !r->value.empty() ? evaluate(r->value, dims) : std::nullopt;
            if (value && *value >= 0 && (a.type.code == halide_type_int || a.type.code == halide_type_uint)) {
                items.push_back(fmt::format("{}:{}", a.name, int64_t(*value)));
            }
            continue;
        }
        const halide_buffer_t *b = arguments.buffer(a.name).raw();
        std::vector<std::string> extents;
        for (int d = 0; d < b->dimensions; d++) {
            extents.push_back(std::to_string(b->dim[d].extent));
        }
        items.push_back(a.name + ":" + join(extents, "x"));
    }
    return join(items, ",");
}

std::string sizes_text(const Op &op, const Dims &dims) {
    if (op.is_own()) {
        return own_sizes_text(op.own_sizes);
    }
    std::vector<std::string> items;
    for (const auto &a : op.arguments) {
        std::vector<std::string> extents;
        for (const auto &e : a.is_buffer() ? a.extents : std::vector<std::string>{a.value}) {
            if (const auto value = evaluate(e, dims); value && *value >= 0 && *value == double(int64_t(*value))) {
                extents.push_back(std::to_string(int64_t(*value)));
            }
        }
        if (extents.size() == std::max<size_t>(a.extents.size(), 1)) {
            items.push_back(a.name + ":" + join(extents, "x"));
        }
    }
    return join(items, ",");
}

std::string type_of(const CompiledKernel &kernel) {
    for (const auto &a : kernel.arguments()) {
        if (a.is_output) {
            return type_name(a.type);
        }
    }
    return "";
}

}  // namespace halyard
