#include "kernel/generator_params.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "language/diagnostics.h"
#include "kernel/failure.h"
#include "kernel/generator_run.h"
#include "kernel/param_value.h"
#include "kernel/process.h"
#include "kernel/process_limits.h"
#include "kernel/targets.h"
#include "kernel/text.h"

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
    GeneratorParam p{words[1], {}, line.substr(brace + 2, end - brace - 2), words[0]};
    if (words[0] == "bool") {
        p.choices = {"false", "true"};
    } else if (words[0] == "Type") {
        const std::vector<std::string> floats = {"float32", "float16", "bfloat16"}, bytes = {"uint8", "int8"};
        for (const auto &[halide, name] : std::map<std::string, std::string>{{"Halide::Float(32)", "float32"},
                                                                             {"Halide::Float(16)", "float16"},
                                                                             {"Halide::BFloat(16)", "bfloat16"},
                                                                             {"Halide::UInt(8)", "uint8"},
                                                                             {"Halide::Int(8)", "int8"}}) {
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
    return at == std::string::npos ? "" : trim(message.substr(at + intro.size(), message.find('\n', at) - at - intro.size()));
}

// What is wrong with a name, and what there is.
std::string no_such_param(const GeneratorInterface &interface, const std::string &generator, const std::string &name,
                          const std::string &blame) {
    std::vector<std::string> names;
    for (const auto &p : interface.params) {
        names.push_back(p.name);
    }
    std::string text = fmt::format("{}: {} has no such parameter", blame, generator);
    if (!names.empty()) {
        text += "; it has " + quoted_list(names);
    }
    const std::string hint = did_you_mean(name, names);
    return text + (hint.empty() ? "" : "\n  " + hint);
}

std::string explain_name(const Plan &plan, const std::string &name) {
    const auto value = plan.params.find(name);
    return no_such_param(generator_interface(plan.executable, plan.op), plan.op, name,
                         blame_of(plan)(name, value == plan.params.end() ? "" : value->second));
}

std::string does_not_take(const std::string &generator, const std::string &blame, const std::string &takes, const std::string &value,
                          const std::vector<std::string> &choices) {
    const std::string hint = did_you_mean(value, choices);
    return fmt::format("{}: {} does not take this value{}{}{}{}", blame, generator, takes.empty() ? "" : "; it takes ", takes,
                       hint.empty() ? "" : "\n  ", hint);
}

// Halide names the value only, so the parameter is one that has it and does not offer it.
std::string explain_value(const Plan &plan, const std::string &value) {
    const auto known = generator_params(plan.executable, plan.op);
    for (const auto &p : plan.params) {
        const auto k = std::find_if(known.begin(), known.end(), [&](const GeneratorParam &g) { return g.name == p.first; });
        if (p.second != value || (k != known.end() && std::count(k->choices.begin(), k->choices.end(), value) > 0)) {
            continue;
        }
        const std::vector<std::string> choices = k == known.end() ? std::vector<std::string>{} : k->choices;
        return does_not_take(plan.op, blame_of(plan)(p.first, p.second), choices.empty() ? "" : quoted_list(choices), value, choices);
    }
    return "";
}

// A member of the struct of inputs or outputs: `StubInputBuffer<> a;`, `std::vector<Func> y;`. "" where the line is none.
std::string argument(const std::string &line) {
    const size_t space = line.rfind(' ');
    const std::string name = space == std::string::npos || line.back() != ';' ? "" : line.substr(space + 1, line.size() - space - 2);
    return is_param_name(name) ? name : "";
}

GeneratorInterface read_stub(const std::string &text) {
    GeneratorInterface result;
    result.known = true;
    std::map<std::string, std::vector<std::string>> choices;
    bool in_params = false, in_arguments = false;
    for (const auto &raw : split(text, '\n')) {
        const std::string line = trim(raw);
        if (starts_with(line, "{ Enum_")) {
            const size_t begin = std::string("{ Enum_").size();
            choices[line.substr(begin, line.find("::") - begin)].push_back(in_quotes(line));
        } else if (starts_with(line, "struct ")) {
            in_params = starts_with(line, "struct GeneratorParams ");
            in_arguments = starts_with(line, "struct Inputs ") || starts_with(line, "struct Outputs ");
        } else if (GeneratorParam p = in_params ? member(line) : GeneratorParam(); !p.name.empty()) {
            result.params.push_back(std::move(p));
        } else if (const std::string name = in_arguments ? argument(line) : ""; !name.empty()) {
            result.arguments.push_back(name);
        }
    }
    for (auto &p : result.params) {
        if (choices.count(p.name) > 0) {
            p.choices = choices.at(p.name);
        }
    }
    return result;
}

GeneratorInterface ask(const std::string &executable, const std::string &generator) {
    const TemporaryDirectory work(temporary_root());
    GeneratorRun run;
    run.executable = executable;
    run.generator = generator;
    run.function = "f";
    run.directory = work.path();
    run.emit = {"cpp_stub"};
    run.targets = {resolve_targets("avx2").front()};
    run.options = compiler_options(20);
    const std::string stub = work.path() + "/f.stub.h";
    return run_generator(run).ok() && std::filesystem::exists(stub) ? read_stub(read_file(stub, size_t(1) << 20)) : GeneratorInterface();
}

// `a.type`, `a.dim`, `a.size`: Halide has them for arguments whose declaration leaves that open.
bool is_property_of_argument(const GeneratorInterface &interface, const std::string &name) {
    const size_t dot = name.find('.');
    const std::string argument = name.substr(0, dot), property = dot == std::string::npos ? "" : name.substr(dot + 1);
    return is_param_name(argument) && (property == "type" || property == "dim" || property == "size") &&
           (!interface.known || std::count(interface.arguments.begin(), interface.arguments.end(), argument) > 0);
}

void check_param(const GeneratorInterface &interface, const std::string &generator, const std::string &name, const std::string &value,
                 const Blame &blame) {
    GeneratorParam unknown{name, {}, "", "std::string"};
    const GeneratorParam *param = &unknown;
    if (is_property_of_argument(interface, name)) {
        unknown.type = ends_with(name, ".type") ? "Type" : "int32_t";
    } else if (!is_param_name(name)) {
        throw Failure(no_such_param(interface, generator, name, blame(name, value)));
    } else if (interface.known) {
        const auto found =
            std::find_if(interface.params.begin(), interface.params.end(), [&](const GeneratorParam &p) { return p.name == name; });
        if (found == interface.params.end()) {
            throw Failure(no_such_param(interface, generator, name, blame(name, value)));
        }
        param = &*found;
    }
    if (const std::string takes = why_no_value(*param, value); !takes.empty()) {
        throw Failure(does_not_take(generator, blame(name, value), takes, value, param->choices));
    }
}

}  // namespace

