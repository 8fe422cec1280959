#include "language/nest.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

// Exported by libHalide but not in Halide.h: Func::print_loop_nest prints it to stderr.
namespace Halide::Internal {
std::string print_loop_nest(const std::vector<Function> &output_funcs);
}

namespace halyard {

using Halide::Func;

namespace {

// The names in a line of Halide's nest: `y$1`, `row.row_outer`, `col$x.v3`.
bool is_name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.';
}

std::vector<std::string> names_in(const std::string &text) {
    std::vector<std::string> names;
    std::string name;
    for (char c : text + " ") {
        if (is_name_char(c)) {
            name += c;
        } else if (!name.empty()) {
            names.push_back(name);
            name.clear();
        }
    }
    return names;
}

std::string with_plain_names(const PipelineView &view, const std::string &text) {
    std::string out, name;
    for (char c : text + "\n") {
        if (is_name_char(c)) {
            name += c;
            continue;
        }
        // Numbers and keywords stay as they are.
        while (!name.empty() && name.back() == '.') {
            name.pop_back();
            out += ".";
        }
        const std::string known = view.name_of(name);
        out += known == plain_name(name) ? loop_name(name) : known;
        name.clear();
        out += c;
    }
    out.pop_back();
    return out;
}

const Touch *last_touch(const std::vector<Touch> &touches, const std::string &func, const std::string &loop) {
    for (auto t = touches.rbegin(); t != touches.rend(); ++t) {
        if (t->func != func) {
            continue;
        }
        if (loop.empty() ? t->loops.empty() : std::find(t->loops.begin(), t->loops.end(), loop) != t->loops.end()) {
            return &*t;
        }
    }
    return nullptr;
}

}  // namespace

std::vector<NestLine> loop_nest(const PipelineView &view, const std::vector<Touch> &touches) {
    std::istringstream in(Halide::Internal::print_loop_nest(view.outputs()));
    std::vector<NestLine> lines;
    std::vector<std::pair<size_t, std::string>> producing;  // indentation and Func
    for (std::string text; std::getline(in, text);) {
        const size_t indent = text.find_first_not_of(' ');
        if (indent == std::string::npos) {
            continue;
        }
        while (!producing.empty() && producing.back().first >= indent) {
            producing.pop_back();
        }
        const auto names = names_in(text);
        NestLine line;
        line.text = with_plain_names(view, text);
        const Touch *touch = nullptr;
        if (names.size() >= 2 && (names[0] == "produce" || names[0] == "store")) {
            const std::string func = view.name_of(names[1]);
            touch = last_touch(touches, func, "");
            if (names[0] == "produce") {
                producing.emplace_back(indent, func);
            }
        } else if (names.size() >= 2 && !producing.empty() && text.back() == ':') {
            for (const auto &n : names) {
                if (!touch) {
                    touch = last_touch(touches, producing.back().second, loop_name(n));
                }
            }
            // vectorize("col", 16) names its inner loop by itself: `col.v0`.
            if (!touch && names[1].find('.') != std::string::npos) {
                const std::string path = names[1].substr(0, names[1].rfind('.'));
                touch = last_touch(touches, producing.back().second, loop_name(path));
            }
        }
        if (touch) {
            line.file = touch->file;
            line.line = touch->line;
        }
        lines.push_back(std::move(line));
    }
    return lines;
}

std::string without_halides(std::string loop) {
    for (const char *added : {".block_id_", ".thread_id_", ".rebased"}) {
        loop = loop.substr(0, loop.find(added));
    }
    return loop;
}

namespace {

// Of a copy, or of partial results, Halide has a name that no script has seen: x_wrapper$1.
std::string with_names_of_scripts(const PipelineView &view, const std::string &text) {
    std::string out, name;
    for (const char c : text + "\n") {
        if (c != '.' && is_name_char(c)) {
            name += c;
            continue;
        }
        const std::string known = view.name_of(name);
        out += known != plain_name(name) ? known : known == name ? loop_name(name) : name;
        out += c;
        name.clear();
    }
    out.pop_back();
    return out;
}

}  // namespace

