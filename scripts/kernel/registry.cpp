#include "kernel/registry.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "language/diagnostics.h"
#include "kernel/failure.h"
#include "kernel/own_op.h"
#include "kernel/text.h"

namespace halyard {

namespace {

struct Line {
    const char *name, *summary, *arguments, *flops, *shapes;
};

const Line kLines[] = {
#define HALYARD_OP(name, summary, arguments, flops, shapes) {#name, summary, arguments, flops, shapes},
#include "generators/ops.inc"
#undef HALYARD_OP
};

[[noreturn]] void fail_of_op(const std::string &op, const std::string &message) {
    throw Failure(fmt::format("generators/ops.inc: error: {}: {}", op, message));
}

// NAME[extent,...], NAME?[extent,...], NAME=value or NAME?=value
OpArgument parse_argument(const std::string &op, const std::string &text) {
    OpArgument a;
    size_t i = 0;
    while (i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_')) {
        a.name += text[i++];
    }
    if (i < text.size() && text[i] == '?') {
        a.optional = true;
        i++;
    }
    const std::string rest = text.substr(i);
    if (a.name.empty() || rest.size() < 2 || (rest[0] == '[' && rest.back() != ']') || (rest[0] != '[' && rest[0] != '=')) {
        fail_of_op(op, fmt::format("\"{}\" is neither NAME[extents] nor NAME=value", text));
    }
    if (rest[0] == '=') {
        a.value = rest.substr(1);
        return a;
    }
    int depth = 0;
    std::string extent;
    for (char c : rest.substr(1, rest.size() - 2) + ',') {
        depth += (c == '(') - (c == ')');
        if (c == ',' && depth == 0) {
            a.extents.push_back(extent);
            extent.clear();
        } else {
            extent += c;
        }
    }
    return a;
}

Op parse(const Line &line) {
    Op op;
    op.name = line.name;
    op.summary = line.summary;
    op.signature = line.arguments;
    op.flops = line.flops;
    bool output = false;
    for (const auto &word : split(line.arguments, ' ')) {
        if (word == "->") {
            output = true;
            continue;
        }
        op.arguments.push_back(parse_argument(op.name, word));
        op.arguments.back().output = output;
    }
    for (const auto &shape : split(line.shapes, ';')) {
        op.shapes.push_back(parse_shape(shape));
        for (const auto &item : split(op.shapes.size() == 1 ? shape : "", ',')) {
            op.dims.push_back(item.substr(0, item.find('=')));
        }
    }
    if (!output || op.shapes.empty()) {
        fail_of_op(op.name, "needs an output after -> and at least one shape");
    }
    return op;
}

}  // namespace

const OpArgument *Op::argument(const std::string &wanted) const {
    for (const auto &a : arguments) {
        if (a.name == wanted) {
            return &a;
        }
    }
    return nullptr;
}

const std::vector<Op> &registry() {
    static const std::vector<Op> ops = [] {
        std::vector<Op> result;
        for (const auto &line : kLines) {
            result.push_back(parse(line));
        }
        std::sort(result.begin(), result.end(), [](const Op &a, const Op &b) { return a.name < b.name; });
        return result;
    }();
    return ops;
}

std::vector<std::string> op_names() {
    std::vector<std::string> names;
    for (const auto &op : registry()) {
        names.push_back(op.name);
    }
    return names;
}

const Op &find_op(const std::string &name) {
    for (const auto &op : registry()) {
        if (op.name == name) {
            return op;
        }
    }
    const std::string hint = did_you_mean(name, op_names());
    throw UsageError(
        fmt::format("there is no op \"{}\"; there are {}{}", name, quoted_list(op_names()), hint.empty() ? "" : "\n  " + hint));
}

Dims parse_shape(const std::string &text) {
    Dims dims;
    for (const auto &item : split(text, ',')) {
        const size_t eq = item.find('=');
        const std::string digits = eq == std::string::npos ? "" : item.substr(eq + 1);
        if (eq == 0 || digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos ||
            std::stol(digits) == 0) {
            throw UsageError(fmt::format("the shape \"{}\" is not of the form rows=64,cols=4096", text));
        }
        dims[item.substr(0, eq)] = std::stol(digits);
    }
    return dims;
}

std::string shape_text(const Op &op, const Dims &dims) {
    if (op.is_own()) {
        return own_shape_text(op.own_sizes);
    }
    std::vector<std::string> items;
    for (const auto &name : op.dims) {
        if (const auto d = dims.find(name); d != dims.end()) {
            items.push_back(fmt::format("{}={}", d->first, d->second));
        }
    }
    for (const auto &d : dims) {
        if (std::find(op.dims.begin(), op.dims.end(), d.first) == op.dims.end()) {
            items.push_back(fmt::format("{}={}", d.first, d.second));
        }
    }
    return join(items, ",");
}

}  // namespace halyard
