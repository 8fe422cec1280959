#include "lines.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <stdexcept>

namespace minilm {

LineReader::LineReader(const std::string &path) : path_(path), input_(&std::cin) {
    struct stat info;
    bool found = false;
    if (path == "-") {
        path_ = "standard input";
        found = fstat(STDIN_FILENO, &info) == 0;
    } else {
        input_ = &file_;
        found = stat(path.c_str(), &info) == 0;
    }
    if (found && S_ISDIR(info.st_mode)) {
        throw std::runtime_error(fmt::format("{}: is a directory, not a file of sentences", path_));
    }
    if (input_ == &file_) {
        file_.open(path, std::ios::binary);
        found = file_.is_open();
    }
    if (!found) {
        throw std::runtime_error(fmt::format("{}: cannot be read: {}", path_, std::strerror(errno)));
    }
}

bool LineReader::next(std::string *line) {
    line->clear();
    was_cut_ = false;
    bool found = false, ended = false;
    while (!ended) {
        char part[4096];
        input_->getline(part, sizeof(part));
        const size_t taken = size_t(input_->gcount());
        if (input_->bad()) {
            throw std::runtime_error(fmt::format("{}: cannot be read: {}", path_, std::strerror(errno)));
        }
        // At the end of the input there is no line break; a part that is full sets the fail bit.
        const bool full = input_->fail() && !input_->eof();
        found = found || taken > 0;
        ended = !full;
        const size_t length = taken - (full || input_->eof() ? 0 : 1);
        const size_t kept = std::min(length, max_bytes - line->size());
        line->append(part, kept);
        was_cut_ = was_cut_ || kept < length;
        if (full) {
            input_->clear();
        }
    }
    if (!was_cut_ && !line->empty() && line->back() == '\r') {
        line->pop_back();
    }
    return found;
}

}  // namespace minilm
