#include "kernel/text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/failure.h"
#include "kernel/process.h"

namespace halyard {

std::vector<std::string> split(const std::string &text, char separator) {
    std::vector<std::string> items;
    std::istringstream in(text);
    for (std::string item; std::getline(in, item, separator);) {
        item = trim(item);
        if (!item.empty()) {
            items.push_back(item);
        }
    }
    return items;
}

std::string join(const std::vector<std::string> &items, const std::string &separator) {
    return fmt::format("{}", fmt::join(items, separator));
}

std::string trim(const std::string &text) {
    const size_t begin = text.find_first_not_of(" \t\r\n");
    const size_t end = text.find_last_not_of(" \t\r\n");
    return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

bool starts_with(const std::string &text, const std::string &prefix) {
    return text.compare(0, prefix.size(), prefix) == 0;
}

bool ends_with(const std::string &text, const std::string &suffix) {
    return text.size() >= suffix.size() && text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

namespace {

bool starts_code_point(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}

}  // namespace

size_t columns(const std::string &text) {
    size_t n = 0;
    for (char c : text) {
        n += starts_code_point(c);
    }
    return n;
}

std::string fit(const std::string &text, size_t width) {
    const size_t have = columns(text);
    if (have <= width) {
        return text + std::string(width - have, ' ');
    }
    std::string cut;
    size_t n = 0;
    for (char c : text) {
        n += starts_code_point(c);
        if (n >= width) {
            break;
        }
        cut += c;
    }
    return width == 0 ? "" : cut + "…";
}

namespace {

// A signal ends the waiting for more; what came till then is not all.
std::string read_stream(FILE *stream, const std::string &name, size_t most) {
    std::string content;
    char block[1 << 14];
    for (size_t n; stream && (n = std::fread(block, 1, sizeof(block), stream)) > 0;) {
        content.append(block, n);
        if (content.size() > most) {
            throw Failure(fmt::format("{}: error: is larger than {} MiB", name, most >> 20));
        }
    }
    if (!stream || std::ferror(stream)) {
        const int error = errno;
        check_signals();
        throw Failure(fmt::format("{}: error: cannot be read: {}", name, std::strerror(error)));
    }
    return content;
}

}  // namespace

std::string read_file(const std::string &path, size_t most) {
    const std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
    return read_stream(file.get(), path, most);
}

std::string read_standard_input() {
    return read_stream(stdin, "standard input", size_t(1) << 30);
}

std::string beginning_of_file(const std::string &path, size_t most) {
    const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat s = {};
    std::string text(fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode) ? std::min(size_t(s.st_size), most) : 0, 0);
    size_t have = 0;
    for (ssize_t n = 1; n > 0 && have < text.size(); have += size_t(std::max(n, ssize_t(0)))) {
        n = read(fd, &text[have], text.size() - have);
    }
    close(fd);
    text.resize(have);
    return text;
}

void write_file(const std::string &path, const std::string &content, const std::string &name) {
    std::ofstream out(path, std::ios::binary);
    out << content;
    out.close();
    if (!out) {
        throw Failure(fmt::format("{}: error: cannot be written: {}", name.empty() ? path : name, std::strerror(errno)));
    }
}

void Hash::step(uint64_t word) {
    const unsigned __int128 prime = (static_cast<unsigned __int128>(1) << 88) | 0x13b;
    state_ = (state_ ^ word) * prime;
}

Hash &Hash::add(const std::string &text) {
    for (char c : text) {
        step(static_cast<unsigned char>(c));
    }
    step(0);
    return *this;
}

Hash &Hash::add_bytes(const std::string &bytes) {
    step(bytes.size());
    for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, std::min(sizeof(word), bytes.size() - at));
        step(word);
    }
    return *this;
}

std::string Hash::hex() const {
    return fmt::format("{:016x}{:016x}", static_cast<uint64_t>(state_ >> 64), static_cast<uint64_t>(state_));
}

}  // namespace halyard
