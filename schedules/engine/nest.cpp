#include "nest.h"

#include <sstream>

// Exported by libHalide but not in Halide.h: Func::print_loop_nest prints it to stderr.
namespace Halide::Internal {
std::string print_loop_nest(const std::vector<Function> &output_funcs);
}

namespace halyard {

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
        out += view.name_of(name);
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
                    touch = last_touch(touches, producing.back().second, plain_name(n));
                }
            }
            // vectorize("col", 16) names its inner loop by itself: `col.v0`.
            if (!touch && names[1].find('.') != std::string::npos) {
                const std::string path = names[1].substr(0, names[1].rfind('.'));
                touch = last_touch(touches, producing.back().second, plain_name(path));
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

Touch blame(const std::string &message, const PipelineView &view, const std::vector<Touch> &touches) {
    const auto names = names_in(message);
    // First a word on a loop that the message names, in a Func that it names; then any word on the Func.
    for (const bool need_loop : {true, false}) {
        for (auto t = touches.rbegin(); t != touches.rend(); ++t) {
            bool func = false, loop = false;
            for (const auto &n : names) {
                std::istringstream parts(n);
                for (std::string part; std::getline(parts, part, '.');) {
                    func = func || view.name_of(part) == t->func;
                    loop = loop || std::find(t->loops.begin(), t->loops.end(), plain_name(part)) != t->loops.end();
                }
            }
            if (func && (loop || !need_loop)) {
                return *t;
            }
        }
    }
    return touches.empty() ? Touch() : touches.back();
}

}  // namespace halyard
