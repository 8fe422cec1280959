#include "safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "half.h"
#include "json_events.h"

namespace minilm {

namespace {

using Json = nlohmann::json;

// The reference implementation refuses longer headers too.
constexpr uint64_t max_header_bytes = 100'000'000;

constexpr size_t max_dimensions = 64;

/** Bytes of one value, 0 for a dtype that the format does not have. */
uint64_t size_of_dtype(const std::string &dtype) {
    static const std::map<std::string, uint64_t> sizes = {
        {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
        {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"I64", 8},     {"U64", 8}, {"F64", 8},
    };
    const auto it = sizes.find(dtype);
    return it == sizes.end() ? 0 : it->second;
}

/** An unsigned integer of the header; false for anything else. */
bool read_unsigned(const Json &value, uint64_t *result) {
    if (!value.is_number_unsigned()) {
        return false;
    }
    *result = value.get<uint64_t>();
    return true;
}

/** Where element `at` of a dense tensor stands, outermost dimension first. */
std::vector<int64_t> indices_of(uint64_t at, const std::vector<int64_t> &shape) {
    std::vector<int64_t> indices(shape.size());
    for (size_t d = shape.size(); d-- > 0;) {
        indices[d] = int64_t(at % uint64_t(shape[d]));
        at /= uint64_t(shape[d]);
    }
    return indices;
}

/** Position of the first infinity or NaN; count if there is none. */
uint64_t first_not_finite(const float *values, uint64_t count) {
    constexpr uint64_t block = 4096;
    constexpr uint32_t exponent = 0x7F800000;
    for (uint64_t begin = 0; begin < count; begin += block) {
        const uint64_t end = std::min(begin + block, count);
        // A block is asked as a whole, in vectors; just one with such a value is gone through.
        uint32_t largest = 0;
        for (uint64_t i = begin; i < end; i++) {
            uint32_t bits;
            std::memcpy(&bits, values + i, sizeof(bits));
            largest = std::max(largest, bits & exponent);
        }
        if (largest == exponent) {
            return uint64_t(std::find_if(values + begin, values + end, [](float v) { return !std::isfinite(v); }) - values);
        }
    }
    return count;
}

}  // namespace

/** Gives each tensor's record as JSON, one at a time: objects with what a record has, arrays of at most one more than
 * the dimensions that a tensor may have, and null in place of what is nested deeper. */
class SafeTensors::HeaderEvents : public JsonEvents {
public:
    explicit HeaderEvents(SafeTensors *file) : file_(file) {}

    bool is_object() const {
        return is_object_;
    }

private:
    void begin(Kind kind) override {
        const Json empty = kind == Kind::Object ? Json::object() : Json::array();
        if (depth() == 0) {
            is_object_ = kind == Kind::Object;
        } else if (depth() == 1) {
            record_ = empty;
        } else if (Json *field = this->field()) {
            *field = depth() == 2 ? empty : Json();
        }
    }

    void end(Kind) override {
        if (depth() == 1 && is_object_) {
            file_->add(name_, &record_);
        }
    }

    void scalar(Json value) override {
        if (depth() == 1 && is_object_) {
            file_->add(name_, &value);
        } else if (depth() == 2) {
            if (Json *field = this->field()) {
                *field = std::move(value);
            }
        } else if (depth() == 3) {
            Json *field = this->field();
            if (field && field->is_array() && field->size() <= max_dimensions) {
                field->push_back(std::move(value));
            }
        }
    }

    void name(const std::string &name) override {
        if (depth() == 1) {
            name_ = name;
        } else if (depth() == 2) {
            field_ = name;
            if (record_.is_object() && record_.contains(name)) {
                record_ = Json();  // Which of two fields holds is not ours to say.
            }
        }
    }

    /** The field of the record that is read now, if a record has it. */
    Json *field() {
        const bool known = field_ == "dtype" || field_ == "shape" || field_ == "data_offsets";
        return known && record_.is_object() ? &record_[field_] : nullptr;
    }

