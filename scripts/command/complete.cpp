#include "command/complete.h"

#include <exception>
#include <map>

#include <fmt/format.h>

#include "command/option_table.h"
#include "kernel/emit_names.h"
#include "kernel/generator_params.h"
#include "kernel/heads.h"
#include "kernel/paths.h"
#include "kernel/registry.h"
#include "kernel/schedules.h"
#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard {

namespace {

struct Candidate {
    std::string word, text;
};

using Candidates = std::vector<Candidate>;

// The words before the one that is being written.
struct Line {
    const CLI::App *command = nullptr;
    std::map<std::string, std::string> values;  // of options, by their longest name
    std::vector<std::string> arguments;
    OptionRow waiting;  // the option whose value is being written
    bool is_waiting = false, only_arguments = false;

    std::string value(const std::string &option) const {
        const auto it = values.find(option);
        return it == values.end() ? "" : it->second;
    }

    std::string op() const {
        return arguments.empty() || !value("--generator").empty() ? "" : arguments.front();
    }
};

const OptionRow *find_option(const std::vector<OptionGroup> &groups, const std::string &name) {
    for (const auto &g : groups) {
        for (const auto &row : g.rows) {
            for (const auto &n : row.names) {
                if (n == name) {
                    return &row;
                }
            }
        }
    }
    return nullptr;
}

Line read_line(const CLI::App &app, const std::vector<std::string> &words) {
    Line line;
    line.command = &app;
    auto groups = option_groups(app);
    for (size_t i = 0; i + 1 < words.size(); i++) {
        const std::string &word = words[i];
        const std::string name = word.substr(0, word.find('='));
        const OptionRow *option = line.only_arguments ? nullptr : find_option(groups, name);
        const CLI::App *next = nullptr;
        for (const CLI::App *s : visible_subcommands(*line.command)) {
            next = s->get_name() == word ? s : next;
        }
        if (line.only_arguments) {
            line.arguments.push_back(word);
        } else if (word == "--") {
            line.only_arguments = true;
        } else if (option && !option->value.empty() && name == word) {
            if (i + 2 == words.size()) {
                line.waiting = *option;
                line.is_waiting = true;
            } else {
                line.values[option->names.back()] = words[++i];
            }
        } else if (option) {
            line.values[option->names.back()] = name == word ? "yes" : word.substr(name.size() + 1);
        } else if (next) {
            line.command = next;
            groups = option_groups(*next);
        } else if (word.empty() || word[0] != '-') {
            line.arguments.push_back(word);
        }
    }
    return line;
}

Candidates plain(const std::vector<std::string> &words) {
    Candidates all;
    for (const auto &w : words) {
        all.push_back({w, ""});
    }
    return all;
}

Candidates ops() {
    Candidates all;
    for (const auto &op : registry()) {
        all.push_back({op.name, op.summary});
    }
    return all;
}

std::string place_of(const Line &line) {
    const std::string target = line.value("--target");
    return starts_with(target, "cuda") ? "cuda" : "cpu";
}

std::string first_sentence(const std::string &text) {
    const size_t end = text.find(". ");
    return end == std::string::npos ? text : text.substr(0, end + 1);
}

// "" stands for the one that ships.
Candidates schedules(const Line &line) {
    Candidates all;
    std::vector<std::string> files;
    for (const auto &s : schedules_of(line.op())) {
        if (s.place == place_of(line)) {
            all.push_back({s.name == line.op() ? s.name : s.name.substr(line.op().size() + 1), ""});
            files.push_back(s.path);
        }
    }
    const auto heads = read_heads(files);
    for (size_t i = 0; i < heads.size(); i++) {
        all[i].text = heads[i].ok ? first_sentence(heads[i].header.summary) : "";
    }
    all.push_back({"none", "the generator's own"});
    if (find_option(option_groups(*line.command), "--shape")) {
        all.push_back({"best", "the best that the database knows for --shape"});
    }
    all.push_back({"", "files .lua"});
    return all;
}

// "panel=64", or of a parameter with choices each of them.
void add_values(Candidates &all, const std::string &word, const std::string &name, const std::vector<std::string> &choices,
                const std::string &value) {
    if (!starts_with(word, name + "=")) {
        all.push_back({name + "=", choices.empty() ? value : join(choices, " ")});
        return;
    }
    for (const auto &choice : choices.empty() ? std::vector<std::string>{value} : choices) {
        all.push_back({name + "=" + choice, choice == value ? "the default" : ""});
    }
}

Candidates assignments(const Line &line, const std::string &option, const std::string &word) {
    Candidates all;
    if (option == "--param") {
        for (const auto &p : generator_params(require_piece(paths().generators, "the generator of every op"), find_op(line.op()).name)) {
            add_values(all, word, p.name, p.choices, p.value);
        }
    } else if (option == "--set") {
        ScriptOptions options;
        options.lib_dirs = {paths().schedules};
        const std::string script = find_schedule(line.op(), line.value("--schedule"), place_of(line));
        for (const auto &t : read_head(script, options, 5).params) {
            if (!t.choices.empty()) {
                add_values(all, word, t.name, t.choices, t.value);
            }
        }
    } else if (option == "--fact") {
        all = {{"l1=", "bytes, as 32K"},
               {"l2=", "bytes, as 2M"},
               {"l3=", "bytes, as 32M"},
               {"processors=", "of the host"},
               {"multiprocessors=", "of the GPU"}};
    }
    return all;
}

// Whole sizes of the registry, and dimension by dimension.
Candidates shapes(const Line &line, const std::string &word) {
    const Op &op = find_op(line.op());
    Candidates all;
    for (const auto &shape : op.shapes) {
        all.push_back({shape_text(op, shape), "a size that is benchmarked"});
    }
    const size_t comma = word.rfind(',');
    const std::string before = comma == std::string::npos ? "" : word.substr(0, comma + 1);
    for (const auto &dim : op.dims) {
        if (("," + before).find("," + dim + "=") == std::string::npos) {
            all.push_back({before + dim + "=", "a number"});
        }
    }
    return all;
}

// Items with commas between them: what stands before the last one stays, and is not offered again.
Candidates in_list(const std::vector<std::string> &items, const std::string &word) {
    const size_t comma = word.rfind(',');
    const std::string before = comma == std::string::npos ? "" : word.substr(0, comma + 1);
    Candidates all;
    for (const auto &item : items) {
        if (("," + before).find("," + item + ",") == std::string::npos) {
            all.push_back({before + item, ""});
        }
    }
    return all;
}

// By what --help calls the value.
Candidates values(const Line &line, const OptionRow &row, const std::string &word) {
    const std::string &kind = row.value, option = row.positional() ? "" : row.names.back();
    if (kind == "OP") {
        return ops();
    }
    if (kind == "SCRIPT|OP") {
        Candidates all = ops();
        all.push_back({"", "files .lua"});
        return all;
    }
    if (kind == "FILE|NAME") {
        return schedules(line);
    }
    if (kind == "TARGETS") {
        std::vector<std::string> names = level_names();
        if (word.find(',') == std::string::npos) {
            names.insert(names.end(), {"host", "cuda"});
        }
        return in_list(names, word);
    }
    if (kind == "DEVICES") {
        return in_list({"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120", "emulator"}, word);
    }
    if (kind == "OUTPUTS") {
        return in_list(emit_names(), word);
    }
    if (kind == "NAME=VALUE") {
        return assignments(line, option, word);
    }
    if (kind == "DIMS") {
        return shapes(line, word);
    }
    if (kind == "SCHEDULER") {
        return plain({"Adams2019", "Li2018", "Mullapudi2016", "Anderson2021", "own"});
    }
    if (kind == "SHELL") {
        return plain({"bash", "zsh", "fish"});
    }
    if (kind == "DIR" || kind == "FOLDER") {
        return {{"", "folders"}};
    }
    if (kind == "FILE" || kind == "EXE") {
        return {{"", "files"}};
    }
    return {};
}

Candidates at(const Line &line, const std::string &word) {
    const auto groups = option_groups(*line.command);
    if (line.is_waiting) {
        return values(line, line.waiting, word);
    }
    if (!line.only_arguments && starts_with(word, "-")) {
        const size_t equals = word.find('=');
        if (equals != std::string::npos) {
            const OptionRow *row = find_option(groups, word.substr(0, equals));
            Candidates all = row ? values(line, *row, word.substr(equals + 1)) : Candidates();
            for (auto &c : all) {
                c.word = c.word.empty() ? "" : word.substr(0, equals + 1) + c.word;
            }
            return all;
        }
        Candidates all;
        for (const auto &g : groups) {
            for (const auto &row : g.rows) {
                if (!row.positional()) {
                    all.push_back({row.names.back(), row.text});
                }
            }
        }
        return all;
    }
    Candidates all;
    for (const CLI::App *s : visible_subcommands(*line.command)) {
        all.push_back({s->get_name(), s->get_description()});
    }
    std::vector<OptionRow> positionals;
    for (const auto &g : groups) {
        for (const auto &row : g.rows) {
            if (row.positional()) {
                positionals.push_back(row);
            }
        }
    }
    const size_t next = line.arguments.size();
    if (next < positionals.size() || (!positionals.empty() && positionals.back().repeated)) {
        for (const auto &c : values(line, positionals[std::min(next, positionals.size() - 1)], word)) {
            all.push_back(c);
        }
    }
    return all;
}

}  // namespace

std::string completions(const CLI::App &app, const std::vector<std::string> &words) {
    const std::string word = words.empty() ? "" : words.back();
    std::string text;
    try {
        for (const auto &c : at(read_line(app, words), word)) {
            if (c.word.empty() || starts_with(c.word, word)) {
                text += c.word + "\t" + join(split(c.text, '\n'), " ") + "\n";
            }
        }
    } catch (const std::exception &) {
        // An op or a file that is not there: whoever runs the line is told.
    }
    return text;
}

}  // namespace halyard
