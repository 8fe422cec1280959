#ifndef HALYARD_NEW_FUNCS_H
#define HALYARD_NEW_FUNCS_H

/** \file
 * Funcs that a schedule has made of others: copies (Func::in), clones (clone_in) and partial sums (rfactor). Halide keeps that they are there, and not
 * the words that made them.
 */

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <Halide.h>

#include "language/pipeline_view.h"
#include "language/stage_loops.h"

namespace halyard {

/** A Func before it was scheduled. */
struct FuncBefore {
    Halide::Internal::FuncSchedule schedule;  // a copy
    std::vector<StageStart> stages;
    std::vector<Halide::Internal::Definition> definitions;  // copies
};

/** All by Halide's names of Funcs. */
struct NewFuncs {
    struct Partial {
        std::string of;  // Halide's name of the Func that sums them up
        int update = 0;
    };
    std::map<std::string, std::string> lua;             // how a script says each, those that were there before, too
    std::map<std::string, std::string> copies, copied;  // the word that makes a copy, and of what
    std::set<std::string> clones;                       // those of the copies that compute again
    std::map<std::string, Partial> partials;
    std::map<std::string, std::vector<std::string>> inlined_for;   // readers that have its definition in place of calls
    std::map<std::string, std::vector<StageStart>> starts;         // of new Funcs
    std::map<std::pair<std::string, int>, StageStart> changed;     // stages that rfactor has left
    std::map<std::string, std::vector<std::string>> before_nests;  // statements before all others of a Func
};

/** `funcs` are all Funcs that there are, by Halide's names. Throws std::runtime_error where there are no words for one. */
NewFuncs find_new_funcs(const PipelineView &view, const std::map<std::string, FuncBefore> &before,
                        const std::map<std::string, Halide::Internal::Function> &funcs);

}  // namespace halyard

#endif
