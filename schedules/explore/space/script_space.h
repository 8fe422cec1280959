#ifndef HALYARD_EXPLORE_SCRIPT_SPACE_H
#define HALYARD_EXPLORE_SCRIPT_SPACE_H

/** \file
 * What a given script leaves open: its tune{} parameters, as far as its `where` lets them, and the Funcs of `k:open`.
 * What it fixes stays.
 */

#include <memory>

#include "explore/space/choices.h"
#include "explore/space/description.h"
#include "explore/space/plan.h"
#include "language/script.h"
#include "explore/task.h"

namespace halyard::explore {

class ScriptSpace {
public:
    /** `script` has the text, where it looks for what it requires, and values that are fixed. Parameters of the generator
     * are open only as far as a search may choose them (query.h). Throws Failure where the script is wrong. */
    ScriptSpace(const Task &task, Candidate script);
    ~ScriptSpace();

    /** The script with the values that are taken. Throws Failure where `where` rejects them. */
    Candidate propose(Choices &choices) const;

    /** What there is to schedule with these values, of which the script fixes a part; nullptr where it has no `k:open`. */
    const Description *description(const Candidate &candidate);

    /** The script with the statements for what is open in its place. */
    Candidate filled(Candidate candidate, const Description &description, const Plan &plan) const;

    /** Its parameters with the values that hold where nothing is chosen. */
    std::vector<Tunable> tunables() const;

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

/** The text of a script that takes its params from the library, with those of its own. */
std::string with_own_params(const Task &task, const Candidate &script);

/** A script whose defaults are other values, and those that its text does not have in a place where they can be changed. */
struct Defaults {
    std::string lua;
    Assignments left;
};
Defaults with_defaults(std::string lua, const Assignments &set);

}  // namespace halyard::explore

#endif
