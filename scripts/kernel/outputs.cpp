#include "kernel/outputs.h"

#include <algorithm>
#include <cctype>

#include "kernel/text.h"

namespace halyard {

namespace fs = std::filesystem;

namespace {

bool is_name_of_output(const std::string &name, const std::string &function) {
    const char next = name.size() > function.size() ? name[function.size()] : ' ';
    return starts_with(name, function) && (next == '.' || next == '-') && std::all_of(name.begin(), name.end(), [](unsigned char c) {
               return std::isalnum(c) || c == '.' || c == '-' || c == '_' || c == '+';
           });
}

}  // namespace

std::vector<fs::path> outputs_in(const std::string &directory, const std::string &function) {
    std::vector<fs::path> files;
    for (const auto &entry : fs::directory_iterator(directory)) {
        std::error_code error;
        const bool is_file = entry.symlink_status(error).type() == fs::file_type::regular && entry.hard_link_count(error) == 1 && !error;
        if (is_file && is_name_of_output(entry.path().filename().string(), function)) {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::vector<fs::path> outputs_in(const std::string &directory, const std::string &function, const std::string &extension) {
    std::vector<fs::path> files = outputs_in(directory, function);
    files.erase(std::remove_if(files.begin(), files.end(), [&](const fs::path &f) { return f.extension() != extension; }), files.end());
    return files;
}

}  // namespace halyard
