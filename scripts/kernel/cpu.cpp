#include "kernel/cpu.h"

#include <fstream>
#include <sstream>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard {

namespace {

std::string first_line(const std::string &path) {
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    return trim(line);
}

// "1024K" of /sys/devices/system/cpu/cpu0/cache
int64_t cache_bytes(const std::string &text) {
    std::istringstream in(text);
    int64_t n = 0;
    char unit = ' ';
    in >> n >> unit;
    return unit == 'K' ? n << 10 : unit == 'M' ? n << 20 : n;
}

// Linux gives a program the state of AMX's tiles only when it asks, as the runtime does (runtime/amx.cpp).
bool may_use_tiles() {
#if defined(__x86_64__)
    constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
    return false;
#endif
}

Cpu detect_cpu() {
    Cpu c;
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line) && (c.model.empty() || c.flags.empty());) {
        const size_t colon = line.find(':');
        if (colon == std::string::npos) {
            continue;
        }
        const std::string key = trim(line.substr(0, colon)), value = trim(line.substr(colon + 1));
        if (key == "model name") {
            c.model = value;
        } else if (key == "flags") {
            for (const auto &flag : split(value, ' ')) {
                c.flags.insert(flag);
            }
        }
    }
    if (c.flags.count("amx_tile") && !may_use_tiles()) {
        for (const char *flag : {"amx_tile", "amx_bf16", "amx_int8"}) {
            c.flags.erase(flag);
        }
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    c.processors = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    for (int i = 0; i < 8; i++) {
        const std::string dir = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
        const std::string level = first_line(dir + "level");
        if (level.empty() || first_line(dir + "type") == "Instruction") {
            continue;
        }
        (level == "1" ? c.l1 : level == "2" ? c.l2 : c.l3) = cache_bytes(first_line(dir + "size"));
    }
    c.level = best_level(c.flags);
    return c;
}

}  // namespace

const Cpu &cpu() {
    static const Cpu detected = detect_cpu();
    return detected;
}

}  // namespace halyard
