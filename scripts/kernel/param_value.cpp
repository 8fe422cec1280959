#include "kernel/param_value.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <regex>

#include <fmt/format.h>

#include "language/diagnostics.h"
#include "kernel/text.h"

namespace halyard {

namespace {

// Halide's names of element types.
const std::vector<std::string> kElementTypes = {"bfloat16", "bool",  "float16", "float32", "float64", "handle", "int16",
                                                "int32",    "int64", "int8",    "uint16",  "uint32",  "uint64", "uint8"};

bool among(const std::string &value, const std::vector<std::string> &names) {
    return std::find(names.begin(), names.end(), value) != names.end();
}

// int8_t to uint64_t: its bits, and whether it has a sign; 0 bits where it is none of these.
int bits_of(const std::string &type, bool &has_sign) {
    static const std::regex integer("(u?)int(8|16|32|64)_t");
    std::smatch parts;
    if (!std::regex_match(type, parts, integer)) {
        return 0;
    }
    has_sign = parts[1].length() == 0;
    return std::stoi(parts[2]);
}

bool is_integer(const std::string &value, int bits, bool has_sign) {
    static const std::regex digits("-?[0-9]{1,20}");
    if (!std::regex_match(value, digits) || (!has_sign && value[0] == '-')) {
        return false;
    }
    errno = 0;
    if (!has_sign) {
        const unsigned long long n = std::strtoull(value.c_str(), nullptr, 10);
        return errno == 0 && (bits == 64 || n >> bits == 0);
    }
    const long long n = std::strtoll(value.c_str(), nullptr, 10), most = std::numeric_limits<int64_t>::max() >> (64 - bits);
    return errno == 0 && n <= most && n >= -most - 1;
}

bool is_real(const std::string &value) {
    static const std::regex number("[-+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]{1,3})?");
    return value.size() < 64 && std::regex_match(value, number);
}

}  // namespace

bool is_param_name(const std::string &name) {
    if (name.empty() || name.size() > 256 || std::isdigit(static_cast<unsigned char>(name[0]))) {
        return false;
    }
    const bool letters = std::all_of(name.begin(), name.end(), [](unsigned char c) { return c < 128 && (std::isalnum(c) || c == '_'); });
    return letters && name != "target" && name != "auto_schedule" && name != "machine_params" && !starts_with(name, "autoscheduler");
}

bool is_harmless(const std::string &value) {
    // A backslash at the end of a comment would draw the next line into it; = would end the name.
    return value.size() <= 4096 && value.find_first_of("=\\\"'`$") == std::string::npos && value.find("*/") == std::string::npos &&
           value.find("?"
                      "?/") == std::string::npos &&
           std::all_of(value.begin(), value.end(), [](unsigned char c) { return c >= ' ' && c < 127; });
}

std::string why_no_value(const GeneratorParam &param, const std::string &value) {
    if (value.empty()) {  // of which Halide's main says how it is used
        return "a value that is not empty";
    }
    if (!is_harmless(value)) {
        return "letters, digits and punctuation without quotes, \"=\" and \"\\\"";
    }
    bool has_sign = true;
    if (const int bits = bits_of(param.type, has_sign); bits > 0) {
        return is_integer(value, bits, has_sign) ? "" : fmt::format("a whole number of {} bits{}", bits, has_sign ? "" : " without a sign");
    }
    if (param.type == "float" || param.type == "double") {
        return is_real(value) ? "" : "a number";
    }
    if (param.type == "Type") {
        return among(value, kElementTypes) ? "" : quoted_list(param.choices.empty() ? kElementTypes : param.choices);
    }
    if (param.type == "bool" && (value == "True" || value == "False")) {
        return "";
    }
    return param.choices.empty() || among(value, param.choices) ? "" : quoted_list(param.choices);
}

}  // namespace halyard
