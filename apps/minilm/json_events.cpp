#include "json_events.h"

#include <fmt/format.h>

#include <utility>

#include "common/utf8.h"

namespace minilm {

std::string shown(const std::string &text) {
    constexpr size_t most = 200;
    const std::string all = halyard_apps::visible(text, "", most);
    return text.size() > most ? fmt::format("{}... ({} bytes)", all, text.size()) : all;
}

std::string JsonEvents::read(const uint8_t *begin, size_t size) {
    depth_ = 0;
    error_.clear();
    Json::sax_parse(begin, begin + size, static_cast<nlohmann::json_sax<Json> *>(this));
    return error_;
}

bool JsonEvents::null() {
    scalar(nullptr);
    return true;
}

bool JsonEvents::boolean(bool value) {
    scalar(value);
    return true;
}

bool JsonEvents::number_integer(number_integer_t value) {
    scalar(value);
    return true;
}

bool JsonEvents::number_unsigned(number_unsigned_t value) {
    scalar(value);
    return true;
}

bool JsonEvents::number_float(number_float_t value, const string_t &) {
    scalar(value);
    return true;
}

bool JsonEvents::string(string_t &value) {
    scalar(std::move(value));
    return true;
}

bool JsonEvents::binary(binary_t &) {
    return true;  // Text has none.
}

bool JsonEvents::start_object(size_t) {
    begin(Kind::Object);
    depth_++;
    return true;
}

bool JsonEvents::key(string_t &value) {
    name(value);
    return true;
}

bool JsonEvents::end_object() {
    depth_--;
    end(Kind::Object);
    return true;
}

bool JsonEvents::start_array(size_t) {
    begin(Kind::Array);
    depth_++;
    return true;
}

bool JsonEvents::end_array() {
    depth_--;
    end(Kind::Array);
    return true;
}

bool JsonEvents::parse_error(size_t, const std::string &, const nlohmann::detail::exception &error) {
    error_ = shown(error.what());
    return false;
}

}  // namespace minilm
