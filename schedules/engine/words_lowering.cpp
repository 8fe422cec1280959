// Words that Halide has not: they take effect in a pass after its lowering (schedules/lowering).

#include "binding.h"

namespace halyard {

using namespace Halide;

namespace {

void stream(Call &c) {
    const Internal::Function f = c.func().function();
    bool output = false;
    for (const auto &o : c.binding.view().outputs()) {
        output = output || o.same_as(f);
    }
    if (!output) {
        c.fail("is for what the pipeline writes for others, and " + c.self.func_name + " is read again by it",
               "stream an output");
    }
    if (f.has_update_definition()) {
        c.fail("is not for " + c.self.func_name + ": its update reads again what was stored",
               "give the output a definition of its own that reads the sum");
    }
    if (c.args[0].present && c.args[0].integer < 0) {
        c.fail("the argument \"above\" is " + std::to_string(c.args[0].integer) + ", but must not be negative");
    }
    c.binding.stream(f, c.args[0].present ? c.args[0].integer : -1);
}

void mma(Call &c) {
    if (c.self.stage_index == 0) {
        c.fail("is for an update that adds up products", "write k." + c.self.func_name + ":update(0):mma()");
    }
    c.binding.multiply_in_tiles(c.func().function(), c.self.stage_index);
}

}  // namespace

const std::vector<Word> kLoweringWords = {
    {"stream", Handle::kFunc, "above:int?", "self",
     "Stores an output past the caches in calls where it has more than `above` bytes; by default, what half the "
     "last-level cache of the target holds. Then its lines are not read before they are written, and nothing else "
     "is pushed out of the caches for them. Decided once a call, for all streamed outputs at once. Vectors of 16, "
     "32 or 64 bytes are streamed, those that start at a multiple of 16 bytes. Without `halyard build`, as in a "
     "stock Halide generator, it has no effect, and a note says so.",
     "for row: y[row][col] = ...", "if (bytes of y > above)\n  for row: y[row][col] = ... (non-temporal)\nelse\n"
                                  "  for row: y[row][col] = ...",
     stream},
    {"mma", Handle::kStage, "", "self",
     "Has an update that adds up products of bf16, or of 8-bit integers, done in tiles by AMX. Its loops stay "
     "serial: over rows, columns, groups of k, and the members of a group (2 of bf16, 4 of 8 bits), b in packed "
     "weights. Any extents will do; multiples of 32 rows and columns and of 16 groups are best. On a processor "
     "without AMX plain loops compute the same, slowly: choose it by `target:has \"avx512_sapphirerapids\"`. "
     "Without `halyard build` the loops stay, and a note says so.",
     "for group: for row: for col: for member\n  acc[row][col] += a[row][group][member] * b[group][col][member]",
     "halyard_mma_bf16(acc, a, b, rows, cols, groups)", mma},
};

}  // namespace halyard
