#include "kernel/process_limits.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>
#include <sys/resource.h>

#include "kernel/failure.h"

namespace halyard {

namespace {

constexpr int64_t kCompilerMemory = int64_t(4) << 30;
constexpr rlim_t kFileBytes = rlim_t(1) << 30;
constexpr rlim_t kStackBytes = rlim_t(16) << 20, kMoreStack = rlim_t(48) << 20;  // which compilers ask for
// Libraries reserve more addresses than they have memory. The kernel's tables of them, which no limit counts, take a 512th.
constexpr double kAddresses = 256;

// Beyond the limit by `grace` there is no signal that says which limit it was.
void lower(__rlimit_resource resource, rlim_t value, rlim_t grace = 0) {
    rlimit r = {};
    if (getrlimit(resource, &r) == 0) {
        r.rlim_max = std::min(r.rlim_max, value + grace);
        r.rlim_cur = std::min({r.rlim_cur, r.rlim_max, value});
        setrlimit(resource, &r);
    }
}

}  // namespace

void limit_this_process(int64_t memory_bytes, double processor_seconds) {
#ifndef __SANITIZE_ADDRESS__  // whose shadow is terabytes of it
    if (memory_bytes > 0) {
        lower(RLIMIT_DATA, rlim_t(memory_bytes));
        lower(RLIMIT_AS, rlim_t(std::min(double(memory_bytes) * kAddresses, 1e18)));
    }
#endif
    if (memory_bytes > 0) {
        lower(RLIMIT_STACK, kStackBytes, kMoreStack);
        lower(RLIMIT_FSIZE, kFileBytes);  // of what is read whole by who started it
    }
    if (processor_seconds > 0) {
        lower(RLIMIT_CPU, rlim_t(std::ceil(processor_seconds)), 1);
    }
    if (memory_bytes > 0 || processor_seconds > 0) {
        lower(RLIMIT_CORE, 0);
    }
}

int64_t compiler_memory() {
    const char *text = std::getenv("HALYARD_COMPILER_MEMORY");
    if (!text || !*text) {
        return kCompilerMemory;
    }
    char *end = nullptr;
    const double number = std::strtod(text, &end);
    const std::string unit = end;
    const double bytes = number * (unit == "K" ? 1 << 10 : unit == "M" ? 1 << 20 : unit == "G" ? 1 << 30 : 1);
    if (end == text || !(bytes >= 0 && bytes < 1e18) || (!unit.empty() && unit != "K" && unit != "M" && unit != "G")) {
        throw UsageError(fmt::format("HALYARD_COMPILER_MEMORY is \"{}\"; write a size as 8G or 512M, or 0 for no bound", text));
    }
    return int64_t(bytes);
}

ProcessOptions compiler_options(double timeout) {
    ProcessOptions options;
    options.timeout = timeout;
    options.end_group = true;
    options.memory_bytes = compiler_memory();
    // Should the command be gone that would stop it.
    options.processor_seconds = timeout * std::max(1u, std::thread::hardware_concurrency());
    return options;
}

}  // namespace halyard
