#ifndef HALYARD_NEEDED_WORK_H
#define HALYARD_NEEDED_WORK_H

/** \file
 * What a pipeline has to compute at least: that of its Funcs all computed once, whatever the schedule is.
 */

#include <map>
#include <string>
#include <utility>

#include <Halide.h>

#include "language/index_value.h"
#include "language/traffic.h"

namespace halyard {

class NeededWork {
public:
    /** To be made before a schedule is applied. */
    NeededWork(const Halide::Pipeline &pipeline, const Halide::Target &target, const BufferSizes &sizes);

    /** Elements of each Func over those that are needed, by Halide's names: of one that is computed in loops of its own as a scheduled
     * program has it, of another as often as its users are. */
    std::map<std::string, double> recomputed(const Traffic &scheduled) const;

    /** Instructions of a Func, if it is computed once. */
    double instructions(const std::string &func) const;
    /** And its flops (loop_tree.h), in which products of integers count too. */
    double flops(const std::string &func) const;

private:
    std::map<std::string, double> instructions_, flops_, elements_;
    std::map<std::pair<std::string, std::string>, double> uses_;  // elements that one Func reads of another, if all are stored
};

}  // namespace halyard

#endif
