#include "gguf.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "common/utf8.h"

namespace halyard_llm {

namespace {

// Types of values by their numbers in a file.
enum ValueType : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kFloat32, kBool, kString, kArray, kU64, kI64, kFloat64, kValueTypes };

constexpr uint64_t kSizes[kValueTypes] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr uint64_t kMostKeyBytes = 65535, kMostDimensions = 4;

template<typename T>
T load(const uint8_t *at) {
    T value;
    std::memcpy(&value, at, sizeof(value));  // the format is little-endian, as is every host that Halyard builds for
    return value;
}

}  // namespace

std::string shown(std::string_view text) {
    return halyard_apps::visible(std::string(text.substr(0, 100)), "");
}

const BlockSize *block_size(TensorType type) {
    static const std::map<TensorType, BlockSize> sizes = {
        {TensorType::kF32, {"F32", 1, 4}},       {TensorType::kF16, {"F16", 1, 2}},       {TensorType::kBF16, {"BF16", 1, 2}},
        {TensorType::kQ4_0, {"Q4_0", 32, 18}},   {TensorType::kQ4_1, {"Q4_1", 32, 20}},   {TensorType::kQ5_0, {"Q5_0", 32, 22}},
        {TensorType::kQ5_1, {"Q5_1", 32, 24}},   {TensorType::kQ8_0, {"Q8_0", 32, 34}},   {TensorType::kQ2_K, {"Q2_K", 256, 84}},
        {TensorType::kQ3_K, {"Q3_K", 256, 110}}, {TensorType::kQ4_K, {"Q4_K", 256, 144}}, {TensorType::kQ5_K, {"Q5_K", 256, 176}},
        {TensorType::kQ6_K, {"Q6_K", 256, 210}},
    };
    const auto found = sizes.find(type);
    return found == sizes.end() ? nullptr : &found->second;
}

/** Reads forwards; what would end behind the file is an error. */
class Gguf::Cursor {
public:
    explicit Cursor(const Gguf *file) : file_(file) {}

    uint64_t at() const {
        return at_;
    }

    uint64_t left() const {
        return file_->size_ - at_;
    }

    const uint8_t *skip(uint64_t bytes, const char *what) {
        if (bytes > left()) {
            file_->fail(fmt::format("{} at byte {} needs {} bytes, but the file ends {} behind it", what, at_, bytes, left()));
        }
        const uint8_t *data = file_->data_ + at_;
        at_ += bytes;
        return data;
    }

    template<typename T>
    T number(const char *what) {
        return load<T>(skip(sizeof(T), what));
    }

    std::string_view string(const char *what) {
        const uint64_t bytes = number<uint64_t>(what);
        return {reinterpret_cast<const char *>(skip(bytes, what)), size_t(bytes)};
    }

private:
    const Gguf *file_;
    uint64_t at_ = 0;
};

Gguf::Gguf(const std::string &path)
    : name_(path), file_(std::make_unique<halyard_apps::MappedFile>(path)), data_(file_->data()), size_(file_->size()) {
    read();
}

Gguf::Gguf(const uint8_t *data, uint64_t size, const std::string &name) : name_(name), data_(data), size_(size) {
    read();
}

void Gguf::fail(const std::string &what) const {
    throw std::runtime_error(
        fmt::format("{}: {}. The file is damaged, or of a kind that this reader does not know: get the model again", shown(name_), what));
}

void Gguf::read() {
    Cursor cursor(this);
    if (size_ < 4 || std::memcmp(data_, "GGUF", 4) != 0) {
        fail("it does not begin with GGUF");
    }
    cursor.skip(4, "the name of the format");
    const auto version = cursor.number<uint32_t>("the version");
    if (version != 2 && version != 3) {
        fail(fmt::format("it is of version {}, and versions 2 and 3 are read{}", version,
                         version == 0x03000000 || version == 0x02000000 ? ", in little-endian order" : ""));
    }
    const auto tensors = cursor.number<uint64_t>("the number of tensors");
    const auto keys = cursor.number<uint64_t>("the number of keys");
    // The least that each takes: a length, and a type or so.
    if (tensors > cursor.left() / 24 || keys > cursor.left() / 12) {
        fail(fmt::format("{} tensors and {} keys do not fit into {} bytes", tensors, keys, size_));
    }
    for (uint64_t i = 0; i < keys; i++) {
        const std::string_view key = cursor.string("a key");
        if (key.size() > kMostKeyBytes) {
            fail(fmt::format("a key of {} bytes is over the limit of {}", key.size(), kMostKeyBytes));
        }
        read_value(&cursor, std::string(key));
    }
    const auto alignment = uint64_t(integer_or("general.alignment", 32, 8, 1 << 20));
    if ((alignment & (alignment - 1)) != 0) {
        fail(fmt::format("general.alignment is {}, which is no power of two", alignment));
    }
    for (uint64_t i = 0; i < tensors; i++) {
        read_tensor(&cursor, alignment);
    }
    place_tensors((cursor.at() + alignment - 1) / alignment * alignment);
}

