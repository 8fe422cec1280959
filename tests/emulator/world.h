#ifndef HALYARD_TESTS_EMULATOR_WORLD_H
#define HALYARD_TESTS_EMULATOR_WORLD_H

/** \file
 * What the emulated driver knows: devices, contexts, modules, streams, pools. */

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "lowering/cuda/emulator/launch.h"
#include "memory.h"

namespace halyard::emulator::driver {

using emulator::Launch;
using emulator::Region;

enum Result {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNotInitialized = 3,
    kNoDevice = 100,
    kInvalidDevice = 101,
    kInvalidImage = 200,
    kInvalidContext = 201,
    kNoBinaryForGpu = 209,
    kUnsupportedPtx = 222,
    kInvalidHandle = 400,
    kNotFound = 500,
    kIllegalAddress = 700,
    kOutOfResources = 701,
    kLaunchFailed = 719,
    kNotSupported = 801,
    kCaptureUnsupported = 900,
    kCaptureInvalidated = 901,
    kCaptureImplicit = 906,
};

constexpr int kMaxDevices = 8;

struct Context {
    int device;
    bool primary;
    int holders = 0;
    int sticky = kSuccess;  // an error in a kernel stays
};

struct Module {
    Context *context;
    void *library;
};

struct Function {
    Module *module;
    std::string name;
    int (*entry)(const Launch *);
    int max_dynamic_shared = 48 * 1024;
};

struct Stream {
    Context *context;
    bool capturing = false, invalid = false;
    int mode = 0, nodes = 0;
};

struct Pool {
    int device;
    uint64_t threshold = 0;
    bool destroyed = false;
};

// All of the driver, under one lock. A kernel runs under it too: on its device it is alone.
struct World {
    std::recursive_mutex mutex;
    bool initialised = false;
    DeviceMemory memory[kMaxDevices];
    Context primary[kMaxDevices];
    std::set<Context *> contexts;
    std::set<Module *> modules;
    std::map<Function *, std::unique_ptr<Function>> functions;
    std::set<Stream *> streams;
    std::set<Pool *> pools;
    std::map<std::string, int> settings, counts;
    char *stacks = nullptr;

    World();
};

World &world();

/** Of this thread: its contexts, its last error in a kernel, and how it captures (0 global, 1 its own captures, 2 relaxed). */
extern thread_local std::vector<Context *> &stack;
extern thread_local char last_error[1024];
extern thread_local int capture_mode;

/** Of shared memory a block may have, in bytes. */
int max_shared();

int devices();

/** Counts down to the failure that a test has asked for. */
bool fails_now(const char *what);

Context *current();

/** What a device forbids while somebody captures, lest it ends up in the graph or waits for it. */
int unsafe_now();

Stream *as_stream(void *s);

/** Whether work on the stream is captured. The default stream waits for all others, which one that
 * is being captured cannot. */
int enter_stream(void *handle, bool *captured);

bool find_region(uint64_t address, Region *region);

/** `bytes` of device memory for the host, null where they are not in one allocation. */
char *bytes_at(uint64_t address, uint64_t bytes);

int allocate(uint64_t *pointer, size_t bytes, int device, void *owner, bool captured);
int free_memory(uint64_t pointer);

void unload_module(Module *m);

}  // namespace halyard::emulator::driver

// Every function holds the lock; all but a few want cuInit() before them.
#define LOCK                                                                                                                               \
    World &w = world();                                                                                                                    \
    const std::lock_guard<std::recursive_mutex> lock(w.mutex)
#define ENTER                                                                                                                              \
    LOCK;                                                                                                                                  \
    if (!w.initialised) {                                                                                                                  \
        return kNotInitialized;                                                                                                            \
    }
#define ENTER_CONTEXT                                                                                                                      \
    ENTER                                                                                                                                  \
    if (!current()) {                                                                                                                      \
        return kInvalidContext;                                                                                                            \
    }

#endif