    SafeTensors *file_;
    bool is_object_ = false;
    std::string name_, field_;
    Json record_;
};

SafeTensors::SafeTensors(const std::string &path) : path_(path), file_(path) {
    read_header();
    check_coverage();
}

void SafeTensors::fail(const std::string &what) const {
    throw std::runtime_error(fmt::format("{}: {}. The file is damaged or not a safetensors file: get the model again", path_, what));
}

void SafeTensors::fail(const std::string &tensor, const std::string &what) const {
    fail(fmt::format("tensor '{}': {}", shown(tensor), what));
}

void SafeTensors::read_header() {
    uint64_t header_bytes = 0;
    if (file_.size() < sizeof(header_bytes)) {
        fail(fmt::format("{} bytes are too few for a header", file_.size()));
    }
    // The format is little-endian, as is every host that Halyard builds for.
    std::memcpy(&header_bytes, file_.data(), sizeof(header_bytes));
    const uint64_t rest = file_.size() - sizeof(header_bytes);
    if (header_bytes > max_header_bytes) {
        fail(fmt::format("a header of {} bytes is over the limit of {}", header_bytes, max_header_bytes));
    }
    if (header_bytes > rest) {
        fail(fmt::format("the header should have {} bytes, but the file ends after {}", header_bytes, rest));
    }
    const uint8_t *text = file_.data() + sizeof(header_bytes);
    values_ = text + header_bytes;
    values_size_ = rest - header_bytes;

    HeaderEvents events(this);
    const std::string wrong = events.read(text, header_bytes);
    if (!wrong.empty()) {
        fail(fmt::format("the header is not JSON ({})", wrong));
    }
    if (!events.is_object()) {
        fail("the header is not a JSON object");
    }
}

void SafeTensors::add(const std::string &name, const void *json) {
    if (name != "__metadata__" && !entries_.emplace(name, read_entry(name, json)).second) {
        fail(name, "listed twice");
    }
}

SafeTensors::Entry SafeTensors::read_entry(const std::string &name, const void *json) const {
    const Json &record = *static_cast<const Json *>(json);
    if (!record.is_object() || !record.contains("dtype") || !record["dtype"].is_string() || !record.contains("shape") ||
        !record["shape"].is_array() || !record.contains("data_offsets") || !record["data_offsets"].is_array() ||
        record["data_offsets"].size() != 2) {
        fail(name, "its record needs dtype, shape and two data_offsets, each once");
    }
    Entry entry;
    entry.dtype = record["dtype"].get<std::string>();
    uint64_t bytes = size_of_dtype(entry.dtype);
    if (bytes == 0) {
        fail(name, fmt::format("unknown dtype '{}'", shown(entry.dtype)));
    }
    if (record["shape"].size() > max_dimensions) {
        fail(name, fmt::format("over {} dimensions", max_dimensions));
    }
    for (const Json &json_extent : record["shape"]) {
        uint64_t extent = 0;
        if (!read_unsigned(json_extent, &extent) || extent > uint64_t(INT64_MAX) || __builtin_mul_overflow(bytes, extent, &bytes)) {
            fail(name, fmt::format("impossible shape {}", shown(record["shape"].dump())));
        }
        entry.shape.push_back(int64_t(extent));
    }
    if (!read_unsigned(record["data_offsets"][0], &entry.begin) || !read_unsigned(record["data_offsets"][1], &entry.end) ||
        entry.begin > entry.end) {
        fail(name, fmt::format("impossible data_offsets {}", shown(record["data_offsets"].dump())));
    }
    if (entry.end > values_size_) {
        fail(name, fmt::format("ends at byte {} of the values, but the file has just {}", entry.end, values_size_));
    }
    if (entry.end - entry.begin != bytes) {
        fail(name, fmt::format("{} {} needs {} bytes, but data_offsets give {}", entry.dtype, shown(record["shape"].dump()), bytes,
                               entry.end - entry.begin));
    }
    return entry;
}

void SafeTensors::check_coverage() const {
    std::vector<std::pair<const std::string, Entry> const *> order;
    for (const auto &item : entries_) {
        order.push_back(&item);
    }
    std::sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
        return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
    });
    uint64_t reached = 0;
    for (const auto *item : order) {
        if (item->second.begin != reached) {
            fail(item->first,
                 fmt::format("begins at byte {} of the values, {} byte {}, where the "
                             "tensor before it ends",
                             item->second.begin, item->second.begin < reached ? "overlapping" : "leaving a hole after", reached));
        }
        reached = item->second.end;
    }
    if (reached != values_size_) {
        fail(fmt::format("{} bytes follow the last tensor", values_size_ - reached));
    }
}

const SafeTensors::Entry &SafeTensors::find(const std::string &name, const std::vector<int64_t> &shape) const {
    const auto it = entries_.find(name);
    if (it == entries_.end()) {
        throw std::runtime_error(
            fmt::format("{}: tensor '{}' is missing. Is it a BERT model in the layout of all-MiniLM-L6-v2?", path_, name));
    }
    const Entry &entry = it->second;
    if (entry.shape != shape) {
        throw std::runtime_error(fmt::format("{}: tensor '{}' has shape [{}], but config.json asks for [{}]. Take both files from "
                                             "the same model",
                                             path_, name, fmt::join(entry.shape, ", "), fmt::join(shape, ", ")));
    }
    if (entry.dtype != "F32" && entry.dtype != "F16" && entry.dtype != "BF16") {
        throw std::runtime_error(fmt::format("{}: tensor '{}' has dtype {}. Store it as F32, F16 or BF16", path_, name, entry.dtype));
    }
    return entry;
}

void SafeTensors::require(const std::string &name, const std::vector<int64_t> &shape) const {
    find(name, shape);
}

FloatTensor SafeTensors::floats(const std::string &name, const std::vector<int64_t> &shape) const {
    const Entry &entry = find(name, shape);
    FloatTensor result;
    result.shape = shape;
    const uint8_t *bytes = values_ + entry.begin;
    const uint64_t count = (entry.end - entry.begin) / size_of_dtype(entry.dtype);
    if (entry.dtype == "F32" && reinterpret_cast<uintptr_t>(bytes) % alignof(float) == 0) {
        result.data = reinterpret_cast<const float *>(bytes);
    } else if (count > 0) {
        result.copy.reserve(count * sizeof(float));
        auto *to = reinterpret_cast<float *>(result.copy.data());
        if (entry.dtype == "F32") {
            std::memcpy(to, bytes, count * sizeof(float));
        } else {
            const auto convert = entry.dtype == "F16" ? float_from_half : float_from_bfloat;
            for (uint64_t i = 0; i < count; i++) {
                uint16_t bits;
                std::memcpy(&bits, bytes + i * sizeof(bits), sizeof(bits));
                to[i] = convert(bits);
            }
        }
        result.data = to;
    }
    const uint64_t wrong = first_not_finite(result.data, count);
    if (wrong < count) {
        fail(name, fmt::format("element [{}] is {}, not a finite number", fmt::join(indices_of(wrong, shape), ", "), result.data[wrong]));
    }
    return result;
}

}  // namespace minilm
