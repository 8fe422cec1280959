#include "lines.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <stdexcept>

namespace minilm {

LineReader::LineReader(const std::string &path)
    : path_(path), input_(&std::cin) {
    if (path == "-") {
        path_ = "standard input";
        return;
    }
    struct stat info;
    if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
        throw std::runtime_error(fmt::format("{}: is a directory, not a file of sentences", path));
    }
    file_.open(path, std::ios::binary);
    if (!file_) {
        throw std::runtime_error(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
    }
    input_ = &file_;
}

bool LineReader::next(std::string *line) {
    if (!std::getline(*input_, *line)) {
        if (input_->bad()) {
            throw std::runtime_error(fmt::format("{}: reading failed", path_));
        }
        return false;
    }
    if (!line->empty() && line->back() == '\r') {
        line->pop_back();
    }
    return true;
}

}  // namespace minilm
