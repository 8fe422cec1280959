#include "explore/space/choices.h"

#include <algorithm>
#include <cstdlib>

namespace halyard::explore {

std::string Choices::take(ChoicePoint point) {
    for (const auto &p : points_) {
        if (p.name == point.name) {
            return p.taken;  // asked twice
        }
    }
    const auto answer = answers_.find(point.name);
    const bool known =
        answer != answers_.end() && std::find(point.options.begin(), point.options.end(), answer->second) != point.options.end();
    point.taken = known ? answer->second : point.guess;
    points_.push_back(point);
    return point.taken;
}

std::string Choices::pick(const std::string &name, std::vector<std::string> options, const std::string &guess) {
    return take({name, std::move(options), guess, "", false});
}

bool Choices::yes(const std::string &name, bool guess) {
    return pick(name, {"no", "yes"}, guess ? "yes" : "no") == "yes";
}

int64_t Choices::number(const std::string &name, std::vector<int64_t> options, int64_t guess, int64_t most) {
    std::vector<int64_t> left;
    for (const int64_t o : options) {
        if (o <= most) {
            left.push_back(o);
        }
    }
    if (left.empty()) {
        left.push_back(*std::min_element(options.begin(), options.end()));
    }
    const int64_t nearest =
        *std::min_element(left.begin(), left.end(), [&](int64_t a, int64_t b) { return std::llabs(a - guess) < std::llabs(b - guess); });
    ChoicePoint point{name, {}, std::to_string(nearest), "", true};
    for (const int64_t o : left) {
        point.options.push_back(std::to_string(o));
    }
    return std::stoll(take(point));
}

Answers Choices::taken() const {
    Answers all;
    for (const auto &p : points_) {
        all[p.name] = p.taken;
    }
    return all;
}

}  // namespace halyard::explore
