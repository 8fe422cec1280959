#ifndef MINILM_JSON_EVENTS_H
#define MINILM_JSON_EVENTS_H

/** \file
 * JSON read piece by piece. A document takes no more memory than what the reader of its pieces keeps, and its depth
 * costs nothing: a damaged or hostile file of any form is read in time proportional to its size.
 */

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace minilm {

class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
public:
    using Json = nlohmann::json;

    /** Reads a whole document. Returns what is wrong with it, "" if nothing is. */
    std::string read(const uint8_t *begin, size_t size);

protected:
    enum class Kind { Object, Array };

    /** An object or an array begins or ends. depth() counts those that are open around it. */
    virtual void begin(Kind kind) = 0;
    virtual void end(Kind kind) = 0;
    /** A string, number, boolean or null. */
    virtual void scalar(Json value) = 0;
    virtual void name(const std::string &name) = 0;

    size_t depth() const {
        return depth_;
    }

private:
    bool null() final;
    bool boolean(bool value) final;
    bool number_integer(number_integer_t value) final;
    bool number_unsigned(number_unsigned_t value) final;
    bool number_float(number_float_t value, const string_t &text) final;
    bool string(string_t &value) final;
    bool binary(binary_t &value) final;
    bool start_object(size_t) final;
    bool key(string_t &value) final;
    bool end_object() final;
    bool start_array(size_t) final;
    bool end_array() final;
    bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &error) final;

    size_t depth_ = 0;
    std::string error_;
};

/** A text from a file for a message: its beginning, where it is long. */
std::string shown(const std::string &text);

}  // namespace minilm

#endif
