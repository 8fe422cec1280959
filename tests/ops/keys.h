#ifndef HALYARD_TESTS_OPS_KEYS_H
#define HALYARD_TESTS_OPS_KEYS_H

/** \file
 * Inputs of attention over keys of which some are padding.
 */

#include <vector>

#include "rows.h"

namespace ops_test {

/** The lengths of the sequences, in turn, where the build has them. */
inline void set_lengths(KernelArguments &arguments, const std::vector<int64_t> &in_turn) {
    if (arguments.has_buffer("lengths")) {
        HostBuffer &lengths = arguments.buffer("lengths");
        for (int n = 0; n < lengths.extents()[0]; n++) {
            lengths.set({n}, double(in_turn[size_t(n) % in_turn.size()]));
        }
    }
}

/** Keys and values of NaN behind a length of 11 in the first sequence, and of `whole_blocks` in the others. */
inline void nan_behind_lengths(KernelArguments &arguments, const Dims &dims, int whole_blocks) {
    for (int n = 0; n < dims.at("batch"); n++) {
        const int length = n == 0 ? 11 : whole_blocks;
        arguments.buffer("lengths").set({n}, length);
        for (const char *name : {"k", "v"}) {
            for (int key = length; key < dims.at("keys"); key++) {
                for (int c = 0; c < dims.at("d"); c++) {
                    arguments.buffer(name).set({c, key, 0, n}, kNaN);
                }
            }
        }
    }
}

/** Scores beyond what f16 holds, and the next key far below the maximum. */
inline void large_scores(KernelArguments &arguments, const Dims &dims) {
    HostBuffer &q = arguments.buffer("q");
    for (int i = 0; i < dims.at("queries"); i++) {
        for (int c = 0; c < dims.at("d"); c++) {
            q.set({c, i, 0, 0}, c % 2 ? 300 : -200);
        }
    }
}

}  // namespace ops_test

#endif
