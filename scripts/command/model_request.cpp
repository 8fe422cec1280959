#include "command/model_request.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/place.h"
#include "language/diagnostics.h"
#include "kernel/text.h"

namespace halyard {

namespace fs = std::filesystem;

namespace {

bool is_number(const std::string &text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

bool has_32_bits(const std::string &text) {
    return text.size() <= 10 && std::stoll(text) <= INT32_MAX;
}

}  // namespace

std::string model_name(const std::string &wanted, const std::string &file) {
    if (!wanted.empty()) {
        const bool plain =
            std::all_of(wanted.begin(), wanted.end(), [](unsigned char c) { return c < 128 && (std::isalnum(c) || c == '_'); });
        if (!plain || std::isdigit(static_cast<unsigned char>(wanted[0]))) {
            throw UsageError(fmt::format("--name {}: a name is letters, digits and _, and begins with no digit", printable(wanted)));
        }
        return wanted;
    }
    std::string name;
    for (unsigned char c : fs::path(file).stem().string()) {
        name += c < 128 && std::isalnum(c) ? char(c) : '_';
    }
    return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ? "model_" + name : name;
}

void add_dim(const std::string &text, ModelRequest &request) {
    const size_t eq = text.find('='), dots = text.find("..");
    const std::string low = eq == std::string::npos ? "" : text.substr(eq + 1, dots == std::string::npos ? dots : dots - eq - 1);
    const std::string high = dots == std::string::npos ? low : text.substr(dots + 2);
    if (eq > 0 && eq != std::string::npos && is_number(low) && is_number(high) && !(has_32_bits(low) && has_32_bits(high))) {
        throw UsageError(fmt::format("--dim {}: a size is at most {}", printable(text), INT32_MAX));
    }
    if (eq == 0 || !is_number(low) || !is_number(high) || std::stol(low) < 1 || std::stol(high) < std::stol(low)) {
        throw UsageError(
            fmt::format("--dim {}: write --dim batch=4 for one size, --dim batch=1..64 for a range from 1 on", printable(text)));
    }
    request.dims[text.substr(0, eq)] = {std::stol(low), std::stol(high)};
}

std::vector<std::string> place_model(const std::string &from, const std::string &name, const std::string &to, const std::string &depfile,
                                     const std::vector<std::string> &inputs) {
    auto files = place_files(from, name, to, depfile, inputs);
    const auto library = place_files(from, "lib" + name, to, "", {});
    files.insert(files.end(), library.begin(), library.end());
    return files;
}

}  // namespace halyard
