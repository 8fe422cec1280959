#ifndef HALYARD_EXPLORE_KINDS_H
#define HALYARD_EXPLORE_KINDS_H

/** \file
 * Which of the machines that offer themselves measure for a search: those of one kind, as times of others say nothing of theirs.
 */

#include <string>
#include <vector>

#include "explore/workers/facts.h"

namespace halyard::explore {

/** A slot of a cluster: a machine, or one of its devices. */
struct Offer {
    int slot = 0;
    std::string name;     // "node-7, 10.0.0.7 (3f2a1c)"
    std::string refused;  // why it cannot; "" for one with facts
    Facts facts;
};

struct Wish {
    bool cuda = false;
    std::string
        kind;         // how its machine's or device's name begins; "" for one like this machine, for CUDA where there is only one kind that
    int threads = 0;  // that are timed; 0 for all that a machine has
    std::string target = "host";
};

/** Those that will do, all of one kind, in the order in which they came. Throws Failure that says what there is where none will do. */
std::vector<Offer> of_one_kind(const std::vector<Offer> &offers, const Wish &wish, const Facts &here);

}  // namespace halyard::explore

#endif
