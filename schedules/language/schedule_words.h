#ifndef HALYARD_SCHEDULE_WORDS_H
#define HALYARD_SCHEDULE_WORDS_H

/** \file
 * Halide's structures in our words, one at a time. A word begins with a colon, so that it follows what it is said of.
 * All throw std::runtime_error where there are no words for something.
 */

#include <map>
#include <set>
#include <string>
#include <vector>

#include <Halide.h>

#include "language/stage_loops.h"

namespace halyard {

[[noreturn]] void no_words(const std::string &what);

/** The value of a constant; `what` names it in the error. */
int64_t constant_value(const Halide::Expr &e, const std::string &what);

/** One of the named values of a kind of arguments ("tail", "memory", "partition"), in quotes. */
std::string value_name(const char *kind, int value);

/** A word with arguments; one that is a string stands without parentheses. */
std::string lua_word(const std::string &name, const std::vector<std::string> &args);

/** The order and the sizes of the dimensions in memory, where they are not what they `was`. */
void add_storage_words(const Halide::Internal::Function &f, const std::vector<Halide::Internal::StorageDim> &was,
                       std::vector<std::string> &words);

std::string bound_word(const Halide::Internal::Bound &b);

/** The order of the loops that are not `hidden`. */
void add_order_word(const StageLoops &l, const std::set<int> &hidden, std::vector<std::string> &words);

/** How the loops run, from the outermost inwards. `ends`: of a loop, what is said at last, in one word; `was`: the definition
 * before it was scheduled, or null. */
void add_kind_words(const Halide::Stage &stage, const Halide::Internal::Definition &now, const Halide::Internal::Definition *was,
                    const StageLoops &l, const std::set<int> &hidden, const std::map<int, std::string> &ends,
                    std::vector<std::string> &words);

}  // namespace halyard

#endif
