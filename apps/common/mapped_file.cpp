#include "common/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace halyard_apps {

namespace {

[[noreturn]] void fail(const std::string &path, const std::string &why) {
    throw std::runtime_error(fmt::format("{}: cannot be read: {}", path, why));
}

}  // namespace

MappedFile::MappedFile(const std::string &path, uint64_t most) {
    // Without O_NONBLOCK, opening a pipe waits until somebody writes into it.
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        fail(path, std::strerror(errno));
    }
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        fail(path, "not a regular file");
    }
    if (uint64_t(info.st_size) > most) {
        close(fd);
        fail(path, fmt::format("its {} bytes are over the limit of {}", info.st_size, most));
    }
    size_ = size_t(info.st_size);
    if (size_ > 0) {  // An empty mapping is an error, an empty file is not.
        void *p = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
        const int reason = errno;
        if (p == MAP_FAILED) {
            close(fd);
            fail(path, std::strerror(reason));
        }
        data_ = static_cast<const uint8_t *>(p);
    }
    close(fd);
}

MappedFile::~MappedFile() {
    if (data_) {
        munmap(const_cast<uint8_t *>(data_), size_);
    }
}

}  // namespace halyard_apps
