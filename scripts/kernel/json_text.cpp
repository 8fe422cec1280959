#include "kernel/json_text.h"

namespace halyard {

nlohmann::json parse_json(const std::string &text) {
    return nlohmann::json::parse(text);
}

nlohmann::json parse_if_json(const std::string &text) {
    return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace halyard
