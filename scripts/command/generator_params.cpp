#include "generator_params.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "diagnostics.h"
#include "failure.h"
#include "process.h"
#include "targets.h"
#include "text.h"

namespace halyard {

namespace {

// The text between the n-th pair of double quotes.
std::string in_quotes(const std::string &line) {
    const size_t begin = line.find('"');
    const size_t end = line.find('"', begin + 1);
    return begin == std::string::npos || end == std::string::npos ? "" : line.substr(begin + 1, end - begin - 1);
}

// A member of the stub's struct: `bool causal{ false };`, `Type type{ Halide::Float(32) };`,
// `Enum_weights weights{ Enum_weights::kn };`, `std::string order{ "a,b" };`. No name where the line is none.
GeneratorParam member(const std::string &line) {
    const size_t brace = line.find("{ "), end = line.find(" };");
    const std::vector<std::string> words = split(line.substr(0, brace), ' ');
    if (brace == std::string::npos || end == std::string::npos || words.size() != 2) {
        return {};
    }
    GeneratorParam p{words[1], {}, line.substr(brace + 2, end - brace - 2)};
    if (words[0] == "bool") {
        p.choices = {"false", "true"};
    } else if (words[0] == "Type") {
        const std::vector<std::string> floats = {"float32", "float16", "bfloat16"}, bytes = {"uint8", "int8"};
        for (const auto &[halide, name] : std::map<std::string, std::string>{
                 {"Halide::Float(32)", "float32"}, {"Halide::Float(16)", "float16"}, {"Halide::BFloat(16)", "bfloat16"},
                 {"Halide::UInt(8)", "uint8"}, {"Halide::Int(8)", "int8"}}) {
            if (p.value == halide) {
                // Halide's Type is any; generators take what stores the same kind of number.
                p.choices = std::count(bytes.begin(), bytes.end(), name) > 0 ? bytes : floats;
                p.value = name;
                break;
            }
        }
    } else if (starts_with(words[0], "Enum_")) {
        p.value = p.value.substr(p.value.rfind(':') + 1);
    } else if (words[0] == "std::string") {
        p.value = in_quotes(p.value);
    } else if (words[0] == "float" && p.value.size() > 1 && p.value.back() == 'f') {
        p.value.pop_back();
    }
    return p;
}

// What follows `intro` in the message, up to the end of its line.
std::string after(const std::string &message, const std::string &intro) {
    const size_t at = message.find(intro);
    return at == std::string::npos
               ? ""
               : trim(message.substr(at + intro.size(), message.find('\n', at) - at - intro.size()));
}

// "script: error: generator parameter a=1" or "--param a=1"
std::string blame(const Plan &plan, const std::string &name) {
    const auto value = plan.params.find(name);
    const std::string assignment = name + "=" + (value == plan.params.end() ? "" : value->second);
    return plan.declared.count(name) > 0
               ? fmt::format("{}: error: the schedule's generator parameter {}", plan.script, assignment)
               : "--param " + assignment;
}

std::string explain_name(const Plan &plan, const std::string &name) {
    std::vector<std::string> names;
    for (const auto &p : generator_params(plan.executable, plan.op)) {
        names.push_back(p.name);
    }
    std::string text = fmt::format("{}: {} has no such parameter", blame(plan, name), plan.op);
    if (!names.empty()) {
        text += "; it has " + quoted_list(names);
    }
    const std::string hint = did_you_mean(name, names);
    return text + (hint.empty() ? "" : "\n  " + hint);
}

// Halide names the value only, so the parameter is one that has it and does not offer it.
std::string explain_value(const Plan &plan, const std::string &value) {
    const auto known = generator_params(plan.executable, plan.op);
    for (const auto &p : plan.params) {
        const auto k = std::find_if(known.begin(), known.end(),
                                    [&](const GeneratorParam &g) { return g.name == p.first; });
        if (p.second != value || (k != known.end() && std::count(k->choices.begin(), k->choices.end(), value) > 0)) {
            continue;
        }
        const std::vector<std::string> choices = k == known.end() ? std::vector<std::string>{} : k->choices;
        std::string text = fmt::format("{}: {} does not take this value", blame(plan, p.first), plan.op);
        if (!choices.empty()) {
            text += "; it takes " + quoted_list(choices);
        }
        const std::string hint = did_you_mean(value, choices);
        return text + (hint.empty() ? "" : "\n  " + hint);
    }
    return "";
}

}  // namespace

std::vector<GeneratorParam> generator_params(const std::string &executable, const std::string &generator) {
    const TemporaryDirectory work(temporary_root());
    const ProcessResult r = run_process({executable, "-g", generator, "-f", "f", "-n", "f", "-o", work.path(), "-e",
                                         "cpp_stub", "target=" + resolve_targets("avx2").front()}, {20, {}});
    const std::string stub = work.path() + "/f.stub.h";
    if (!r.ok() || !std::filesystem::exists(stub)) {
        return {};
    }
    std::vector<GeneratorParam> params;
    std::map<std::string, std::vector<std::string>> choices;
    bool inside = false;  // the struct of the parameters
    for (const auto &raw : split(read_file(stub), '\n')) {
        const std::string line = trim(raw);
        if (starts_with(line, "{ Enum_")) {
            const size_t begin = std::string("{ Enum_").size();
            choices[line.substr(begin, line.find("::") - begin)].push_back(in_quotes(line));
        } else if (starts_with(line, "struct ")) {
            inside = starts_with(line, "struct GeneratorParams ");
        } else if (GeneratorParam p = inside ? member(line) : GeneratorParam(); !p.name.empty()) {
            params.push_back(std::move(p));
        }
    }
    for (auto &p : params) {
        if (choices.count(p.name) > 0) {
            p.choices = choices.at(p.name);
        }
    }
    return params;
}

std::string explain_param_error(const Plan &plan, const std::string &message) {
    if (const std::string name = after(message, "has no GeneratorParam named: "); !name.empty()) {
        return explain_name(plan, name);
    }
    for (const char *intro : {"Enumeration value not found: ", "Unable to parse: "}) {
        if (const std::string value = after(message, intro); !value.empty()) {
            return explain_value(plan, value);
        }
    }
    return "";
}

}  // namespace halyard
