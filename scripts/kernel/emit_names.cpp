#include "kernel/emit_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernel/failure.h"
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

void check_emit(const std::vector<std::string> &emit) {
    const auto &names = emit_names();
    for (const auto &e : emit) {
        if (std::find(names.begin(), names.end(), e) == names.end()) {
            const std::string hint = did_you_mean(e, names);
            throw UsageError(
                fmt::format("--emit: there is no output \"{}\"; there are {}{}", e, quoted_list(names), hint.empty() ? "" : "\n  " + hint));
        }
    }
}

}  // namespace halyard
