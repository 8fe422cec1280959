#include "kernel/finish_process.h"

#include <filesystem>

#include <fmt/format.h>

#include "kernel/confine.h"
#include "kernel/failure.h"
#include "kernel/paths.h"
#include "kernel/process_limits.h"
#include "kernel/text.h"

namespace halyard {

namespace fs = std::filesystem;

void finish_in_process(const std::string &directory, const std::string &function, double timeout) {
    const std::string command = require_piece((fs::path(paths().root) / "bin/halyard").string(), "the command itself");
    Confinement c = confinement_of(command, {require_piece(paths().llvm, "LLVM (llvmlite of third_party/requirements.txt)")});
    c.reads.push_back((fs::path(paths().root) / "CMakeCache.txt").string());  // says where the pieces are
    c.writes = {directory};
    const ProcessResult r = run_confined({command, "finish", fs::absolute(directory).string(), function}, compiler_options(timeout), c);
    if (!r.ok()) {
        const std::string message = trim(r.err);
        throw Failure(starts_with(message, function + ".a: error: ")
                          ? message
                          : fmt::format("{}.a: error: cannot be finished: LLVM {}", function, describe_end(r, timeout)));
    }
}

}  // namespace halyard
