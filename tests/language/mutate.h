#ifndef HALYARD_TESTS_ENGINE_MUTATE_H
#define HALYARD_TESTS_ENGINE_MUTATE_H

/** \file
 * Broken variants of schedules, for fuzzing. The same seed gives the same text everywhere.
 */

#include <cstdint>
#include <string>
#include <vector>

/** How many a test tries. Those with sanitizers (sanitize.language) see all that others would, and more. */
#ifdef HALYARD_SANITIZED
constexpr uint64_t kVariants = 500;
#else
constexpr uint64_t kVariants = 150;
#endif

class Mutator {
public:
    /** `sources` are the scripts that variants are made from, `words` extra tokens to throw in. */
    Mutator(std::vector<std::string> sources, std::vector<std::string> words);

    /** A variant of one of the sources, or a soup of their tokens. */
    std::string variant(uint64_t seed) const;

private:
    std::string like(const std::string &token, size_t random) const;

    std::vector<std::string> sources_;
    std::vector<std::string> tokens_;
};

/** Every .lua file of a folder, read. */
std::vector<std::string> scripts_in(const std::string &dir);

#endif
