#ifndef HALYARD_LLM_GGUF_H
#define HALYARD_LLM_GGUF_H

/** \file
 * Reader of a GGUF file: keys with values, and tensors. All lengths, counts, offsets and types are checked when it is opened, so that what
 * it gives afterwards lies in the file.
 */

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/mapped_file.h"

namespace halyard_llm {

/** Types of tensors by the numbers that files have for them. */
enum class TensorType : uint32_t {
    kF32 = 0,
    kF16 = 1,
    kQ4_0 = 2,
    kQ4_1 = 3,
    kQ5_0 = 6,
    kQ5_1 = 7,
    kQ8_0 = 8,
    kQ2_K = 10,
    kQ3_K = 11,
    kQ4_K = 12,
    kQ5_K = 13,
    kQ6_K = 14,
    kBF16 = 30,
};

/** Elements of a block, and its bytes; nothing where the type is not one of those above. */
struct BlockSize {
    const char *name;
    int elements, bytes;
};
const BlockSize *block_size(TensorType type);

struct Tensor {
    std::string name;
    TensorType type = TensorType::kF32;
    std::vector<int64_t> shape;  // innermost first, without the ones behind
    const uint8_t *data = nullptr;
    uint64_t bytes = 0;
};

class Gguf {
public:
    /** Throws std::runtime_error that names the file, the place and the remedy. */
    explicit Gguf(const std::string &path);
    /** Of memory that stays the caller's; `name` stands in messages. */
    Gguf(const uint8_t *data, uint64_t size, const std::string &name);

    const std::string &name() const {
        return name_;
    }

    bool has(const std::string &key) const {
        return values_.count(key) != 0;
    }

    /** The value of a key. A key that is missing, or of another type, or outside of the limits is an error that says so. */
    int64_t integer(const std::string &key, int64_t least, int64_t most) const;
    double number(const std::string &key) const;
    bool boolean(const std::string &key) const;
    std::string text(const std::string &key) const;
    const std::vector<std::string_view> &texts(const std::string &key) const;
    std::vector<int64_t> integers(const std::string &key) const;
    std::vector<float> numbers(const std::string &key) const;

    /** The same, or `otherwise` where the key is missing. */
    int64_t integer_or(const std::string &key, int64_t otherwise, int64_t least, int64_t most) const;
    double number_or(const std::string &key, double otherwise) const;
    bool boolean_or(const std::string &key, bool otherwise) const;
    std::string text_or(const std::string &key, const std::string &otherwise) const;

    const std::map<std::string, Tensor> &tensors() const {
        return tensors_;
    }

    /** Null where there is none. */
    const Tensor *find(const std::string &name) const;

    /** A tensor that has to be there with this shape. */
    const Tensor &tensor(const std::string &name, const std::vector<int64_t> &shape) const;

    /** Of what is wrong with the file as a model. */
    [[noreturn]] void fail(const std::string &what) const;

private:
    struct Value {
        uint32_t type = 0, element = 0;  // of an array
        uint64_t count = 0;
        const uint8_t *data = nullptr;
        std::vector<std::string_view> strings;
    };

    class Cursor;

    void read();
    void read_value(Cursor *cursor, const std::string &key);
    void read_tensor(Cursor *cursor, uint64_t alignment);
    void place_tensors(uint64_t begin);
    const Value &value(const std::string &key) const;
    int64_t integer_at(const std::string &key, uint32_t type, const uint8_t *at) const;

    std::string name_;
    std::unique_ptr<halyard_apps::MappedFile> file_;
    const uint8_t *data_ = nullptr;
    uint64_t size_ = 0;
    std::map<std::string, Value> values_;
    std::map<std::string, Tensor> tensors_;
    std::map<std::string, uint64_t> offsets_;
};

/** `text` as a message may show it: cut, without what a terminal would obey. */
std::string shown(std::string_view text);

}  // namespace halyard_llm

#endif
