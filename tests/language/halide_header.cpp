#include "halide_header.h"

#include <cctype>
#include <regex>

#include "support.h"

namespace {

std::string without_comments(const std::string &text) {
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
        if (text.compare(i, 2, "//") == 0) {
            i = text.find('\n', i) - 1;
        } else if (text.compare(i, 2, "/*") == 0) {
            i = text.find("*/", i) + 1;
        } else {
            out += text[i];
        }
    }
    return out;
}

// The text between the braces of `class NAME`.
std::string body_of(const std::string &header, const std::string &class_name) {
    const std::regex start("\nclass " + class_name + "( final)?( : public \\w+)? \\{");
    std::smatch m;
    if (!std::regex_search(header, m, start)) {
        return "";
    }
    const size_t begin = size_t(m.position() + m.length());
    int depth = 1;
    size_t end = begin;
    for (; depth > 0 && end < header.size(); end++) {
        depth += header[end] == '{' ? 1 : header[end] == '}' ? -1 : 0;
    }
    return header.substr(begin, end - 1 - begin);
}

// Only what stands outside of function bodies.
std::string declarations(const std::string &body) {
    std::string out;
    int depth = 0;
    for (char c : body) {
        if (c == '{') {
            depth++;
        } else if (c == '}') {
            depth--;
            out += ";";
        } else if (depth == 0) {
            out += c;
        }
    }
    return out;
}

}  // namespace

std::set<std::string> public_methods(const std::string &class_name, const std::set<std::string> &returns) {
    static const std::string header = without_comments(read_file(HALYARD_HALIDE_H));
    const std::string text = declarations(body_of(header, class_name));
    std::set<std::string> found;
    bool is_public = false;
    std::string statement;
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] == ':' && text.compare(i, 2, "::") != 0 && i > 0 && text[i - 1] != ':') {
            const auto ends_with = [&](const std::string &s) {
                return statement.size() >= s.size() && statement.compare(statement.size() - s.size(), s.size(), s) == 0;
            };
            if (ends_with("public") || ends_with("private") || ends_with("protected")) {
                is_public = ends_with("public");
                statement.clear();
                continue;
            }
        }
        if (text[i] != ';') {
            statement += text[i];
            continue;
        }
        // `TYPE name(`, where the type may stand at the end of a template's enable_if.
        static const std::regex method(R"(([A-Za-z_:]+)( &|>::type|\s)\s*([a-z_]\w*)\()");
        std::smatch m;
        if (is_public && std::regex_search(statement, m, method)) {
            std::string type = m[1];
            type = type.substr(type.rfind(':') == std::string::npos ? 0 : type.rfind(':') + 1);
            const bool templated = statement.find("enable_if") != std::string::npos;
            static const std::regex enabled(R"(, (\w+) &>::type\s+([a-z_]\w*)\()");
            std::smatch e;
            if (templated && std::regex_search(statement, e, enabled)) {
                if (returns.count(e[1])) {
                    found.insert(e[2]);
                }
            } else if (returns.count(type)) {
                found.insert(m[3]);
            }
        }
        statement.clear();
    }
    return found;
}