const GeneratorInterface &generator_interface(const std::string &executable, const std::string &generator) {
    static std::mutex mutex;
    static std::map<std::pair<std::string, std::string>, GeneratorInterface> known;
    const std::lock_guard<std::mutex> lock(mutex);
    const auto key = std::make_pair(executable, generator);
    const auto found = known.find(key);
    return found != known.end() ? found->second : known.emplace(key, ask(executable, generator)).first->second;
}

std::vector<GeneratorParam> generator_params(const std::string &executable, const std::string &generator) {
    return generator_interface(executable, generator).params;
}

Blame blame_of(const Plan &plan) {
    return [script = plan.script, line = plan.line, declared = plan.declared](const std::string &name, const std::string &value) {
        const std::string assignment = printable(name + "=" + value);
        return declared.count(name) == 0 ? "--param " + assignment
                                         : fmt::format("{}{}: error: the schedule's generator parameter {}", script,
                                                       line > 0 ? fmt::format(":{}", line) : "", assignment);
    };
}

void check_params(const std::string &executable, const std::string &generator, const Assignments &params, const Blame &blame) {
    if (params.empty()) {
        return;
    }
    const GeneratorInterface &interface = generator_interface(executable, generator);
    for (const auto &p : params) {
        check_param(interface, generator, p.first, p.second, blame);
    }
}

std::string explain_param_error(const Plan &plan, const std::string &message) {
    if (const std::string name = after(message, "has no GeneratorParam named: "); !name.empty()) {
        return explain_name(plan, name);
    }
    if (const std::string takes = after(message, "Out of range: "); !takes.empty()) {  // generators/math/number.h
        const size_t equals = takes.find('='), comma = takes.find(", ");
        if (equals < comma && comma != std::string::npos) {
            const std::string name = takes.substr(0, equals), value = takes.substr(equals + 1, comma - equals - 1);
            return does_not_take(plan.op, blame_of(plan)(name, value), takes.substr(comma + 2), value, {});
        }
    }
    for (const char *intro : {"Enumeration value not found: ", "Unable to parse: "}) {
        if (const std::string value = after(message, intro); !value.empty()) {
            return explain_value(plan, value);
        }
    }
    return "";
}

}  // namespace halyard
