#include "lua_text.h"

#include <algorithm>
#include <set>

namespace halyard {

namespace {

const std::set<std::string> kKeywords = {"and", "break", "do", "else", "elseif", "end", "false", "for", "function",
                                         "goto", "if", "in", "local", "nil", "not", "or", "repeat", "return", "then",
                                         "true", "until", "while"};

std::string number_or_text(const std::string &value) {
    const bool number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    return number || value == "true" || value == "false" ? value : in_quotes(value);
}

}  // namespace

bool is_lua_name(const std::string &name) {
    return !name.empty() && !kKeywords.count(name) && !isdigit(static_cast<unsigned char>(name[0])) &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") ==
               std::string::npos;
}

std::string lua_identifier(std::string name) {
    std::replace_if(name.begin(), name.end(), [](unsigned char c) { return !isalnum(c); }, '_');
    return name;
}

std::string in_quotes(const std::string &text) {
    return "\"" + text + "\"";
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
        head += line.empty() ? "--\n" : "-- " + line + "\n";
    }
    for (const auto &m : modules) {
        head += (m == *modules.begin() ? "\n" : "") + ("local " + m + " = require \"lib." + m + "\"\n");
    }
    head += "\nreturn schedule " + in_quotes(op) + " {\n  target = " + in_quotes(target) + ",\n\n";
    if (!generator.empty()) {
        std::string items;
        for (const auto &g : generator) {
            items += (items.empty() ? "" : ", ") + g.first + " = " + number_or_text(g.second);
        }
        head += "  generator = { " + items + " },\n\n";
    }
    return head + "  apply = function(" + arguments + ")\n";
}

std::string lua_tail() {
    return "  end,\n}\n";
}

}  // namespace halyard
