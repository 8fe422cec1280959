#ifndef HALYARD_MATH_HISTOGRAM_SEARCH_H
#define HALYARD_MATH_HISTOGRAM_SEARCH_H

/** \file
 * Searches that many threads do together: for a cut in the order of numbers, by histograms of 8 bits of their keys (radix select), and for
 * the place at which sums of parts reach a goal. All amounts are integers, so that the order of sums does not matter.
 */

#include <functional>
#include <string>

#include <Halide.h>

#include "math/order.h"

namespace halyard {

/** found(of) = (number, rest): the first n for which amount(0) + ... + amount(n) is above the goal, and the goal without the sum of those
 * before it; (-1, the goal without all) where there is none. */
inline void find_above(Halide::Func &found, const Halide::Var &of, const Halide::Expr &count, const Halide::Expr &goal,
                       const std::function<Halide::Expr(Halide::Expr)> &amount) {
    using namespace Halide;
    RDom n(0, count, "n");
    found(of) = Tuple(-1, goal);
    const Expr seen = found(of)[0] >= 0, rest = found(of)[1], next = amount(n), here = !seen && rest < next;
    found(of) = Tuple(select(here, n, found(of)[0]), select(seen || here, rest, rest - next));
}

/** A search by histograms. Each has the Funcs NAME_bins_N (amounts of each bin, for atomic additions), NAME_sums_N (of 16 bins each),
 * NAME_in_sums_N, NAME_in_bins_N, NAME_N (the bin found) and NAME_key_N (the key of all digits so far). */
struct HistogramSearch {
    using Domain = std::function<Halide::RDom()>;  // a new one over all numbers
    using Term = std::function<Halide::Expr(const Halide::RDom &)>;

    static constexpr int kBits = 8, kBins = 1 << kBits, kTogether = 16;

    /** (bin, rest): the largest bin so that what is in it and in larger ones adds up to the goal, and the goal without what is in larger
     * ones. (-1, anything) where there is none.
     *
     * bin, amount    of a number of an RDom; bin is a uint8        number    N above        goal    0 is taken as 1 */
    static Halide::Func find_bin(const std::string &name, const std::string &number, const Halide::Var &of, const Halide::Expr &bin,
                                 const Halide::Expr &amount, const Halide::Expr &goal) {
        using namespace Halide;
        const Expr zero = Internal::make_zero(goal.type()), one = Internal::make_one(goal.type());
        const int groups = kBins / kTogether;
        Var b("b"), s("s");
        Func bins(name + "_bins_" + number), sums(name + "_sums_" + number);
        bins(b, of) = zero;
        bins(cast<int32_t>(bin), of) += amount;
        bins.bound(b, 0, kBins);
        RDom t(0, kTogether, "t");
        sums(s, of) = zero;
        sums(s, of) += bins(s * kTogether + t, of);
        sums.bound(s, 0, groups);
        // From the largest on. What reaches the goal is what is above the goal less 1.
        Func in_sums(name + "_in_sums_" + number), in_bins(name + "_in_bins_" + number), found(name + "_" + number);
        find_above(in_sums, of, groups, max(goal, one) - one, [&](const Expr &i) { return sums(groups - 1 - i, of); });
        const Expr first = (groups - 1 - clamp(in_sums(of)[0], 0, groups - 1)) * kTogether;
        find_above(in_bins, of, kTogether, in_sums(of)[1],
                   [&](const Expr &i) { return bins(clamp(first + kTogether - 1 - i, 0, kBins - 1), of); });
        const Expr found_bin = first + kTogether - 1 - clamp(in_bins(of)[0], 0, kTogether - 1);
        found(of) = Tuple(select(in_sums(of)[0] < 0, -1, found_bin), in_bins(of)[1] + one);
        return found;
    }

    /** (key, rest): the largest order_key, of its first `bits`, so that what is at least as large adds up to the goal, and the goal without
     * what is larger. The least of all keys, and anything, where there is none.
     *
     * key_of, amount    of one        goal    0 is taken as 1 */
    static Halide::Func search(const std::string &name, int bits, const Halide::Var &of, const Domain &domain, const Term &key_of,
                               const Term &amount, const Halide::Expr &goal) {
        using namespace Halide;
        Func found;
        for (int n = 0; n * kBits < bits; n++) {
            const int shift = 32 - kBits * (n + 1);
            const Expr before = n == 0 ? no_order() : found(of)[0];
            RDom r = domain();
            const Expr key = key_of(r), above = cast<uint32_t>(key) - cast<uint32_t>(before);
            r.where(key >= before);
            if (n > 0) {
                r.where((above >> (shift + kBits)) == 0);
            }
            const std::string number = std::to_string(n);
            const Func bin = find_bin(name, number, of, cast<uint8_t>(above >> shift), amount(r), n == 0 ? goal : found(of)[1]);
            found = Func(name + "_key_" + number);
            const Expr more = cast<uint32_t>(max(bin(of)[0], 0)) << shift;
            found(of) = Tuple(cast<int32_t>(cast<uint32_t>(before) + more), bin(of)[1]);
        }
        return found;
    }
};

}  // namespace halyard

#endif
