#include "kernel/compile_failure.h"

#include <csignal>

#include <fmt/format.h>

#include "kernel/text.h"

namespace halyard {

namespace {

std::string place_of(const nlohmann::json &directive) {
    return fmt::format("{}:{}", directive.value("file", ""), directive.value("line", 0));
}

std::string cause_text(const Plan &plan, const ProcessResult &r, const ProcessOptions &options) {
    if (ran_out_of_memory(r, options)) {
        return fmt::format("needs more than the {:.3g} GiB of memory that it has (HALYARD_COMPILER_MEMORY)",
                           double(options.memory_bytes) / double(1 << 30));
    }
    if (r.signal == SIGXCPU) {
        return fmt::format("took more than {:g} s of processor time (--timeout)", options.processor_seconds);
    }
    return describe_end(r, plan.timeout);
}

}  // namespace

bool ran_out_of_memory(const ProcessResult &r, const ProcessOptions &options) {
    const auto says = [&](const char *text) { return r.err.find(text) != std::string::npos; };
    return options.memory_bytes > 0 && !r.timed_out && !r.ok() &&
           (says("bad_alloc") || says("out of memory") || says("memory exhausted") || says("Cannot allocate memory"));
}

std::string death_text(const Plan &plan, const ProcessResult &r, const ProcessOptions &options, const nlohmann::json &report,
                       const nlohmann::json &last, const std::string &detail) {
    std::string at = plan.script.empty() ? plan.executable : plan.script, more;
    if (last.is_object()) {
        at = place_of(last);
        more = fmt::format("\n  the directive that {} is {} of {} ({})", report.is_object() ? "was applied last" : "was being applied",
                           last.value("word", ""), last.value("func", ""), at);
    }
    if (report.is_object() && report.contains("large")) {
        for (const auto &l : report["large"]) {
            at = &l == &report["large"][0] && l.value("line", 0) > 0 ? place_of(l) : at;
            more += fmt::format("\n  unusually large: the loop \"{}\" of {} is written out {} times ({}: {})", l.value("loop", ""),
                                l.value("func", ""), l.value("times", int64_t(0)), place_of(l), l.value("word", ""));
        }
    }
    if (!plan.script.empty()) {
        more += fmt::format("\n  what each directive does: halyard show {} --schedule {} --step", plan.op, plan.script);
    }
    return fmt::format("{}: error: the generator {} while it compiled {}{}{}", at, cause_text(plan, r, options), plan.op,
                       detail.empty() ? "" : "\n  " + detail, more);
}

}  // namespace halyard
