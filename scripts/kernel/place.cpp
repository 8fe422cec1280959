#include "kernel/place.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;

bool same_content(const fs::path &a, const fs::path &b) {
    std::error_code error;
    return fs::exists(b, error) && fs::file_size(a, error) == fs::file_size(b, error) && !error &&
           read_file(a.string()) == read_file(b.string());
}

std::string make_escape(const std::string &path) {
    std::string escaped;
    for (char c : path) {
        if (c == ' ' || c == '#' || c == '\\') {
            escaped += '\\';
        } else if (c == '$') {
            escaped += '$';
        }
        escaped += c;
    }
    return escaped;
}

std::string rule_side(const std::vector<std::string> &files) {
    std::vector<std::string> items;
    for (const auto &f : files) {
        items.push_back(make_escape(fs::absolute(f).lexically_normal().string()));
    }
    return join(items, " \\\n  ");
}

}  // namespace

std::vector<std::string> place_files(const std::string &from, const std::string &to) {
    std::vector<fs::path> made;
    for (const auto &entry : fs::directory_iterator(from)) {
        made.push_back(entry.path());
    }
    std::sort(made.begin(), made.end());
    std::vector<std::string> placed;
    for (const auto &file : made) {
        const fs::path target = fs::path(to) / file.filename();
        if (file.extension() != ".h" || !same_content(file, target)) {
            std::error_code error;
            fs::rename(file, target, error);
            if (error) {
                throw Failure(fmt::format("{}: error: cannot be put in its place: {}", target.string(), error.message()));
            }
        }
        placed.push_back(target.string());
    }
    return placed;
}

void write_depfile(const std::string &path, const std::vector<std::string> &outputs, const std::vector<std::string> &inputs) {
    const std::string part = path + ".part";
    write_file(part, fmt::format("{}: \\\n  {}\n", rule_side(outputs), rule_side(inputs)));
    std::error_code error;
    fs::rename(part, path, error);
    if (error) {
        throw Failure(fmt::format("{}: error: cannot be put in its place: {}", path, error.message()));
    }
}

}  // namespace halyard