std::string plain_message(const PipelineView &view, std::string message) {
    message = with_names_of_scripts(view, message);
    // The dimensions of an RDom first: `r$x` is one loop of "r", "box_x" one of several.
    for (const auto &e : view.funcs()) {
        const Func f(e.second.function);
        for (int s = 0; s <= f.num_update_definitions(); s++) {
            const auto &rvars = stage_of(f, s).get_schedule().rvars();
            const LoopNamer name_of(stage_of(f, s).get_schedule());
            for (const auto &r : rvars) {
                const std::string name = name_of(r.var);
                for (size_t at = message.find(r.var); at != std::string::npos; at = message.find(r.var, at)) {
                    message.replace(at, r.var.size(), name);
                    at += name.size();
                }
            }
        }
    }
    // Then the counters that keep names apart.
    std::string out;
    for (size_t i = 0; i < message.size(); i++) {
        if (message[i] == '$' && i + 1 < message.size() && std::isdigit(static_cast<unsigned char>(message[i + 1]))) {
            while (i + 1 < message.size() && std::isdigit(static_cast<unsigned char>(message[i + 1]))) {
                i++;
            }
            continue;
        }
        out += message[i];
    }
    return out;
}

namespace {

// The one of the largest value, of several the last; none where all have 0.
template<typename F>
Touch largest(const std::vector<Touch> &touches, F value) {
    Touch found;
    double most = 0;
    for (const Touch &t : touches) {
        if (value(t) > 0 && value(t) >= most) {
            most = value(t);
            found = t;
        }
    }
    return found;
}

bool says_of_bounds(const std::string &word) {
    static const std::set<std::string> kWords = {"align_bounds", "align_extent", "bound",      "bound_extent", "bound_storage",
                                                 "fold_storage", "set_bounds",   "set_extent", "set_min",      "set_stride"};
    return kWords.count(word) > 0;
}

// What splits a loop that a split with a predicate made.
Touch split_of_predicated(const PipelineView &view, const std::vector<Touch> &touches) {
    for (const auto &[name, entry] : view.funcs()) {
        const Func f(entry.function);
        for (int s = 0; s <= f.num_update_definitions(); s++) {
            std::set<std::string> made;
            for (const auto &split : stage_of(f, s).get_schedule().splits()) {
                const auto *touch = made.count(split.old_var) ? last_touch(touches, name, loop_name(split.old_var)) : nullptr;
                if (touch) {
                    return *touch;
                }
                if (split.tail == Halide::TailStrategy::PredicateLoads || split.tail == Halide::TailStrategy::PredicateStores) {
                    made.insert({split.outer, split.inner});
                }
            }
        }
    }
    return Touch();
}

}  // namespace

Touch blame(const std::string &message, const std::string &word, const PipelineView &view, const std::vector<Touch> &touches) {
    // What the message names, in pieces: `y.s0.row` names a Func and a loop.
    std::vector<std::string> names;
    for (const auto &n : names_in(message)) {
        std::istringstream parts(n);
        for (std::string part; std::getline(parts, part, '.');) {
            names.push_back(part);
        }
    }
    const auto named = [&](const std::string &name) { return std::find(names.begin(), names.end(), name) != names.end(); };
    std::string first;
    for (const auto &n : names) {
        if (first.empty() && view.funcs().count(view.name_of(n)) && view.name_of(n) == plain_name(n)) {
            first = view.name_of(n);
        }
    }
    // A word that the message names, said of the Func that it names first, on a loop that it names;
    // among equals the last one that was said.
    std::set<std::string> words;
    std::istringstream alternatives(word);
    for (std::string w; std::getline(alternatives, w, '|');) {
        words.insert({w, w + "_root"});
    }
    const auto is_word = [&](const Touch &t) { return words.count(t.word) > 0; };
    const Touch *best = nullptr;
    int best_score = 0;
    for (const Touch &t : touches) {
        int score = t.func == first ? 4 : named(t.func) || is_word(t) ? 3 : 0;
        if (score == 0) {
            continue;
        }
        score += named(t.word) || is_word(t) ? 3 : 0;
        score += std::any_of(t.loops.begin(), t.loops.end(), named) ? 1 : 0;
        if (score >= best_score) {
            best = &t;
            best_score = score;
        }
    }
    if (best) {
        return *best;
    }
    if (message.find("overflow occurred during constant-folding") != std::string::npos) {
        return largest(touches, [](const Touch &t) { return t.number; });
    }
    if (message.rfind("promises what no call can keep", 0) == 0) {
        // What a promise has, or else a number that only a call knows.
        const Touch said = largest(touches, [](const Touch &t) { return says_of_bounds(t.word) ? 1 : 0; });
        return said.line > 0 ? said : largest(touches, [](const Touch &t) { return t.has_open_number ? 1 : 0; });
    }
    if (message.find("Cannot split a loop variable resulting from a split using Predicate") != std::string::npos) {
        return split_of_predicated(view, touches);
    }
    return Touch();  // such an error comes after all directives: the last one is no more its cause than another
}

}  // namespace halyard
