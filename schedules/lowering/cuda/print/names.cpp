#include "lowering/cuda/print/names.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

namespace halyard {

namespace {

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c));
}

// Halide's own temporaries are called t12, with more behind a dot where passes took them apart.
bool is_temporary(const std::string &s) {
    size_t i = 1;
    while (i < s.size() && is_digit(s[i])) {
        i++;
    }
    return s[0] == 't' && i > 1 && (i == s.size() || s[i] == '.');
}

// `y.s0.col.step.new_max.s` -> `step.new_max`: a loop's name is what the schedule calls it, behind its Func, stage and
// the loops that it was split from.
std::string without_stage(const std::string &s) {
    static const std::set<std::string> kOfLoops = {"rebased", "new_max", "new_min",  "epilogue", "prologue",
                                                   "min",     "max",     "loop_max", "loop_min"};
    const size_t stage = s.find(".s");
    if (stage == std::string::npos || stage + 2 >= s.size() || !is_digit(s[stage + 2])) {
        return s;
    }
    std::vector<std::string> parts;
    std::istringstream in(s.substr(stage + 1));
    for (std::string part; std::getline(in, part, '.');) {
        parts.push_back(part);
    }
    std::string suffix;
    while (parts.size() > 2 && (parts.back() == "s" || kOfLoops.count(parts.back()))) {
        suffix = (parts.back() == "s" ? "" : "_" + parts.back()) + suffix;
        parts.pop_back();
    }
    return parts.back() + suffix;
}

// What a reader of the schedule knows.
std::string readable(std::string s) {
    s = is_temporary(s) ? s.substr(0, s.find('.')) : without_stage(s);
    for (char &c : s) {
        c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    }
    while (!s.empty() && s[0] == '_') {
        s.erase(0, 1);
    }
    s.erase(std::unique(s.begin(), s.end(), [](char a, char b) { return a == '_' && b == '_'; }), s.end());
    return s.empty() || is_digit(s[0]) ? "v" + s : s;
}

}  // namespace

Names::Names()
    : taken_{"auto",    "bool",     "break",    "case",   "char",     "class",    "const",    "continue",  "default",
             "delete",  "do",       "double",   "else",   "enum",     "extern",   "false",    "float",     "for",
             "goto",    "half",     "bfloat16", "if",     "inline",   "int",      "long",     "new",       "operator",
             "private", "public",   "register", "return", "short",    "signed",   "sizeof",   "static",    "struct",
             "switch",  "template", "this",     "true",   "typedef",  "union",    "unsigned", "using",     "virtual",
             "void",    "volatile", "while",    "add",    "multiply", "take_min", "take_max", "broadcast", "ramp",
             "each",    "select",   "load",     "store",  "gather",   "scatter",  "global",   "shared",    "vec",
             "to",      "minimum",  "maximum",  "pieces", "lanes_of", "fetch",    "matrix",   "sums"} {}

const std::string &Names::of(const std::string &halide_name) {
    const auto it = given_.find(halide_name);
    if (it != given_.end()) {
        return it->second;
    }
    const std::string base = readable(halide_name);
    std::string name = base;
    for (int i = 2; !taken_.insert(name).second; i++) {
        name = base + "_" + std::to_string(i);
    }
    return given_[halide_name] = name;
}

Names::Scoped::Scoped(Names &names, const std::string &halide_name) : names_(names), halide_name_(halide_name) {
    names_.of(halide_name_);
}

Names::Scoped::~Scoped() {
    const auto it = names_.given_.find(halide_name_);
    if (it != names_.given_.end()) {
        names_.taken_.erase(it->second);
        names_.given_.erase(it);
    }
}

const std::string &Names::Scoped::text() const {
    return names_.of(halide_name_);
}

}  // namespace halyard
