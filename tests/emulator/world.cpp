#include "world.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <initializer_list>
#include <utility>

namespace halyard::emulator::driver {

World::World() {
    for (const auto &[name, value] : std::initializer_list<std::pair<const char *, int>>{{"devices", 2},
                                                                                         {"capability", 90},
                                                                                         {"multiprocessors", 132},
                                                                                         {"memory", 4096},
                                                                                         {"pools", 1},
                                                                                         {"fail_allocation", 0},
                                                                                         {"fail_launch", 0},
                                                                                         {"fail_load", 0}}) {
        std::string variable = std::string("HALYARD_EMULATOR_") + name;
        std::transform(variable.begin(), variable.end(), variable.begin(), ::toupper);
        const char *given = getenv(variable.c_str());
        settings[name] = given ? atoi(given) : value;
    }
    for (int i = 0; i < kMaxDevices; i++) {
        primary[i].device = i;
        primary[i].primary = true;
    }
}

// Never destroyed: programs call the driver in their last destructors.
World &world() {
    static World *const w = new World;
    return *w;
}

// Never destroyed either, for the same reason.
thread_local std::vector<Context *> &stack = *new std::vector<Context *>;
thread_local int capture_mode = 0;
thread_local char last_error[1024];

int max_shared() {
    const int capability = world().settings["capability"];
    return (capability == 80 ? 163 : capability < 90 || capability >= 120 ? 99 : 227) * 1024;
}

int devices() {
    return std::min(world().settings["devices"], kMaxDevices);
}

bool fails_now(const char *what) {
    int &n = world().settings[what];
    return n > 0 && --n == 0;
}

Context *current() {
    return stack.empty() ? nullptr : stack.back();
}

int unsafe_now() {
    for (Stream *s : world().streams) {
        if (s->capturing && s->mode == 0 && capture_mode == 0) {
            s->invalid = true;
            return kCaptureUnsupported;
        }
    }
    return kSuccess;
}

Stream *as_stream(void *s) {
    return reinterpret_cast<uintptr_t>(s) <= 2 ? nullptr : static_cast<Stream *>(s);
}

int enter_stream(void *handle, bool *captured) {
    World &w = world();
    *captured = false;
    Stream *s = as_stream(handle);
    if (!s) {
        for (Stream *other : w.streams) {
            if (other->capturing) {
                other->invalid = true;
                return kCaptureImplicit;
            }
        }
        return current() ? current()->sticky : kInvalidContext;
    }
    if (!w.streams.count(s)) {
        return kInvalidHandle;
    }
    if (s->invalid) {
        return kCaptureInvalidated;
    }
    *captured = s->capturing;
    s->nodes += s->capturing;
    w.counts["captured"] += s->capturing;
    return s->context->sticky;
}

bool find_region(uint64_t address, Region *region) {
    for (const DeviceMemory &m : world().memory) {
        if (!m.holds(address)) {
            continue;
        }
        if (const auto *a = m.find(address)) {
            *region = {a->first, a->first + a->second.bytes, m.host(a->first)};
            return true;
        }
    }
    return false;
}

char *bytes_at(uint64_t address, uint64_t bytes) {
    Region r;
    return find_region(address, &r) && address + bytes <= r.end ? r.bytes + (address - r.begin) : nullptr;
}

int allocate(uint64_t *pointer, size_t bytes, int device, void *owner, bool captured) {
    World &w = world();
    if (fails_now("fail_allocation")) {
        return kOutOfMemory;
    }
    *pointer = w.memory[device].allocate(bytes, uint64_t(w.settings["memory"]) << 20, owner, captured);
    w.counts["allocated"] += *pointer != 0;
    return *pointer ? kSuccess : bytes ? kOutOfMemory : kInvalidValue;
}

int free_memory(uint64_t pointer) {
    for (DeviceMemory &m : world().memory) {
        if (m.holds(pointer)) {
            return m.release(pointer) ? kSuccess : kInvalidValue;
        }
    }
    return kInvalidValue;
}

}  // namespace halyard::emulator::driver
