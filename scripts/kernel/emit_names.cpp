#include "kernel/emit_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/targets.h"
#include "language/diagnostics.h"

namespace halyard {

const std::vector<std::string> &emit_names() {
    static const std::vector<std::string> names = {"assembly",
                                                   "bitcode",
                                                   "c_header",
                                                   "c_source",
                                                   "compiler_log",
                                                   "conceptual_stmt",
                                                   "conceptual_stmt_html",
                                                   "cuda",
                                                   "device_code",
                                                   "featurization",
                                                   "function_info_header",
                                                   "hlpipe",
                                                   "llvm_assembly",
                                                   "object",
                                                   "python_extension",
                                                   "pytorch_wrapper",
                                                   "registration",
                                                   "schedule",
                                                   "static_library",
                                                   "stmt",
                                                   "stmt_html"};
    return names;
}

void check_emit(const std::vector<std::string> &emit, const std::vector<std::string> &targets) {
    const auto &names = emit_names();
    for (const auto &e : emit) {
        if (std::find(names.begin(), names.end(), e) == names.end()) {
            const std::string hint = did_you_mean(e, names);
            throw UsageError(
                fmt::format("--emit: there is no output \"{}\"; there are {}{}", e, quoted_list(names), hint.empty() ? "" : "\n  " + hint));
        }
    }
    const auto has = [&](const char *name) { return std::find(emit.begin(), emit.end(), name) != emit.end(); };
    const auto features = target_features(targets.front());
    const bool cuda = features.count("cuda") > 0;
    if (!cuda && has("cuda")) {
        throw UsageError("--emit cuda is for CUDA; add --target cuda");
    }
    if (has("device_code")) {
        throw UsageError(
            fmt::format("--emit device_code writes nothing for {}", cuda ? "CUDA; take --emit cuda" : "a processor; leave it out"));
    }
    if (targets.size() > 1 && has("object") && has("static_library")) {
        throw UsageError("--emit static_library,object is for one target: of several, object is a file for each, and static_library one of "
                         "all; take one of them, or name one --target");
    }
    if (cuda && has("pytorch_wrapper") && features.count("user_context") == 0) {
        throw UsageError(
            "--emit pytorch_wrapper is for processors: a wrapper for CUDA needs a user context, which Halyard's functions do not "
            "have; leave it out, and call the function with arrays on the device");
    }
}

}  // namespace halyard
