#ifndef MINILM_SAFETENSORS_H
#define MINILM_SAFETENSORS_H

/** \file
 * Reader of a safetensors file: the whole header is checked when it is opened.
 */

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "aligned.h"
#include "common/mapped_file.h"

namespace minilm {

/** f32 values of one tensor: inside the mapped file where they can be used as
 * they are, else a converted copy. Valid as long as the SafeTensors it is from. */
struct FloatTensor {
    const float *data = nullptr;
    std::vector<int64_t> shape;
    AlignedBlock copy;
};

class SafeTensors {
public:
    /** Throws std::runtime_error that names the file, the tensor and the remedy. */
    explicit SafeTensors(const std::string &path);

    bool has(const std::string &name) const {
        return entries_.count(name) != 0;
    }

    /** Throws unless there is such a tensor, of this shape and of F32, F16 or BF16. Does not read its values. */
    void require(const std::string &name, const std::vector<int64_t> &shape) const;

    /** The tensor as f32, which require() has to accept. Values that are no finite numbers are an error. */
    FloatTensor floats(const std::string &name, const std::vector<int64_t> &shape) const;

private:
    struct Entry {
        std::string dtype;
        std::vector<int64_t> shape;
        uint64_t begin = 0, end = 0;
    };

    class HeaderEvents;

    void read_header();
    void check_coverage() const;
    const Entry &find(const std::string &name, const std::vector<int64_t> &shape) const;
    void add(const std::string &name, const void *json);
    Entry read_entry(const std::string &name, const void *json) const;
    [[noreturn]] void fail(const std::string &what) const;
    [[noreturn]] void fail(const std::string &tensor, const std::string &what) const;

    std::string path_;
    halyard_apps::MappedFile file_;
    const uint8_t *values_ = nullptr;
    uint64_t values_size_ = 0;
    std::map<std::string, Entry> entries_;
};

}  // namespace minilm

#endif
