#ifndef HALYARD_DOMAIN_H
#define HALYARD_DOMAIN_H

/** \file
 * Which numbers an argument of a word may be, as the table of words writes it:
 *
 *     [1..16777216]         from 1 to 16777216
 *     [0..]                 0 or more, up to what 32 bits hold
 *     [1..4096,power]       and a power of two
 *     [0..<modulus]         below another argument of the same word, or below what the receiver has
 *     [1..64,asked]         where it is an expression, the library asks when it is called; without that,
 *                           Halide does, or no harm comes of it
 *     [any]                 every number of 32 bits
 */

#include <cstdint>
#include <optional>
#include <string>

namespace halyard {

struct Domain {
    int64_t least = INT32_MIN, most = INT32_MAX;
    std::string below;  // an argument before this one, or "dimensions", "updates"
    bool power_of_two = false;
    bool asked = false;

    /** Reads what stands between the brackets. */
    static Domain parse(const std::string &text);

    /** Whether a number is in it. `limit` is the value of `below` where that is known. */
    bool contains(int64_t value, std::optional<int64_t> limit = std::nullopt) const;

    /** "from 1 to 4096, a power of two": what stands behind "must be". */
    std::string text(std::optional<int64_t> limit = std::nullopt) const;

    /** Whether every number of 32 bits is in it. */
    bool everything() const;
};

}  // namespace halyard

#endif
