#include "language/domain.h"

#include <stdexcept>

namespace halyard {

Domain Domain::parse(const std::string &text) {
    Domain d;
    std::string range = text;
    if (const size_t comma = range.find(','); comma != std::string::npos) {
        d.power_of_two = range.substr(comma + 1) == "power";
        d.asked = range.substr(comma + 1) == "asked";
        if (!d.power_of_two && !d.asked) {
            throw std::logic_error("a domain has no \"" + range.substr(comma + 1) + "\"");
        }
        range.resize(comma);
    }
    if (range == "any") {
        return d;
    }
    const size_t dots = range.find("..");
    if (dots == std::string::npos) {
        throw std::logic_error("a domain is written [least..most], not [" + text + "]");
    }
    d.least = std::stoll(range.substr(0, dots));
    const std::string most = range.substr(dots + 2);
    if (!most.empty() && most[0] == '<') {
        d.below = most.substr(1);
    } else if (!most.empty()) {
        d.most = std::stoll(most);
    }
    return d;
}

bool Domain::contains(int64_t value, std::optional<int64_t> limit) const {
    return value >= least && value <= most && (!limit || value < *limit) && (!power_of_two || (value > 0 && (value & (value - 1)) == 0));
}

std::string Domain::text(std::optional<int64_t> limit) const {
    std::string s;
    if (!below.empty()) {
        s = std::to_string(least) + " or more, and below " + (limit ? std::to_string(*limit) : "`" + below + "`");
    } else if (least > INT32_MIN || most < INT32_MAX) {
        s = most == INT32_MAX ? std::to_string(least) + " or more" : "from " + std::to_string(least) + " to " + std::to_string(most);
    }
    if (power_of_two) {
        s += (s.empty() ? "" : ", ") + std::string("a power of two");
    }
    return s;
}

bool Domain::everything() const {
    return least <= INT32_MIN && most >= INT32_MAX && below.empty() && !power_of_two;
}

}  // namespace halyard
