#include "safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "half.h"

namespace minilm {

namespace {

using Json = nlohmann::json;

// The reference implementation refuses longer headers too.
constexpr uint64_t max_header_bytes = 100'000'000;

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

}  // namespace

SafeTensors::SafeTensors(const std::string &path)
    : path_(path), file_(path) {
    read_header();
    check_coverage();
}

void SafeTensors::fail(const std::string &what) const {
    throw std::runtime_error(fmt::format(
        "{}: {}. The file is damaged or not a safetensors file: get the model again", path_, what));
}

void SafeTensors::fail(const std::string &tensor, const std::string &what) const {
    fail(fmt::format("tensor '{}': {}", tensor, what));
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
        fail(fmt::format("a header of {} bytes is over the limit of {}", header_bytes,
                         max_header_bytes));
    }
    if (header_bytes > rest) {
        fail(fmt::format("the header should have {} bytes, but the file ends after {}",
                         header_bytes, rest));
    }
    const uint8_t *text = file_.data() + sizeof(header_bytes);
    values_ = text + header_bytes;
    values_size_ = rest - header_bytes;

    // nlohmann keeps the last of two equal keys; here they are an error.
    std::set<std::string> names;
    std::string duplicate;
    const auto watch_keys = [&](int depth, Json::parse_event_t event, Json &parsed) {
        if (event == Json::parse_event_t::key && depth == 1 &&
            !names.insert(parsed.get<std::string>()).second) {
            duplicate = parsed.get<std::string>();
        }
        return true;
    };
    Json header;
    try {
        header = Json::parse(text, text + header_bytes, watch_keys);
    } catch (const Json::exception &e) {
        fail(fmt::format("the header is not JSON ({})", e.what()));
    }
    if (!header.is_object()) {
        fail("the header is not a JSON object");
    }
    if (!duplicate.empty()) {
        fail(duplicate, "listed twice");
    }
    for (const auto &[name, json] : header.items()) {
        if (name != "__metadata__") {
            entries_.emplace(name, read_entry(name, &json));
        }
    }
}

SafeTensors::Entry SafeTensors::read_entry(const std::string &name, const void *json) const {
    const Json &record = *static_cast<const Json *>(json);
    if (!record.is_object() || !record.contains("dtype") || !record["dtype"].is_string() ||
        !record.contains("shape") || !record["shape"].is_array() ||
        !record.contains("data_offsets") || !record["data_offsets"].is_array() ||
        record["data_offsets"].size() != 2) {
        fail(name, "its record needs dtype, shape and two data_offsets");
    }
    Entry entry;
    entry.dtype = record["dtype"].get<std::string>();
    uint64_t bytes = size_of_dtype(entry.dtype);
    if (bytes == 0) {
        fail(name, fmt::format("unknown dtype '{}'", entry.dtype));
    }
    for (const Json &json_extent : record["shape"]) {
        uint64_t extent = 0;
        if (!read_unsigned(json_extent, &extent) || extent > uint64_t(INT64_MAX) ||
            __builtin_mul_overflow(bytes, extent, &bytes)) {
            fail(name, fmt::format("impossible shape {}", record["shape"].dump()));
        }
        entry.shape.push_back(int64_t(extent));
    }
    if (!read_unsigned(record["data_offsets"][0], &entry.begin) ||
        !read_unsigned(record["data_offsets"][1], &entry.end) || entry.begin > entry.end) {
        fail(name, fmt::format("impossible data_offsets {}", record["data_offsets"].dump()));
    }
    if (entry.end > values_size_) {
        fail(name, fmt::format("ends at byte {} of the values, but the file has just {}",
                               entry.end, values_size_));
    }
    if (entry.end - entry.begin != bytes) {
        fail(name, fmt::format("{} {} needs {} bytes, but data_offsets give {}", entry.dtype,
                               record["shape"].dump(), bytes, entry.end - entry.begin));
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
                             item->second.begin, item->second.begin < reached ? "overlapping" : "leaving a hole after",
                             reached));
        }
        reached = item->second.end;
    }
    if (reached != values_size_) {
        fail(fmt::format("{} bytes follow the last tensor", values_size_ - reached));
    }
}

FloatTensor SafeTensors::floats(const std::string &name, const std::vector<int64_t> &shape) const {
    const auto it = entries_.find(name);
    if (it == entries_.end()) {
        throw std::runtime_error(fmt::format(
            "{}: tensor '{}' is missing. Is it a BERT model in the layout of all-MiniLM-L6-v2?",
            path_, name));
    }
    const Entry &entry = it->second;
    if (entry.shape != shape) {
        throw std::runtime_error(fmt::format(
            "{}: tensor '{}' has shape [{}], but config.json asks for [{}]. Take both files from "
            "the same model",
            path_, name, fmt::join(entry.shape, ", "), fmt::join(shape, ", ")));
    }
    if (entry.dtype != "F32" && entry.dtype != "F16" && entry.dtype != "BF16") {
        throw std::runtime_error(fmt::format(
            "{}: tensor '{}' has dtype {}. Store it as F32, F16 or BF16", path_, name, entry.dtype));
    }

    FloatTensor result;
    result.shape = shape;
    const uint8_t *bytes = values_ + entry.begin;
    if (entry.dtype == "F32" && reinterpret_cast<uintptr_t>(bytes) % alignof(float) == 0) {
        result.data = reinterpret_cast<const float *>(bytes);
        return result;
    }
    const uint64_t count = (entry.end - entry.begin) / size_of_dtype(entry.dtype);
    if (count == 0) {
        return result;
    }
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
    return result;
}

}  // namespace minilm
