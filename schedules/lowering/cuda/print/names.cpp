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

// Of headers: EOF, NAN, M_PIf.
bool may_be_macro(const std::string &s) {
    const bool capitals = std::none_of(s.begin(), s.end(), [](unsigned char c) { return std::islower(c); });
    return (capitals && s.size() > 2 && !is_digit(s[1])) || s.compare(0, 2, "M_") == 0;
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
    return s.empty() || is_digit(s[0]) ? "v" + s : may_be_macro(s) ? "v_" + s : s;
}

// Of a letter in identifiers of the IR's names.
const char kMark = '\x01';

bool in_identifier(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == kMark;
}

std::string without_mark(std::string s) {
    s.erase(std::remove(s.begin(), s.end(), kMark), s.end());
    return s;
}

// Whether what begins there is declared: "const int x", "vec<int> x", "auto &x"; not "return x", "a * x".
bool is_declared(const std::string &text, size_t begin) {
    size_t end = begin;
    while (end > 0 && (text[end - 1] == '&' || text[end - 1] == '*')) {
        end--;
    }
    if (end == 0 || text[end - 1] != ' ') {
        return false;
    }
    end--;
    size_t first = end;
    while (first > 0 && in_identifier(text[first - 1])) {
        first--;
    }
    const std::string before = text.substr(first, end - first);
    return before.empty() ? end > 1 && text[end - 1] == '>' && text[end - 2] != ' ' && text[end - 2] != '-'
                          : before != "return" && before != "else" && before != "case";
}

std::set<std::string> words_of(const std::string &text) {
    std::istringstream in(text);
    std::set<std::string> words;
    for (std::string word; in >> word;) {
        words.insert(word);
    }
    return words;
}

// Keywords, macros of headers, and what printed expressions call.
const std::set<std::string> kTaken =
    words_of("alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl "
             "const const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit export "
             "extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr "
             "operator or or_eq private protected public register reinterpret_cast return short signed sizeof static "
             "static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename "
             "union unsigned using virtual void volatile wchar_t while xor xor_eq"
             " "
             "alloca assert errno math_errhandling stderr stdin stdout va_arg va_copy va_end va_start"
             " "
             "half bfloat16 add multiply take_min take_max broadcast ramp each select load store gather scatter global "
             "shared vec to minimum maximum pieces lanes_of fetch matrix sums");

}  // namespace

Names::Names() : taken_(kTaken) {}

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
    return given_[halide_name] = kMark + name;
}

std::string Names::unmarked(const std::string &text) {
    std::vector<std::pair<size_t, size_t>> words;  // those with a mark: begin and end
    std::set<std::string> own, ours, declared;     // words of the text, and of the IR
    for (size_t i = 0; i < text.size();) {
        if (text.compare(i, 2, "//") == 0) {
            i = std::min(text.find('\n', i), text.size());
            continue;
        }
        size_t end = i;
        bool marked = false;
        for (; end < text.size() && in_identifier(text[end]); end++) {
            marked = marked || text[end] == kMark;
        }
        if (end == i) {
            i++;
            continue;
        }
        const bool member = i > 0 && text[i - 1] == '.';
        if (marked) {
            words.emplace_back(i, end);
            const std::string word = without_mark(text.substr(i, end - i));
            ours.insert(word);
            if (is_declared(text, i)) {
                declared.insert(word);
            }
        } else if (!member) {
            own.insert(text.substr(i, end - i));
        }
        i = end;
    }
    std::map<std::string, std::string> others;
    for (const auto &word : declared) {
        if (own.count(word) > 0) {
            std::string name;
            for (int i = 2; name.empty() || own.count(name) > 0 || ours.count(name) > 0; i++) {
                name = word + "_" + std::to_string(i);
            }
            others[word] = name;
        }
    }
    std::string result;
    size_t done = 0;
    for (const auto &[begin, end] : words) {
        const std::string word = without_mark(text.substr(begin, end - begin));
        const auto other = others.find(word);
        result += text.substr(done, begin - done) + (other == others.end() ? word : other->second);
        done = end;
    }
    return without_mark(result + text.substr(done));
}

Names::Scoped::Scoped(Names &names, const std::string &halide_name) : names_(names), halide_name_(halide_name) {
    names_.of(halide_name_);
}

Names::Scoped::~Scoped() {
    const auto it = names_.given_.find(halide_name_);
    if (it != names_.given_.end()) {
        names_.taken_.erase(without_mark(it->second));
        names_.given_.erase(it);
    }
}

const std::string &Names::Scoped::text() const {
    return names_.of(halide_name_);
}

}  // namespace halyard
