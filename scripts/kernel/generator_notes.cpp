#include "kernel/generator_notes.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "kernel/paths.h"
#include "kernel/text.h"

namespace halyard {

namespace {

// Halide says it of every task of every target, also where a number is only converted when it is loaded and stored.
const char *const kEmulated = "(b)float16 type operation is emulated";

}  // namespace

std::string generator_notes(const Plan &plan, const std::string &standard_error) {
    std::vector<std::string> notes;
    bool emulated = false;
    for (const auto &line : split(standard_error, '\n')) {
        if (line.find(kEmulated) != std::string::npos) {
            emulated = true;
        } else if (std::find(notes.begin(), notes.end(), line) == notes.end()) {
            notes.push_back(line);
        }
    }
    // Our own generators compute in float32 and convert, which is what the advice would be.
    if (emulated && plan.executable != paths().generators) {
        notes.push_back(fmt::format("note: {}: a target here has no instructions for 16-bit floats, and Halide makes several of each "
                                    "operation; convert to float32 when loading, or name a --target that has them",
                                    plan.op));
    }
    if (plan.script.empty()) {
        notes.push_back(fmt::format("note: {}: made by Halide alone, with the generator's own schedule: nothing checks a call for null "
                                    "dimensions; a --schedule brings that",
                                    plan.op));
    }
    return join(notes, "\n");
}

}  // namespace halyard
