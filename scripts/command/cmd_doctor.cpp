// halyard doctor: what is installed, what is missing, how to get it.

#include <filesystem>
#include <memory>

#include <dlfcn.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command/commands.h"
#include "command/option_table.h"
#include "kernel/confine.h"
#include "kernel/cpu.h"
#include "kernel/failure.h"
#include "kernel/kernel.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/registry.h"
#include "kernel/schedules.h"
#include "kernel/terminal.h"
#include "kernel/text.h"

namespace halyard {

namespace {

struct Finding {
    std::string name;
    bool ok = false, needed = true;
    std::string found;  // where, which version
    std::string how;    // to get it
};

Finding piece(const std::string &name, const std::string &path) {
    std::error_code ignored;
    const bool ok = std::filesystem::exists(path, ignored);
    return {name, ok, true, ok ? path : "missing: " + path, how_to_build()};
}

Finding compiler() {
    Finding f{"C++ compiler", false, needs_linker(), "missing",
              needs_linker() ? "apt install g++ (only `halyard bench` and your program need it)" : "only programs of yours need it"};
    try {
        const ProcessResult r = run_process({system_compiler(), "--version"});
        f.ok = r.ok();
        f.found = r.out.substr(0, r.out.find('\n'));
    } catch (const Failure &e) {
        f.found = e.what();
    }
    return f;
}

// The loader itself says which libHalide the generators would get.
Finding halide() {
    Finding f{"libHalide.so", false, true, "not found by the loader",
              "pip install halide==21.0.0 into the environment that the build used, or run scripts/setup"};
    if (!std::filesystem::exists(paths().generators)) {
        f.found = "unknown, since the generators are missing";
        return f;
    }
    const ProcessResult r = run_process({paths().generators}, {10, {"LD_TRACE_LOADED_OBJECTS=1"}});
    for (const auto &line : split(r.out, '\n')) {
        if (starts_with(line, "libHalide.so")) {
            const auto words = split(line, ' ');
            f.ok = words.size() > 2 && words[2] != "not";
            f.found = f.ok ? words[2] : line;
        }
    }
    return f;
}

Finding schedules() {
    Finding f{"schedules", true, true, paths().schedules, how_to_build()};
    std::vector<std::string> lacking;
    for (const auto &op : op_names()) {
        if (schedules_of(op).empty()) {
            lacking.push_back(op);
        }
    }
    if (!lacking.empty()) {
        f.ok = false;
        f.found = fmt::format("none in {} for {}", paths().schedules, join(lacking, ", "));
    }
    return f;
}

// Where the kernel has no Landlock, generators and candidates may reach what their user may.
Finding confinement() {
    return {"confinement", confines(), false, confinement_state(),
            "a kernel from 5.13 on with Landlock keeps generators and candidates in their folders (docs/SECURITY.md)"};
}

Finding processor() {
    const Cpu &c = cpu();
    const std::string caches = fmt::format("L1 {} KiB, L2 {} KiB, L3 {} KiB", c.l1 >> 10, c.l2 >> 10, c.l3 >> 10);
    Finding f{"processor", c.level == "avx2" || starts_with(c.level, "avx512"), false,
              fmt::format("{}, {} usable, best level {}, {}", c.model, c.processors, c.level.empty() ? "none" : c.level, caches),
              "libraries can be built here; to run them takes AVX2, F16C and FMA"};
    return f;
}

Finding optional_library(const std::string &name, const std::vector<std::string> &files, const std::string &how) {
    for (const auto &file : files) {
        // Stays open: NVRTC frees nothing when it is closed, which a leak checker takes for a leak.
        if (dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
            return {name, true, false, file, how};
        }
    }
    return {name, false, false, "not installed", how};
}

std::vector<Finding> examine() {
    return {
        compiler(),
        halide(),
        piece("plugin", paths().plugin),
        piece("generators", paths().generators),
        piece("reader of heads", paths().heads),
        piece("runtime library", paths().runtime),
        schedules(),
        processor(),
        confinement(),
        optional_library("CUDA driver", {"libcuda.so.1"}, "comes with the NVIDIA driver; only GPU schedules need it"),
        optional_library("NVRTC", {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"},
                         "pip install nvidia-cuda-nvrtc, or the CUDA toolkit; only GPU schedules need it"),
    };
}

nlohmann::json to_json(const std::vector<Finding> &findings, bool ok) {
    nlohmann::json checks = nlohmann::json::array();
    for (const auto &f : findings) {
        checks.push_back({{"name", f.name},
                          {"ok", f.ok},
                          {"needed", f.needed},
                          {"found", f.found},
                          {"how", f.ok ? nlohmann::json(nullptr) : nlohmann::json(f.how)}});
    }
    const Cpu &c = cpu();
    return {{"ok", ok},
            {"version", version_text()},
            {"root", paths().root},
            {"plugin", paths().plugin},
            {"generators", paths().generators},
            {"runtime", paths().runtime},
            {"schedules", paths().schedules},
            {"cache", paths().cache},
            {"checks", checks},
            {"cpu",
             {{"model", c.model},
              {"level", c.level},
              {"processors", c.processors},
              {"flags", c.flags},
              {"l1", c.l1},
              {"l2", c.l2},
              {"l3", c.l3}}}};
}

void print(const std::vector<Finding> &findings) {
    for (const auto &f : findings) {
        const std::string state = f.ok       ? paint(Colour::kGreen, "ok     ")
                                  : f.needed ? paint(Colour::kRed, "MISSING")
                                             : paint(Colour::kYellow, "absent ");
        fmt::print("{}  {:<16} {}\n", state, f.name, f.found);
        if (!f.ok) {
            fmt::print("{:25} {}\n", "", f.how);
        }
    }
}

}  // namespace

void add_doctor(CLI::App &app) {
    auto json = std::make_shared<bool>(false);
    CLI::App *cmd = app.add_subcommand("doctor", "What is installed, what is missing, how to get it");
    cmd->add_flag("--json", *json, "An object on standard output; \"plugin\" is the path of the Halide plugin");
    put_in_group(*cmd, group::kOutput, {"--json"});
    cmd->footer("\nExit code 1 if something needed is missing.\n"
                "\nExamples:\n  halyard doctor\n  halyard doctor --json | jq -r .plugin");
    cmd->callback([json] {
        const auto findings = examine();
        bool ok = true;
        for (const auto &f : findings) {
            ok = ok && (f.ok || !f.needed);
        }
        if (*json) {
            fmt::print("{}\n", to_json(findings, ok).dump(1));
        } else {
            print(findings);
        }
        if (!ok) {
            throw ExitCode{1};
        }
    });
}

}  // namespace halyard
