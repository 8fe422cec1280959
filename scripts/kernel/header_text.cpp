#include "kernel/header_text.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <vector>

#include <fmt/format.h>

#include "kernel/outputs.h"
#include "kernel/registry.h"
#include "kernel/text.h"

namespace halyard {

namespace {

using nlohmann::json;

using Parameter = HeaderArgument;

// `struct halide_buffer_t *_x_buffer` or `float _eps`; a name that the pipeline has twice ends with a number.
Parameter parse_parameter(const std::string &text) {
    static const std::regex array("struct halide_buffer_t \\*_(\\w+)_buffer"), scalar("(.*\\S)\\s*\\b_(\\w+)"), number("__\\d+$");
    std::smatch found;
    Parameter p;
    if (std::regex_match(text, found, array)) {
        p.name = found[1];
    } else if (std::regex_match(text, found, scalar)) {
        p.type = found[1];
        p.name = found[2];
    }
    p.name = std::regex_replace(p.name, number, "");
    return p;
}

const Op *known_op(const std::string &name) {
    const auto &ops = registry();
    const auto op = std::find_if(ops.begin(), ops.end(), [&](const Op &o) { return o.name == name; });
    return op == ops.end() ? nullptr : &*op;
}

bool is_number(const std::string &text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

// Numbers among the parameters of the generator, which are those arguments of the registry that its function has not.
std::map<std::string, std::string> fixed_numbers(const Op &op, const std::vector<Parameter> &parameters, const Assignments &params) {
    std::map<std::string, std::string> fixed;
    for (const OpArgument &a : op.arguments) {
        const auto is_it = [&](const Parameter &p) { return p.name == a.name; };
        if (a.optional && is_number(a.value) && std::none_of(parameters.begin(), parameters.end(), is_it)) {
            fixed[a.name] = a.value;
        }
    }
    for (const auto &p : params) {
        if (is_number(p.second)) {
            fixed[p.first] = p.second;
        }
    }
    return fixed;
}

// Also the group and the panel of packed weights: extents that are a name alone.
std::map<std::string, std::string> fixed_names(const OpArgument &a, const json &extents, std::map<std::string, std::string> fixed) {
    for (size_t d = 0; d < a.extents.size() && d < extents.size(); d++) {
        if (extents[d].is_number_integer() && std::regex_match(a.extents[d], std::regex("[a-z_]+"))) {
            fixed[a.extents[d]] = extents[d].dump();
        }
    }
    return fixed;
}

// An extent with the numbers in it, and a division that rounds up as people write it.
std::string extent_text(std::string extent, const std::map<std::string, std::string> &fixed) {
    for (const auto &f : fixed) {
        extent = std::regex_replace(extent, std::regex("\\b" + f.first + "\\b"), f.second);
    }
    static const std::regex up("\\((\\w+)\\+(\\d+)-1\\)//\\2\\b"), up_by("\\((\\w+)\\+(\\d+)\\)//(\\d+)\\b");
    extent = std::regex_replace(extent, up, "ceil($1 / $2)");
    extent = std::regex_replace(extent, up_by, "ceil($1 / $3)");
    return std::regex_replace(extent, std::regex("ceil\\((\\w+) / 1\\)"), "$1");
}

std::string extents_text(const OpArgument *known, const json &argument, const std::map<std::string, std::string> &numbers) {
    const json extents = argument.value("extents", json::array());
    const auto fixed = known ? fixed_names(*known, extents, numbers) : numbers;
    std::vector<std::string> texts;
    for (size_t d = 0; d < extents.size(); d++) {
        const bool named = known && known->extents.size() == extents.size();
        texts.push_back(extents[d].is_number_integer() ? extents[d].dump() : named ? extent_text(known->extents[d], fixed) : "any");
    }
    return "[" + join(texts, ", ") + "]";
}

std::string description(const std::string &function, const std::vector<Parameter> &parameters, const std::string &op,
                        const Assignments &params, const json &arguments) {
    const Op *known = known_op(op);
    std::string text = fmt::format("/** {}{}\n", op, known ? ": " + known->summary + "." : "");
    std::vector<std::string> choices;
    for (const auto &p : params) {
        choices.push_back(p.first + "=" + p.second);
    }
    if (!choices.empty()) {
        text += fmt::format(" * Built with {}.\n", join(choices, ", "));
    }
    text += " *\n * Arguments, extents of the innermost dimension first:\n";
    const auto numbers = known ? fixed_numbers(*known, parameters, params) : std::map<std::string, std::string>();
    bool packed = false;
    std::vector<std::string> constant;
    for (const Parameter &p : parameters) {
        const OpArgument *a = known ? known->argument(p.name) : nullptr;
        if (!p.type.empty()) {
            text += fmt::format(" *   {:<16} {}\n", p.name, p.type);
            continue;
        }
        const json argument = arguments.value(p.name, json::object());
        const bool is_packed = ends_with(p.name, "_packed");
        packed = packed || is_packed;
        if (argument.value("constant", false)) {
            constant.push_back(p.name);
        }
        text +=
            fmt::format(" *   {:<16} {:<9} {} {}{}\n", p.name, argument.value("type", ""), argument.value("output", false) ? "out" : "in ",
                        extents_text(a, argument, numbers), is_packed ? ", made by halyard_pack()" : "");
    }
    if (!constant.empty()) {
        text += fmt::format(" *\n * No kernel that may still run when this is called writes {}: they are read before it has ended.\n",
                            join(constant, ", "));
    }
    text += fmt::format(" *\n"
                        " * Dimension 0 has stride 1 where nothing else is said; the others are free{}.\n"
                        " * Returns 0, or the code of an error whose text halyard_last_error() gives (halyard/runtime.h){}.\n"
                        " * {}_metadata() has types, numbers of dimensions, and extents that are fixed, at run time. */\n",
                        packed ? ", but for packed weights, which are dense" : "", packed ? "; weights are packed by halyard/pack.h" : "",
                        function);
    return text;
}

}  // namespace

std::vector<HeaderArgument> header_arguments(const std::string &header, const std::string &function) {
    const size_t prototype = header.find("int " + function + "(");
    const size_t end = prototype == std::string::npos ? prototype : header.find(");", prototype);
    std::vector<HeaderArgument> arguments;
    if (end != std::string::npos) {
        const size_t open = header.find('(', prototype) + 1;
        for (const auto &text : split(header.substr(open, end - open), ',')) {
            arguments.push_back(parse_parameter(text));
        }
    }
    return arguments;
}

std::string described_header(const std::string &header, const std::string &function, const std::string &op, const Assignments &params,
                             const json &arguments) {
    static const std::string attributes = "HALIDE_FUNCTION_ATTRS\n";
    const size_t begin = header.rfind(attributes, header.find("int " + function + "("));
    const auto parameters = header_arguments(header, function);
    if (!arguments.is_object() || parameters.empty() || begin == std::string::npos) {
        return header;
    }
    return header.substr(0, begin) + description(function, parameters, op, params, arguments) + header.substr(begin);
}

void describe_header(const std::string &directory, const std::string &function, const std::string &op, const Assignments &params,
                     const json &report) {
    const auto files = outputs_in(directory, function, ".h");
    const auto arguments = report.is_object() ? report.find("arguments") : report.end();
    if (files.empty() || !report.is_object() || arguments == report.end()) {
        return;
    }
    const std::string path = files.front().string(), header = read_file(path, kMostText);
    write_file(path, described_header(header, function, op, params, *arguments));
}

}  // namespace halyard
