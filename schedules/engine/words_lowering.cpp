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
};

}  // namespace halyard
