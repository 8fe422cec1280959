#include "language/lua_text.h"

#include <algorithm>
#include <set>

namespace halyard {

namespace {

const std::set<std::string> kKeywords = {"and", "break", "do",  "else", "elseif", "end",    "false",  "for",  "function", "goto",  "if",
                                         "in",  "local", "nil", "not",  "or",     "repeat", "return", "then", "true",     "until", "while"};

std::string number_or_text(const std::string &value) {
    const bool number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    return number || value == "true" || value == "false" ? value : in_quotes(value);
}

}  // namespace

bool is_lua_name(const std::string &name) {
    return !name.empty() && !kKeywords.count(name) && !isdigit(static_cast<unsigned char>(name[0])) &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == std::string::npos;
}

std::string lua_identifier(std::string name) {
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return !isalnum(c); }, '_');
    return name;
}

std::string in_quotes(const std::string &text) {
    std::string quoted = "\"";
    for (const char c : text) {
        const auto u = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (u < ' ' || u == 127) {
            const std::string number = std::to_string(u);
            quoted += "\\" + std::string(3 - number.size(), '0') + number;
        } else {
            quoted += c;
        }
    }
    return quoted + "\"";
}

std::string all_in_quotes(const std::vector<std::string> &texts) {
    std::string all;
    for (const auto &t : texts) {
        all += (all.empty() ? "" : ", ") + in_quotes(t);
    }
    return all;
}

std::string lua_field_of_k(const std::string &name) {
    return is_lua_name(name) ? "k." + name : "k[" + in_quotes(name) + "]";
}

std::string lua_head(const std::string &op, const std::string &target, const std::vector<std::string> &comment,
                     const std::map<std::string, std::string> &generator, const std::string &arguments,
                     const std::set<std::string> &modules) {
    std::string head;
    for (const auto &line : comment) {
        // What follows a comment's end would be code.
        std::string text = line;
        std::replace_if(
            text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
        head += text.empty() ? "--\n" : "-- " + text + "\n";
    }
    for (const auto &m : modules) {
        head += (m == *modules.begin() ? "\n" : "") + ("local " + m + " = require \"lib." + m + "\"\n");
    }
    head += "\nreturn schedule " + in_quotes(op) + " {\n  target = " + in_quotes(target) + ",\n\n";
    if (!generator.empty()) {
        std::string items;
        for (const auto &g : generator) {
            const std::string name = is_lua_name(g.first) ? g.first : "[" + in_quotes(g.first) + "]";
            items += (items.empty() ? "" : ", ") + name + " = " + number_or_text(g.second);
        }
        head += "  generator = { " + items + " },\n\n";
    }
    return head + "  apply = function(" + arguments + ")\n";
}

std::string lua_tail() {
    return "  end,\n}\n";
}

}  // namespace halyard
