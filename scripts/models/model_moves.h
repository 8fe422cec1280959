#ifndef HALYARD_MODELS_MODEL_MOVES_H
#define HALYARD_MODELS_MODEL_MOVES_H

/** \file
 * What a search knows of the moves that moves.py proposes: JSON with `kind`, the groups that they are about (`old`), and what comes of
 * them (`new`).
 */

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "models/model_turns.h"

namespace halyard {

/** Seconds of each group. */
using GroupTimes = std::map<std::string, double>;

/** Of the groups of a report, whose calls took these times. */
GroupTimes by_group(const nlohmann::json &report, const ModelTimes &times);

/** Of some of them. */
double sum(const GroupTimes &times, const nlohmann::json &names);

/** By how much groups differ that no move is about, as a part of their time: their kernels are the same. */
double noise(const nlohmann::json &moves, const GroupTimes &before, const GroupTimes &after);

/** What a move promises before anybody has measured one of its kind, as a part of the time of its groups. */
double prior_gain(const std::string &kind);

/** Moves of which one says something of another: "set:task". */
std::string kind_of(const nlohmann::json &move);

/** "gemm_2 and 11 more: task = 4, was 16" */
std::string text_of(const nlohmann::json &move);

}  // namespace halyard

#endif
