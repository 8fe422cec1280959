#ifndef HALYARD_EXPLORE_CHOICES_H
#define HALYARD_EXPLORE_CHOICES_H

/** \file
 * The decisions of a schedule. Whatever makes one asks here wherever it could do otherwise, and says what it would do
 * by itself; a search gives other answers. Decisions that an answer brings about come up only then.
 */

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace halyard::explore {

/** By the name of the decision. */
using Answers = std::map<std::string, std::string>;

struct ChoicePoint {
    std::string name;
    std::vector<std::string> options;  // in their order, where they are numbers
    std::string guess, taken;
    bool number = false;  // otherwise of structure: what is fused, stored, laid out
};

class Choices {
public:
    explicit Choices(Answers answers = {}) : answers_(std::move(answers)) {}

    /** The answer, where there is one of these options; otherwise the guess. */
    std::string pick(const std::string &name, std::vector<std::string> options, const std::string &guess);
    bool yes(const std::string &name, bool guess);
    /** Options that are too large for `most` are left out; the guess is moved to the nearest that is left. */
    int64_t number(const std::string &name, std::vector<int64_t> options, int64_t guess, int64_t most = INT64_MAX);

    const std::vector<ChoicePoint> &points() const {
        return points_;
    }

    /** All answers, guesses included. */
    Answers taken() const;

private:
    std::string take(ChoicePoint point);

    Answers answers_;
    std::vector<ChoicePoint> points_;
};

}  // namespace halyard::explore

#endif
