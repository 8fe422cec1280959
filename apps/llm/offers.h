#ifndef HALYARD_LLM_OFFERS_H
#define HALYARD_LLM_OFFERS_H

/** \file
 * What a program offers, by what it computes on: the processor (host_offers.cpp) or a GPU (cuda/offers.cpp).
 */

#include <string>
#include <vector>

#include "sequence.h"

namespace halyard_llm {

struct Offers {
    std::string name, description;
    std::vector<std::string> caches;   // types of keys and values
    std::vector<std::string> kernels;  // their kinds; empty: one only
    bool int8 = false;                 // rows in 8 bits
    bool threads = false;
    bool explains = false;
};

const Offers &offers();

/** The kernels of one of these kinds. */
const Kernels *kernels_of_kind(const std::string &kind);

/** explain.h's, where it is offered. */
void explain_token(const Model &model, const Precision &precision, int depth, int threads);

}  // namespace halyard_llm

#endif
