#include "kernel/targets.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "kernel/cpu.h"
#include "language/diagnostics.h"
#include "kernel/failure.h"
#include "kernel/text.h"

namespace halyard {

namespace {

struct Level {
    const char *name;
    const char *features;  // of Halide 21; it has no bmi, and f16c is needed to convert halves
    const char *flags;     // of /proc/cpuinfo
};

#define AVX2 "sse41-avx-f16c-fma-avx2"
#define SKYLAKE AVX2 "-avx512-avx512_skylake"
#define ZEN4 SKYLAKE "-avx512_cannonlake-avx512_zen4"
#define AVX2_FLAGS "sse4_1 avx f16c fma avx2"
#define SKYLAKE_FLAGS AVX2_FLAGS " avx512f avx512cd avx512vl avx512bw avx512dq"
#define CANNONLAKE_FLAGS SKYLAKE_FLAGS " avx512ifma avx512vbmi"
#define ZEN4_FLAGS CANNONLAKE_FLAGS " avx512_vbmi2 avx512_vnni avx512_bitalg avx512_vpopcntdq avx512_bf16"

const Level kLevels[] = {
    {"sse41", "sse41", "sse4_1"},
    {"avx2", AVX2, AVX2_FLAGS},
    {"avx512", SKYLAKE, SKYLAKE_FLAGS},
    {"avx512_cannonlake", SKYLAKE "-avx512_cannonlake", CANNONLAKE_FLAGS},
    {"avx512_zen4", ZEN4, ZEN4_FLAGS},
    // Sapphire Rapids and after it where a virtual machine hides AMX: no Zen has halves in avx512_fp16. Halide knows no such
    // feature, so that a library with this level needs avx512_zen5 before it.
    {"avx512_avxvnni", ZEN4 "-avxvnni", ZEN4_FLAGS " avx_vnni avx512_fp16"},
    {"avx512_zen5", ZEN4 "-avxvnni-avx512_zen5", ZEN4_FLAGS " avx_vnni avx512_vp2intersect"},
    {"avx512_sapphirerapids", ZEN4 "-avxvnni-avx512_sapphirerapids", ZEN4_FLAGS " avx_vnni amx_tile amx_int8 amx_bf16"},
};

// What a kernel is compiled for is not said here (--devices); this is the host's part, which only calls it, and the
// least that Halide's lowering has to assume of a GPU.
const char *const kCuda = "x86-64-linux-sse41-cuda-cuda_capability_80";

const std::string kCudaPrefix = "cuda-";

// Names with "-" between them, and nothing that would be an option or a setting of a generator's command line.
bool is_names(const std::string &text) {
    return text[0] != '-' &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) { return c < 128 && (std::isalnum(c) || c == '_' || c == '-'); });
}

std::string expand(const std::string &text) {
    std::string head = text.substr(0, text.find('-'));
    const std::string tail = text.substr(head.size());
    const bool of_names = is_names(text);
    if (text == "cuda" || !devices_of(text).empty()) {
        return kCuda;
    }
    if (head == "host") {
        head = cpu().level;
        if (head.empty()) {
            throw Failure("this processor has no SSE 4.1; name a target with --target");
        }
    }
    for (const auto &level : kLevels) {
        if (of_names && head == level.name) {
            return fmt::format("x86-64-linux-{}{}", level.features, tail);
        }
    }
    if (of_names && !tail.empty()) {
        return text;  // a Halide target string; Halide checks it
    }
    std::vector<std::string> names = level_names();
    names.insert(names.end(), {"host", "cuda"});
    const std::string hint = did_you_mean(head, names);
    throw UsageError(fmt::format("there is no target \"{}\"; there are {}, and Halide's own strings "
                                 "such as x86-64-linux-avx2{}",
                                 text, quoted_list(names), hint.empty() ? "" : "\n  " + hint));
}

}  // namespace

const char *const kDefaultTargets = "avx512,avx2";

std::vector<std::string> level_names() {
    std::vector<std::string> names;
    for (const auto &level : kLevels) {
        names.emplace_back(level.name);
    }
    return names;
}

std::string best_level(const std::set<std::string> &flags) {
    std::string best;
    for (const auto &level : kLevels) {
        const auto needed = split(level.flags, ' ');
        if (std::all_of(needed.begin(), needed.end(), [&](const std::string &f) { return flags.count(f) > 0; })) {
            best = level.name;
        }
    }
    return best;
}

std::set<std::string> target_features(const std::string &target) {
    const auto parts = split(target, '-');
    return {parts.begin(), parts.end()};
}

std::vector<std::string> features_missing(const std::string &text, const std::string &level) {
    const std::set<std::string> has = target_features(level.empty() ? "" : expand(level));
    std::set<std::string> known;  // others, as no_asserts, are no instructions
    for (const auto &level : kLevels) {
        known.merge(target_features(level.features));
    }
    std::vector<std::string> missing;
    for (const auto &feature : split(resolve_targets(text).back(), '-')) {
        if (known.count(feature) > 0 && has.count(feature) == 0) {
            missing.push_back(feature);
        }
    }
    return missing;
}

bool is_cuda(const std::string &text) {
    return target_features(resolve_targets(text).front()).count("cuda") > 0;
}

std::string devices_of(const std::string &text) {
    return starts_with(text, kCudaPrefix) && text.find(',') == std::string::npos ? join(split(text.substr(kCudaPrefix.size()), '-'), ",")
                                                                                 : "";
}

std::string devices_to_build(const std::string &target, const std::string &devices) {
    const auto set_of = [](const std::string &text) {
        const auto names = split(text, ',');
        return std::set<std::string>(names.begin(), names.end());
    };
    const std::string named = devices_of(target);
    if (!devices.empty() && !named.empty() && set_of(devices) != set_of(named)) {
        throw UsageError(fmt::format("--target {} and --devices {} are different devices; leave one of them out", target, devices));
    }
    return devices.empty() ? named : devices;
}

std::string with_devices(const std::string &text, const std::string &devices) {
    if (devices.empty()) {
        return text;
    }
    if (!is_cuda(text)) {
        throw UsageError("--devices is for CUDA; add --target cuda");
    }
    return kCudaPrefix + join(split(devices_to_build(text, devices), ','), "-");
}

std::string target_key(const std::string &text) {
    const std::string devices = devices_of(text), targets = join(resolve_targets(text), ",");
    return devices.empty() ? targets : targets + " for " + devices;
}

std::vector<std::string> resolve_targets(const std::string &text) {
    std::vector<std::string> targets;
    const auto items = split(text, ',');
    for (const auto &item : items) {
        if (items.size() > 1 && !devices_of(item).empty()) {
            throw UsageError(fmt::format("--target {}: the devices of CUDA are of one target, as cuda-sm_80-sm_90a", text));
        }
        std::string target = expand(item);
        if (target_features(target).count("no_runtime") == 0) {
            target += "-no_runtime";
        }
        if (std::find(targets.begin(), targets.end(), target) == targets.end()) {
            targets.push_back(target);
        }
    }
    if (targets.empty()) {
        throw UsageError("--target needs at least one target");
    }
    std::stable_sort(targets.begin(), targets.end(),
                     [](const std::string &a, const std::string &b) { return target_features(a).size() > target_features(b).size(); });
    return targets;
}

}  // namespace halyard
