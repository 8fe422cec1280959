#ifndef HALYARD_APPS_MAPPED_FILE_H
#define HALYARD_APPS_MAPPED_FILE_H

/** \file
 * A whole file mapped read-only.
 */

#include <cstddef>
#include <cstdint>
#include <string>

namespace halyard_apps {

class MappedFile {
public:
    /** Throws std::runtime_error with the path and the system's reason, and for a file of over `most` bytes. */
    explicit MappedFile(const std::string &path, uint64_t most = UINT64_MAX);
    ~MappedFile();
    MappedFile(const MappedFile &) = delete;
    MappedFile &operator=(const MappedFile &) = delete;

    const uint8_t *data() const {
        return data_;
    }
    size_t size() const {
        return size_;
    }

private:
    const uint8_t *data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace halyard_apps

#endif
