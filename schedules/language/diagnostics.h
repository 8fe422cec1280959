#ifndef HALYARD_DIAGNOSTICS_H
#define HALYARD_DIAGNOSTICS_H

/** \file
 * What a schedule error looks like: where, which word, what was wrong, what to do.
 */

#include <stdexcept>
#include <string>
#include <vector>

namespace halyard {

/** One error of a schedule script. `line` is 0 where no line is to blame (a missing file). */
struct Diagnostic {
    std::string file;
    int line = 0;
    std::string word;     // the word of the schedule language, if one was being applied
    std::string message;  // what was wrong, and the names there are
    std::string hint;     // what to do, e.g. `did you mean "row"?`
    std::string inside;   // the line of a library that `line` called: "lib/reduce.lua:35"

    /** `file:line: error: word: message`, and `inside` and the hint on lines of their own: the form
     * that editors and compilers share, ready to print. */
    std::string text() const;
};

/** Carries a Diagnostic out of the engine; what() is its text(). */
class ScriptError : public std::runtime_error {
public:
    explicit ScriptError(Diagnostic d) : std::runtime_error(d.text()), diagnostic(std::move(d)) {}
    Diagnostic diagnostic;
};

/** A text for a terminal: `?` in place of what would control it; lines and tabs stay. */
std::string without_control_characters(std::string text);

/** A message that may hold anything a script made up, without control characters and cut to a
 * length that a person reads. */
std::string printable(std::string text);

/** The candidate nearest to `name` by edit distance, or "" when none is near enough to be a typo. */
std::string nearest(const std::string &name, const std::vector<std::string> &candidates);

/** `did you mean "row"?`, or "" when nothing is near. */
std::string did_you_mean(const std::string &name, const std::vector<std::string> &candidates);

/** `"a", "b", "c"`, for messages. */
std::string quoted_list(const std::vector<std::string> &names);

}  // namespace halyard

#endif
