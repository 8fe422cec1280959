#include "explore/space/script_space.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>

#include "language/diagnostics.h"
#include "kernel/failure.h"
#include "kernel/heads.h"
#include "explore/space/lua_writer.h"
#include "explore/space/open_call.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "explore/space/query.h"
#include "language/script.h"
#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;

const std::string kTune = "tune ";  // decisions about parameters of the script

bool is_integer(const std::string &s) {
    return !s.empty() && s.size() < 10 && s.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

struct ScriptSpace::Implementation {
    Implementation(const Task &t, Candidate s)
        : task(t), script(std::move(s)), work(temporary_root()), file(work.path() + "/" + t.op + ".lua") {
        write_file(file, script.lua);
        for (const FreeParam &p : free_params(task)) {
            may_choose.push_back(p.name);
        }
    }

    std::vector<std::string> lib_dirs() const {
        std::vector<std::string> dirs;
        if (!script.folder.empty()) {
            dirs = {script.folder, fs::path(script.folder).parent_path().string()};
        }
        dirs.push_back(paths().schedules);
        return dirs;
    }

    ScriptHeader head(const Assignments &set) const {
        ScriptOptions options;
        options.set = set;
        options.params = task.params;
        options.target = resolve_targets(task.target).front();
        options.lib_dirs = lib_dirs();
        try {
            return read_head(file, options, task.limits.build_seconds);
        } catch (const ScriptError &e) {
            throw Failure(by_its_name(e.what()));
        }
    }

    // What is read is a copy of the file that the message is to name.
    std::string by_its_name(std::string message) const {
        if (script.origin.empty()) {
            return message;
        }
        for (size_t at = message.find(file); at != std::string::npos; at = message.find(file, at)) {
            message.replace(at, file.size(), script.origin);
            at += script.origin.size();
        }
        return message;
    }

    bool open(const Tunable &t) const {
        const bool chosen = !t.is_generator_param || std::find(may_choose.begin(), may_choose.end(), t.name) != may_choose.end();
        return t.searched && t.choices.size() > 1 && !script.set.count(t.name) && chosen;
    }

    const Task task;
    Candidate script;
    const TemporaryDirectory work;
    const std::string file;
    std::vector<std::string> may_choose;
    std::map<std::string, Description> descriptions;  // by the values of parameters
};

ScriptSpace::ScriptSpace(const Task &task, Candidate script) : implementation_(std::make_unique<Implementation>(task, std::move(script))) {
    Implementation &i = *implementation_;
    // What the task says of the generator, the script does not choose.
    for (const Tunable &t : i.head(i.script.set).params) {
        if (t.is_generator_param && !t.choices.empty() && task.params.count(t.name)) {
            i.script.set.insert({t.name, t.value});
        }
    }
}

ScriptSpace::~ScriptSpace() = default;

std::vector<Tunable> ScriptSpace::tunables() const {
    return implementation_->head(implementation_->script.set).params;
}

Candidate ScriptSpace::propose(Choices &choices) const {
    const Implementation &i = *implementation_;
    Candidate c = i.script;
    for (const Tunable &t : i.head(i.script.set).params) {
        if (!i.open(t)) {
            continue;
        }
        const std::string name = kTune + t.name;
        if (std::all_of(t.choices.begin(), t.choices.end(), is_integer)) {
            std::vector<int64_t> numbers;
            for (const auto &v : t.choices) {
                numbers.push_back(std::stoll(v));
            }
            std::sort(numbers.begin(), numbers.end());
            c.set[t.name] = std::to_string(choices.number(name, numbers, std::stoll(t.value)));
        } else {
            c.set[t.name] = choices.pick(name, t.choices, t.value);
        }
    }
    i.head(c.set);
    return c;
}

const Description *ScriptSpace::description(const Candidate &c) {
    Implementation &i = *implementation_;
    if (!has_open_call(i.script.lua)) {
        return nullptr;
    }
    const std::string key = assignments_text(c.set);
    auto it = i.descriptions.find(key);
    if (it == i.descriptions.end()) {
        Assignments params = c.params;
        for (const auto &p : i.head(c.set).generator) {
            params.insert(p);
        }
        const GivenScript given{i.file, i.lib_dirs(), c.set};
        try {
            it = i.descriptions.emplace(key, describe_pipeline(i.task, params, &given)).first;
        } catch (const Failure &e) {
            throw Failure(i.by_its_name(e.what()));
        }
    }
    return it->second.open ? &it->second : nullptr;
}

Candidate ScriptSpace::filled(Candidate c, const Description &d, const Plan &plan) const {
    const auto call = find_open_call(c.lua, d.open->line);
    if (!call) {
        throw Failure(fmt::format("{}:{}: error: open: stands inside of an expression\n"
                                  "  give it a line of its own: what is found is written in its place",
                                  implementation_->script.origin, d.open->line));
    }
    const std::string lanes = d.open->target ? "target:lanes \"f32\"" : std::to_string(d.lanes());
    c.lua.replace(call->begin, call->end - call->begin, write_statements(d, plan, {call->funcs, lanes, call->indent}));
    return c;
}

namespace {

// A part of a text. Found by hand, as a regular expression of the C++ library takes a piece of the stack for each character.
struct Part {
    size_t begin, end;
};

bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

size_t skip(const std::string &text, size_t at, const char *what = " \t\r\n\v\f") {
    return std::min(text.find_first_not_of(what, at), text.size());
}

// Behind the words and signs, with blanks between them; 0 where something else stands there.
size_t behind(const std::string &text, size_t at, std::initializer_list<const char *> words) {
    for (const std::string word : words) {
        at = skip(text, at);
        if (text.compare(at, word.size(), word) != 0) {
            return 0;
        }
        at += word.size();
    }
    return at;
}

// The name in a line `  params = NAME,`.
std::optional<Part> params_of_library(const std::string &lua) {
    const std::string line = "\n  params = ";
    for (size_t at = lua.find(line); at != std::string::npos; at = lua.find(line, at + 1)) {
        const size_t begin = at + line.size();
        size_t end = begin;
        while (end < lua.size() && (in_word(lua[end]) || lua[end] == '.')) {
            end++;
        }
        if (end > begin && in_word(lua[begin]) && !std::isdigit(static_cast<unsigned char>(lua[begin])) &&
            lua.compare(end, 2, ",\n") == 0) {
            return Part{begin, end};
        }
    }
    return std::nullopt;
}

// The value in `NAME = tune { ..., default = VALUE`.
std::optional<Part> default_of(const std::string &lua, const std::string &name) {
    const std::string word = "default";
    for (size_t at = lua.find(name); at != std::string::npos; at = lua.find(name, at + 1)) {
        const size_t open = at > 0 && in_word(lua[at - 1]) ? 0 : behind(lua, at + name.size(), {"=", "tune", "{"});
        if (open == 0) {
            continue;
        }
        const size_t close = std::min(lua.find('}', open), lua.size());
        for (size_t d = lua.rfind(word, close); d != std::string::npos && d >= open; d = lua.rfind(word, d - 1)) {
            const size_t equals = in_word(lua[d - 1]) ? 0 : behind(lua, d, {word.c_str(), "="});
            const size_t begin = equals > 0 ? skip(lua, equals) : lua.size();
            const size_t end = begin >= lua.size() ? begin
                               : lua[begin] == '"' ? lua.find('"', begin + 1)
                                                   : std::min(lua.find_first_of(" \t\r\n\v\f,}", begin), lua.size());
            if (end > begin && end != std::string::npos) {
                return Part{begin, lua[begin] == '"' ? end + 1 : end};
            }
        }
    }
    return std::nullopt;
}

}  // namespace

std::string with_own_params(const Task &task, const Candidate &script) {
    const auto name = params_of_library(script.lua);
    if (!name) {
        return script.lua;
    }
    const auto written = [](const std::string &v) { return is_integer(v) || v == "true" || v == "false" ? v : "\"" + v + "\""; };
    std::string table = "{\n";
    for (const Tunable &t : ScriptSpace(task, script).tunables()) {
        if (t.is_generator_param) {
            continue;
        }
        std::vector<std::string> values;
        for (const auto &c : t.choices) {
            values.push_back(written(c));
        }
        table += t.choices.empty() ? "    " + t.name + " = " + written(t.value) + ",\n"
                                   : "    " + t.name + " = tune { " + join(values, ", ") + ", default = " + written(t.value) +
                                         (t.searched ? "" : ", search = false") + " },\n";
    }
    return std::string(script.lua).replace(name->begin, name->end - name->begin, table + "  }");
}

Defaults with_defaults(std::string lua, const Assignments &set) {
    Defaults d;
    for (const auto &[name, value] : set) {
        if (const auto old = default_of(lua, name)) {
            lua.replace(old->begin, old->end - old->begin, lua[old->begin] == '"' ? "\"" + value + "\"" : value);
        } else {
            d.left[name] = value;
        }
    }
    d.lua = std::move(lua);
    return d;
}

}  // namespace halyard::explore
