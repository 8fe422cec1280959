#include "kernel/cache_file.h"

#include <filesystem>

#include <fmt/format.h>

#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;

}  // namespace

std::string seal_of(const std::string &bytes) {
    return fmt::format("{} {}", bytes.size(), Hash().add_bytes(bytes).hex());
}

bool has_seal(const std::string &path, const std::string &seal) {
    std::error_code error;
    const auto size = fs::file_size(path, error);  // an error for what is no regular file
    return !error && starts_with(seal, fmt::format("{} ", size)) && seal_of(beginning_of_file(path, size)) == seal;
}

void put_in_cache(const std::string &made, const std::string &path) {
    if (fs::is_directory(fs::symlink_status(path))) {
        fs::remove_all(path);
    }
    fs::rename(made, path);
}

}  // namespace halyard