void Gguf::read_value(Cursor *cursor, const std::string &key) {
    Value value;
    value.type = cursor->number<uint32_t>("the type of a value");
    const bool array = value.type == kArray;
    value.element = array ? cursor->number<uint32_t>("the type of an array") : value.type;
    value.count = array ? cursor->number<uint64_t>("the length of an array") : 1;
    if (value.element >= kValueTypes || value.element == kArray) {
        fail(fmt::format("key '{}' has a value of type {}{}", shown(key), value.element, array ? " in an array" : ""));
    }
    if (value.element == kString) {
        if (value.count > cursor->left() / 8) {
            fail(fmt::format("key '{}' has {} texts, which do not fit into the file", shown(key), value.count));
        }
        value.strings.reserve(size_t(value.count));
        for (uint64_t i = 0; i < value.count; i++) {
            value.strings.push_back(cursor->string("a text"));
        }
    } else {
        const uint64_t size = kSizes[value.element];
        if (value.count > cursor->left() / size) {
            fail(fmt::format("key '{}' has {} values, which do not fit into the file", shown(key), value.count));
        }
        value.data = cursor->skip(value.count * size, "a value");
        for (uint64_t i = 0; value.element == kBool && i < value.count; i++) {
            if (value.data[i] > 1) {
                fail(fmt::format("key '{}' has a bool of {}", shown(key), int(value.data[i])));
            }
        }
    }
    if (!values_.emplace(key, std::move(value)).second) {
        fail(fmt::format("key '{}' stands there twice", shown(key)));
    }
}

void Gguf::read_tensor(Cursor *cursor, uint64_t alignment) {
    Tensor tensor;
    const std::string_view name = cursor->string("the name of a tensor");
    if (name.size() > kMostKeyBytes) {
        fail(fmt::format("the name of a tensor has {} bytes", name.size()));
    }
    tensor.name = std::string(name);
    const auto dimensions = cursor->number<uint32_t>("the dimensions of a tensor");
    if (dimensions < 1 || dimensions > kMostDimensions) {
        fail(fmt::format("tensor '{}' has {} dimensions, and not 1 to {}", shown(name), dimensions, kMostDimensions));
    }
    uint64_t elements = 1;
    for (uint32_t d = 0; d < dimensions; d++) {
        const auto extent = cursor->number<uint64_t>("an extent");
        if (extent == 0 || extent > uint64_t(INT32_MAX) || __builtin_mul_overflow(elements, extent, &elements)) {
            fail(fmt::format("tensor '{}' has an extent of {}", shown(name), extent));
        }
        tensor.shape.push_back(int64_t(extent));
    }
    while (tensor.shape.size() > 1 && tensor.shape.back() == 1) {
        tensor.shape.pop_back();
    }
    const auto type = cursor->number<uint32_t>("the type of a tensor");
    tensor.type = TensorType(type);
    const BlockSize *block = block_size(tensor.type);
    if (!block) {
        fail(fmt::format("tensor '{}' is of type {}, which is not one that is read", shown(name), type));
    }
    if (tensor.shape[0] % block->elements != 0) {
        fail(fmt::format("tensor '{}' has {} columns, and blocks of {} have {}", shown(name), tensor.shape[0], block->name,
                         block->elements));
    }
    if (__builtin_mul_overflow(elements / uint64_t(block->elements), uint64_t(block->bytes), &tensor.bytes)) {
        fail(fmt::format("tensor '{}' has {} elements", shown(name), elements));
    }
    const auto offset = cursor->number<uint64_t>("the offset of a tensor");
    if (offset % alignment != 0) {
        fail(fmt::format("tensor '{}' begins at byte {}, which is no multiple of {}", shown(name), offset, alignment));
    }
    offsets_[tensor.name] = offset;
    if (!tensors_.emplace(tensor.name, tensor).second) {
        fail(fmt::format("tensor '{}' stands there twice", shown(name)));
    }
}

void Gguf::place_tensors(uint64_t begin) {
    const uint64_t bytes = begin < size_ ? size_ - begin : 0;
    for (auto &[name, tensor] : tensors_) {
        const uint64_t offset = offsets_[name];
        if (offset > bytes || tensor.bytes > bytes - offset) {
            fail(fmt::format("tensor '{}' has {} bytes from byte {} of the tensors, but these have just {}", shown(name), tensor.bytes,
                             offset, bytes));
        }
        tensor.data = data_ + begin + offset;
    }
    // Each tensor may be copied: with one below many names, a small file would take all memory.
    std::vector<const Tensor *> in_order;
    for (const auto &[name, tensor] : tensors_) {
        in_order.push_back(&tensor);
    }
    std::sort(in_order.begin(), in_order.end(), [](const Tensor *a, const Tensor *b) {
        return std::pair(a->data, a->bytes) < std::pair(b->data, b->bytes);  // one without bytes lies over none
    });
    for (size_t i = 1; i < in_order.size(); i++) {
        const Tensor &before = *in_order[i - 1], &here = *in_order[i];
        if (here.data < before.data + before.bytes) {
            fail(fmt::format("tensors '{}' and '{}' lie over each other", shown(before.name), shown(here.name)));
        }
    }
    offsets_.clear();
}

