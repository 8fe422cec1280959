#ifndef HALYARD_TESTS_OPS_ROTATION_H
#define HALYARD_TESTS_OPS_ROTATION_H

/** \file
 * References of rotary position embedding.
 */

#include <algorithm>
#include <cmath>

#include "op_test.h"

namespace ops_test {

/** math/trig.h: 1.6 epsilons of a cosine or a sine. */
constexpr double kTrigError = 2 * 1.6 * kRoundoff;

/** Frequencies as they are, 10000^(-2 i / width), where the build has them. */
inline void set_frequencies(KernelArguments &arguments) {
    if (!arguments.has_buffer("frequencies")) {
        return;
    }
    HostBuffer &frequencies = arguments.buffer("frequencies");
    const int pairs = frequencies.extents()[0];
    for (int i = 0; i < pairs; i++) {
        frequencies.set({i}, double(float(std::pow(10000.0, -double(i) / pairs))));
    }
}

/** Positions of tables of `length` rows, or of computed angles. */
inline void set_positions(KernelArguments &arguments, int64_t length, uint64_t seed) {
    const double most = arguments.has_buffer("cos_table") ? double(std::max<int64_t>(length, 1) - 1) : 0x1p20;
    arguments.buffer("positions").fill_random(seed, 0, most);
}

/** Element i of a head, turned: x[i] cosine + x[partner] sine. */
struct Turn {
    int partner;
    double cosine, sine;
    double error;  // of both
};

/** Of an element that is turned, of a head of the token. */
inline Turn turn_of(const Problem &p, int token, int i) {
    const int width = p.dim("width") / 2 * 2, half = width / 2;
    const bool neighbours = p.is("pairing", "interleaved"), tables = p.has("cos_table");
    const int pair = neighbours ? i / 2 : i % half, partner = neighbours ? i ^ 1 : (i + half) % width;
    const bool second = neighbours ? i % 2 == 1 : i >= half;
    const double position = p["positions"](token);
    const int row = tables ? int(std::clamp(position, 0.0, double(p.dim("length") - 1))) : 0;
    const double angle = tables ? 0 : position * p["frequencies"](pair);
    const double cosine = tables ? p["cos_table"](pair, row) : std::cos(angle), sine = tables ? p["sin_table"](pair, row) : std::sin(angle);
    return {partner, cosine, second ? sine : -sine, tables ? 0 : kTrigError};
}

}  // namespace ops_test

#endif
