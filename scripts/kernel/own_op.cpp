#include "kernel/own_op.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/text.h"
#include "kernel/workload.h"
#include "language/diagnostics.h"

namespace halyard {

namespace {

bool is_size(const std::string &text) {
    return !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == std::string::npos && std::stol(text) > 0;
}

// Names with their numbers in the order of dimensions; a scalar has one.
std::map<std::string, std::vector<std::string>> by_name(const Dims &dims) {
    std::map<std::string, std::vector<std::pair<int, std::string>>> found;
    for (const auto &[key, value] : dims) {
        const size_t dot = key.rfind('.');
        found[key.substr(0, dot)].emplace_back(dot == std::string::npos ? 0 : std::stoi(key.substr(dot + 1)), std::to_string(value));
    }
    std::map<std::string, std::vector<std::string>> all;
    for (auto &[name, numbers] : found) {
        std::sort(numbers.begin(), numbers.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
        for (const auto &n : numbers) {
            all[name].push_back(n.second);
        }
    }
    return all;
}

std::string text_of(const Dims &dims, const char *equals) {
    std::vector<std::string> items;
    for (const auto &[name, numbers] : by_name(dims)) {
        items.push_back(name + equals + join(numbers, "x"));
    }
    return join(items, ",");
}

// A buffer's extents; none where it was not named. One dimension may be given as a scalar is.
std::vector<int> extents_of(const Dims &dims, const KernelArgument &a) {
    std::vector<int> extents;
    for (int d = 0; d < a.dimensions; d++) {
        const auto it = dims.find(fmt::format("{}.{}", a.name, d));
        if (it != dims.end()) {
            extents.push_back(int(it->second));
        }
    }
    return extents;
}

std::string signature(const CompiledKernel &kernel) {
    std::vector<std::string> items;
    for (const auto &a : kernel.arguments()) {
        std::string item = a.name;
        for (int d = 0; d < a.dimensions; d++) {
            item += d == 0 ? "=N" : "xN";
        }
        items.push_back(a.is_buffer ? item : a.name + "=N");
    }
    return join(items, ",");
}

void check_names(const CompiledKernel &kernel, const Dims &dims) {
    std::vector<std::string> names;
    for (const auto &a : kernel.arguments()) {
        names.push_back(a.name);
    }
    for (const auto &[name, numbers] : by_name(dims)) {
        const KernelArgument *a = kernel.argument(name);
        if (!a) {
            const std::string hint = did_you_mean(name, names);
            throw UsageError(fmt::format("--shape: there is no argument \"{}\"; this kernel takes {}{}", name, signature(kernel),
                                         hint.empty() ? "" : "\n  " + hint));
        }
        if (int(numbers.size()) != (a->is_buffer ? a->dimensions : 1)) {
            throw UsageError(fmt::format("--shape {}={}: {} has {} dimension(s); this kernel takes {}", name, join(numbers, "x"), name,
                                         a->dimensions, signature(kernel)));
        }
    }
}

// One number may be that of a scalar or of a buffer of one dimension: the kernel knows.
Dims completed(const CompiledKernel &kernel, Dims dims) {
    for (const auto &a : kernel.arguments()) {
        const std::string first = a.name + ".0";
        const std::string from = a.is_buffer ? a.name : first, to = a.is_buffer ? first : a.name;
        if (const auto it = dims.find(from); it != dims.end() && dims.count(a.name + ".1") == 0) {
            dims[to] = it->second;
            dims.erase(from);
        }
    }
    return dims;
}

}  // namespace

Dims parse_own_shape(const std::string &text) {
    Dims dims;
    for (const auto &item : split(text, ',')) {
        const size_t eq = item.find('=');
        const auto extents = split(eq == std::string::npos ? "" : item.substr(eq + 1), 'x');
        if (eq == 0 || extents.empty() || !std::all_of(extents.begin(), extents.end(), is_size) ||
            item.substr(0, eq).find('.') != std::string::npos) {
            throw UsageError(fmt::format("the shape \"{}\" is not of the form x=4096x64,y=4096x64,n=3: the extents of each array of the "
                                         "generator, the innermost first",
                                         text));
        }
        for (size_t d = 0; d < extents.size(); d++) {
            dims[fmt::format("{}.{}", item.substr(0, eq), d)] = std::stol(extents[d]);
        }
    }
    return dims;
}

std::string own_shape_text(const Dims &dims) {
    return text_of(dims, "=");
}

std::string own_sizes_text(const Dims &dims) {
    return text_of(dims, ":");
}

KernelArguments make_own_arguments(const CompiledKernel &kernel, const Dims &given, uint64_t seed, bool filled) {
    if (given.empty()) {
        return make_estimated_arguments(kernel, seed);
    }
    const Dims dims = completed(kernel, given);
    check_names(kernel, dims);
    KernelArguments arguments(kernel);
    std::vector<KernelArgument> unknown;
    for (const auto &a : kernel.arguments()) {
        const auto extents = extents_of(dims, a);
        if (!a.is_buffer) {
            arguments.scalar(a.name, dims.count(a.name) > 0 ? double(dims.at(a.name)) : a.scalar_estimate);
        } else if (int(extents.size()) == a.dimensions) {
            arguments.buffer(a.name, Layout(extents));
        } else if (a.is_output) {
            throw UsageError(fmt::format("--shape lacks the output \"{}\"; this kernel takes {}", a.name, signature(kernel)));
        } else {
            unknown.push_back(a);
        }
    }
    query_layouts(kernel, arguments, unknown);
    if (filled) {
        fill_inputs(kernel, arguments, {}, seed);
    }
    return arguments;
}

Op own_op(const std::string &name, const CompiledKernel &kernel, const Dims &given) {
    Op op;
    op.name = name;
    op.flops = "0";
    op.shapes = {given};
    KernelArguments arguments = make_own_arguments(kernel, given, 1, false);
    for (const auto &a : kernel.arguments()) {
        OpArgument argument;
        argument.name = a.name;
        argument.output = a.is_output;
        if (a.is_buffer) {
            const halide_buffer_t *raw = arguments.buffer(a.name).raw();
            for (int d = 0; d < raw->dimensions; d++) {
                op.own_sizes[fmt::format("{}.{}", a.name, d)] = raw->dim[d].extent;
                argument.extents.push_back(std::to_string(raw->dim[d].extent));
            }
        } else if (const double value = arguments.scalar(a.name); value >= 1 && value < 1e9 && value == double(int64_t(value))) {
            op.own_sizes[a.name] = int64_t(value);
        }
        op.arguments.push_back(argument);
    }
    return op;
}

}  // namespace halyard
