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
 * NAME_in_sums_N, NAME_in_bins_N and NAME_N (found). */
struct HistogramSearch {
    static constexpr int kBits = 8, kBins = 1 << kBits, kTogether = 16;

    /** (key, rest): the largest order_key, of its first `bits`, so that what is at least as large adds up to the goal, and the goal without
     * what is larger. The least of all keys, and anything, where there is none.
     *
     * domain()    a new RDom over all numbers        key_of, amount    of one        reach    the goal; 0 is taken as 1 */
    static Halide::Func search(const std::string &name, int bits, const Halide::Var &of, const std::function<Halide::RDom()> &domain,
                               const std::function<Halide::Expr(const Halide::RDom &)> &key_of,
                               const std::function<Halide::Expr(const Halide::RDom &)> &amount, const Halide::Expr &reach) {
        using namespace Halide;
        Func found;
        for (int n = 0; n * kBits < bits; n++) {
            const int shift = 32 - kBits * (n + 1);
            const Expr before = n == 0 ? no_order() : found(of)[0];
            const Expr left = n == 0 ? max(reach, Internal::make_one(reach.type())) : found(of)[1];
            const std::string number = "_" + std::to_string(n);
            Var b("b"), s("s");

            RDom r = domain();
            const Expr key = key_of(r), above = cast<uint32_t>(key) - cast<uint32_t>(before);
            r.where(key >= before);
            if (n > 0) {
                r.where((above >> (shift + kBits)) == 0);
            }
            Func bins(name + "_bins" + number), sums(name + "_sums" + number);
            const Expr zero = Internal::make_zero(reach.type());
            bins(b, of) = zero;
            bins(cast<int32_t>(cast<uint8_t>(above >> shift)), of) += amount(r);
            bins.bound(b, 0, kBins);
            RDom t(0, kTogether, "t");
            sums(s, of) = zero;
            sums(s, of) += bins(s * kTogether + t, of);
            sums.bound(s, 0, kBins / kTogether);

            // From the largest on. What reaches the goal is what is above the goal less 1.
            const Expr one = Internal::make_one(reach.type());
            const int groups = kBins / kTogether;
            Func in_sums(name + "_in_sums" + number), in_bins(name + "_in_bins" + number);
            find_above(in_sums, of, groups, left - one, [&](const Expr &i) { return sums(groups - 1 - i, of); });
            const Expr none = in_sums(of)[0] < 0, first = (groups - 1 - clamp(in_sums(of)[0], 0, groups - 1)) * kTogether;
            find_above(in_bins, of, kTogether, in_sums(of)[1],
                       [&](const Expr &i) { return bins(clamp(first + kTogether - 1 - i, 0, kBins - 1), of); });
            const Expr bin = first + kTogether - 1 - clamp(in_bins(of)[0], 0, kTogether - 1);
            found = Func(name + number);
            found(of) = Tuple(select(none, before, cast<int32_t>(cast<uint32_t>(before) + (cast<uint32_t>(bin) << shift))),
                              select(none, left, in_bins(of)[1] + one));
        }
        return found;
    }
};

}  // namespace halyard

#endif
