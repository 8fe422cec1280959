#include "explain/counters.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace halyard {

namespace {

int open_counter(uint64_t event) {
    perf_event_attr a = {};
    a.size = sizeof(a);
    a.type = PERF_TYPE_HARDWARE;
    a.config = event;
    a.disabled = 1;
    a.inherit = 1;
    a.exclude_kernel = 1;
    a.exclude_hv = 1;
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return int(syscall(SYS_perf_event_open, &a, 0, -1, -1, 0));
}

std::string reason(int error) {
    if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV) {
        return "the processor's counters are not there (a virtual machine without them)";
    }
    if (error == EACCES || error == EPERM) {
        std::ifstream in("/proc/sys/kernel/perf_event_paranoid");
        std::string level;
        std::getline(in, level);
        return "the kernel does not allow them (perf_event_paranoid is " + level + ")";
    }
    return std::string("perf_event_open: ") + std::strerror(error);
}

}  // namespace

Counters count_events(const std::function<void()> &body) {
    Counters c;
    rusage before = {}, after = {};
    getrusage(RUSAGE_SELF, &before);
    body();
    getrusage(RUSAGE_SELF, &after);
    c.page_faults = double(after.ru_minflt - before.ru_minflt);
    const struct {
        uint64_t event;
        double Counters::*into;
    } events[] = {{PERF_COUNT_HW_CPU_CYCLES, &Counters::cycles},
                  {PERF_COUNT_HW_INSTRUCTIONS, &Counters::instructions},
                  {PERF_COUNT_HW_CACHE_REFERENCES, &Counters::cache_references},
                  {PERF_COUNT_HW_CACHE_MISSES, &Counters::cache_misses}};
    int files[4];
    for (int i = 0; i < 4; i++) {
        files[i] = open_counter(events[i].event);
        if (files[i] < 0 && i == 0) {
            c.why_not = reason(errno);
            return c;
        }
    }
    for (int f : files) {
        ioctl(f, PERF_EVENT_IOC_ENABLE, 0);
    }
    body();
    for (int i = 0; i < 4; i++) {
        ioctl(files[i], PERF_EVENT_IOC_DISABLE, 0);
        uint64_t value[3] = {};
        // With more events than counters each has only a part of the time.
        if (read(files[i], value, sizeof(value)) == ssize_t(sizeof(value)) && value[2] > 0) {
            c.*events[i].into = double(value[0]) * double(value[1]) / double(value[2]);
        }
        if (files[i] >= 0) {
            close(files[i]);
        }
    }
    c.available = c.cycles > 0;
    c.why_not = c.available ? "" : "they stay at zero";
    return c;
}

}  // namespace halyard
