#include "explain/mca.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "kernel/failure.h"
#include "kernel/process.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;

std::string find_program() {
    const char *path = std::getenv("PATH");
    for (const char *name : {"llvm-mca-19", "llvm-mca-20", "llvm-mca-21", "llvm-mca"}) {
        for (const auto &dir : split(path ? path : "", ':')) {
            const std::string file = dir + "/" + name;
            if (access(file.c_str(), X_OK) == 0) {
                return file;
            }
        }
    }
    return "";
}

double number_after(const std::string &text, const std::string &mark) {
    const size_t at = text.find(mark);
    return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + mark.size(), nullptr);
}

// "  - Zn4FP0  [ 33.28% ]" below a heading
std::string limit_of(const std::string &text) {
    const size_t begin = text.find("Throughput Bottlenecks:");
    if (begin == std::string::npos) {
        return "the front end: as many instructions as it takes in a cycle";
    }
    const double units = number_after(text, "Resource Pressure       ["), registers = number_after(text, "Register Dependencies ["),
                 memory = number_after(text, "Memory Dependencies   [");
    std::vector<std::pair<double, std::string>> busy;
    std::istringstream in(text.substr(begin, text.find("Critical sequence") - begin));
    for (std::string line; std::getline(in, line);) {
        const std::string t = trim(line);
        if (starts_with(t, "- ") && t.find("Dependencies") == std::string::npos) {
            busy.emplace_back(number_after(t, "["), split(t.substr(2), ' ').front());
        }
    }
    std::sort(busy.rbegin(), busy.rend());
    std::string ports;
    for (size_t i = 0; i < busy.size() && i < 3 && busy[i].first * 2 > busy.front().first; i++) {
        ports += (i ? ", " : "") + busy[i].second;
    }
    if (std::max(registers, memory) > units) {
        return registers >= memory ? "a chain of results that wait for each other" : "loads that wait for stores";
    }
    return "busy units: " + ports;
}

}  // namespace

McaResult analyse_loops(const std::vector<std::vector<std::string>> &loops, const std::string &processor) {
    McaResult result;
    result.loops.resize(loops.size());
    result.program = find_program();
    if (result.program.empty()) {
        result.error = "llvm-mca is not installed (Debian: llvm-19)";
        return result;
    }
    std::string text;
    for (size_t i = 0; i < loops.size(); i++) {
        text += fmt::format("# LLVM-MCA-BEGIN loop{}\n", i);
        for (const auto &instruction : loops[i]) {
            text += "\t" + instruction + "\n";
        }
        text += fmt::format("# LLVM-MCA-END loop{}\n", i);
    }
    const TemporaryDirectory work(temporary_root());
    const std::string file = work.path() + "/loops.s";
    write_file(file, text);
    const ProcessResult r = run_process({result.program, "-mtriple=x86_64", "-mcpu=" + processor, "-iterations=200", "-bottleneck-analysis",
                                         "-resource-pressure=0", "-instruction-info=0", file},
                                        {30, {}});
    result.processor = processor;
    if (processor == "native") {
        const ProcessResult version = run_process({result.program, "--version"});
        const size_t at = version.out.find("Host CPU: ");
        if (at != std::string::npos) {
            result.processor = trim(version.out.substr(at + 10, version.out.find('\n', at) - at - 10));
        }
    }
    if (!r.ok()) {
        result.error = trim(r.err.substr(0, r.err.find('\n')));
    }
    for (size_t at = r.out.find("Code Region - loop"); at != std::string::npos;) {
        const size_t next = r.out.find("Code Region - loop", at + 1);
        const std::string region = r.out.substr(at, next == std::string::npos ? next : next - at);
        const size_t index = size_t(number_after(region, "Code Region - loop"));
        const double iterations = number_after(region, "Iterations:");
        if (index < loops.size() && iterations > 0) {
            LoopCycles &c = result.loops[index];
            c.cycles = number_after(region, "Total Cycles:") / iterations;
            c.throughput = number_after(region, "Block RThroughput:");
            c.instructions = int(number_after(region, "Instructions:") / iterations);
            c.limit = limit_of(region);
        }
        at = next;
    }
    return result;
}

}  // namespace halyard