const Gguf::Value &Gguf::value(const std::string &key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) {
        fail(fmt::format("key '{}' is missing", key));
    }
    return found->second;
}

int64_t Gguf::integer_at(const std::string &key, uint32_t type, const uint8_t *at) const {
    switch (type) {
    case kU8: return load<uint8_t>(at);
    case kI8: return load<int8_t>(at);
    case kU16: return load<uint16_t>(at);
    case kI16: return load<int16_t>(at);
    case kU32: return load<uint32_t>(at);
    case kI32: return load<int32_t>(at);
    case kU64:
        if (load<uint64_t>(at) > uint64_t(INT64_MAX)) {
            break;
        }
        [[fallthrough]];
    case kI64: return load<int64_t>(at);
    default: break;
    }
    fail(fmt::format("key '{}' is no integer", key));
}

int64_t Gguf::integer(const std::string &key, int64_t least, int64_t most) const {
    const Value &v = value(key);
    if (v.type == kArray) {
        fail(fmt::format("key '{}' is an array, and not one integer", key));
    }
    const int64_t result = integer_at(key, v.type, v.data);
    if (result < least || result > most) {
        fail(fmt::format("key '{}' is {}, and not {} to {}", key, result, least, most));
    }
    return result;
}

double Gguf::number(const std::string &key) const {
    const Value &v = value(key);
    if (v.type != kFloat32 && v.type != kFloat64) {
        fail(fmt::format("key '{}' is no number with a fraction", key));
    }
    const double result = v.type == kFloat32 ? double(load<float>(v.data)) : load<double>(v.data);
    if (!(std::fabs(result) <= double(std::numeric_limits<float>::max()))) {
        fail(fmt::format("key '{}' is no finite number of f32", key));
    }
    return result;
}

bool Gguf::boolean(const std::string &key) const {
    const Value &v = value(key);
    if (v.type != kBool) {
        fail(fmt::format("key '{}' is no bool", key));
    }
    return v.data[0] != 0;
}

std::string Gguf::text(const std::string &key) const {
    const Value &v = value(key);
    if (v.type != kString) {
        fail(fmt::format("key '{}' is no text", key));
    }
    return std::string(v.strings[0]);
}

const std::vector<std::string_view> &Gguf::texts(const std::string &key) const {
    const Value &v = value(key);
    if (v.type != kArray || v.element != kString) {
        fail(fmt::format("key '{}' is no array of texts", key));
    }
    return v.strings;
}

std::vector<int64_t> Gguf::integers(const std::string &key) const {
    const Value &v = value(key);
    if (v.type != kArray || v.element == kString) {
        fail(fmt::format("key '{}' is no array of integers", key));
    }
    std::vector<int64_t> result;
    for (uint64_t i = 0; i < v.count; i++) {
        result.push_back(integer_at(key, v.element, v.data + i * kSizes[v.element]));
    }
    return result;
}

std::vector<float> Gguf::numbers(const std::string &key) const {
    const Value &v = value(key);
    if (v.type != kArray || v.element != kFloat32) {
        fail(fmt::format("key '{}' is no array of float32", key));
    }
    std::vector<float> result(size_t(v.count));
    if (v.count > 0) {
        std::memcpy(result.data(), v.data, result.size() * sizeof(float));
    }
    return result;
}

int64_t Gguf::integer_or(const std::string &key, int64_t otherwise, int64_t least, int64_t most) const {
    return has(key) ? integer(key, least, most) : otherwise;
}

double Gguf::number_or(const std::string &key, double otherwise) const {
    return has(key) ? number(key) : otherwise;
}

bool Gguf::boolean_or(const std::string &key, bool otherwise) const {
    return has(key) ? boolean(key) : otherwise;
}

std::string Gguf::text_or(const std::string &key, const std::string &otherwise) const {
    return has(key) ? text(key) : otherwise;
}

const Tensor *Gguf::find(const std::string &name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
}

const Tensor &Gguf::tensor(const std::string &name, const std::vector<int64_t> &shape) const {
    const Tensor *found = find(name);
    if (!found) {
        fail(fmt::format("tensor '{}' is missing", name));
    }
    std::vector<int64_t> wanted = shape;
    while (wanted.size() > 1 && wanted.back() == 1) {
        wanted.pop_back();
    }
    if (found->shape != wanted) {
        fail(fmt::format("tensor '{}' has shape [{}], but its keys ask for [{}]", name, fmt::join(found->shape, ", "),
                         fmt::join(wanted, ", ")));
    }
    return *found;
}

}  // namespace halyard_llm
