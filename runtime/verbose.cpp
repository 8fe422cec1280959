// What libraries tell of their calls on standard error, where HALYARD_VERBOSE=1 or halyard_set_verbose(1) asks for it.

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "halyard/cuda.h"
#include "halyard/runtime.h"

namespace {

constexpr int kUnknown = -1;
std::atomic<int> level{kUnknown};
thread_local const char *version = "";

int level_of_environment() {
    const char *text = getenv("HALYARD_VERBOSE");
    const int found = text ? atoi(text) : 0;
    int before = kUnknown;
    return level.compare_exchange_strong(before, found) ? found : before;
}

int64_t nanoseconds() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}

/** A line of text that is cut where it has no room. */
struct Line {
    char text[1024];
    size_t used = 0;

    __attribute__((format(printf, 2, 3))) void add(const char *format, ...) {
        va_list arguments;
        va_start(arguments, format);
        const size_t room = sizeof(text) - 1 - used;  // but for the line's end
        const int n = vsnprintf(text + used, room, format, arguments);
        va_end(arguments);
        used += n < 0 ? 0 : size_t(n) < room ? size_t(n) : room - 1;
    }
};

const char *name_of(halide_type_t type) {
    switch (type.code) {
    case halide_type_int: return "int";
    case halide_type_uint: return type.bits == 1 ? "bool" : "uint";
    case halide_type_float: return "float";
    case halide_type_bfloat: return "bfloat";
    default: return "handle";
    }
}

void add(Line &line, const char *name, size_t length, const halide_buffer_t &b) {
    line.add(" %.*s=%s%d[", int(length), name, name_of(b.type), int(b.type.bits));
    for (int d = 0; d < b.dimensions; d++) {
        line.add("%s%d", d ? "," : "", b.dim[d].extent);
    }
    line.add("]");
}

}  // namespace

extern "C" {

void halyard_set_verbose(int on) {
    level.store(on != 0);
}

// A library calls these: at its start, where a version of its schedule was done, and at its end.
int64_t halyard_call_begins(void) {
    const int now = level.load(std::memory_order_relaxed);
    if (now == 0 || (now == kUnknown && level_of_environment() == 0)) {
        return 0;
    }
    version = "";
    return nanoseconds();
}

int halyard_call_takes(const char *text) {
    version = text;
    return 0;
}

int halyard_call_ends(const char *function, const char *target, int64_t start, const char *names, halide_buffer_t **buffers) {
    bool on_device = false;
    int count = 0;
    for (const char *name = names; *name; count++) {
        const halide_buffer_t &b = *buffers[count];
        if (!b.host && !b.device) {
            return 0;  // it asked for sizes
        }
        on_device = on_device || b.device;
        name += strcspn(name, " ");
        name += *name == ' ';
    }
    const char *waited = !on_device ? "" : halyard_cuda_is_captured() ? " to queue" : halyard_cuda_synchronize() ? " until an error" : "";
    const double microseconds = double(nanoseconds() - start) / 1e3;
    Line line;
    line.add("halyard: %s[%s]", function, target);
    const char *name = names;
    for (int i = 0; i < count; i++) {
        const size_t length = strcspn(name, " ");
        add(line, name, length, *buffers[i]);
        name += length + (name[length] == ' ');
    }
    if (*version) {
        line.add(" version{%s}", version);
    }
    line.add(" %.1f us%s", microseconds, waited);
    line.text[line.used++] = '\n';
    const ssize_t written = write(STDERR_FILENO, line.text, line.used);  // whole, whatever other threads write
    (void)written;
    return 0;
}

}  // extern "C"
