// The driver's modules and kernels. A module is a shared object.

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "arguments.h"
#include "driver.h"
#include "world.h"

using namespace halyard::emulator::driver;

namespace {

// A shared object ends with its table of sections, or with a section.
size_t elf_size(const void *image) {
    const auto *header = static_cast<const Elf64_Ehdr *>(image);
    size_t end = header->e_shoff + size_t(header->e_shnum) * header->e_shentsize;
    const auto *sections = reinterpret_cast<const Elf64_Shdr *>(static_cast<const char *>(image) + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_NOBITS) {
            end = std::max(end, size_t(sections[i].sh_offset + sections[i].sh_size));
        }
    }
    return end;
}

// The file is in the folder that a confined process may write, and has no name once it is loaded.
int load_module(const void *image, Module **module) {
    const char *folder = getenv("TMPDIR");
    std::string path = std::string(folder && *folder ? folder : "/tmp") + "/halyard-kernels-XXXXXX";
    const int file = mkostemp(path.data(), O_CLOEXEC);
    if (file < 0) {
        fprintf(stderr, "emulated driver: %s: %s\n", path.c_str(), strerror(errno));
        return kOutOfMemory;
    }
    const size_t size = elf_size(image);
    const bool written = write(file, image, size) == ssize_t(size);
    close(file);
    void *library = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    unlink(path.c_str());
    if (!library) {
        fprintf(stderr, "emulated driver: %s\n", written ? dlerror() : strerror(ENOSPC));
        return written ? kInvalidImage : kOutOfMemory;
    }
    *module = new Module{current(), library};
    world().modules.insert(*module);
    return kSuccess;
}

// Of the next launch of this thread, by parameter. Never destroyed: programs call the driver in their last destructors.
thread_local auto &arguments = *new std::vector<std::optional<ElementsOfBuffer>>;

const ElementsOfBuffer *argument(int parameter) {
    const bool known = size_t(parameter) < arguments.size() && arguments[size_t(parameter)];
    return known ? &*arguments[size_t(parameter)] : nullptr;
}

int span(int parameter, int64_t *begin, int64_t *end, int *gaps) {
    const ElementsOfBuffer *elements = argument(parameter);
    if (!elements) {
        return 0;
    }
    *begin = elements->begin();
    *end = elements->end();
    *gaps = elements->has_gaps();
    return 1;
}

int holds(int parameter, int64_t offset, int bytes, char *place, uint64_t place_bytes) {
    const ElementsOfBuffer *elements = argument(parameter);
    if (!elements || elements->holds(offset, bytes)) {
        return 1;
    }
    int64_t first = offset;
    while (first < offset + bytes && elements->holds(first, 1)) {
        first++;
    }
    snprintf(place, place_bytes, "%s", elements->place(first).c_str());
    return 0;
}

int order_of_threads() {
    const char *order = getenv("HALYARD_EMULATOR_ORDER");
    if (!order || std::string(order) == "forward") {
        return 0;
    }
    return std::string(order) == "reverse" ? -1 : std::max(1, atoi(order));
}

int run_kernel(Function *f, const unsigned *grid, const unsigned *block, unsigned shared_bytes, void **parameters) {
    constexpr size_t kStackBytes = 256 * 1024, kMaxThreads = 1024;
    World &w = world();
    if (!w.stacks) {
        w.stacks = static_cast<char *>(
            mmap(nullptr, kStackBytes * kMaxThreads, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    }
    Launch launch = {};
    for (int i = 0; i < 3; i++) {
        launch.grid[i] = int(grid[i]);
        launch.block[i] = int(block[i]);
    }
    launch.shared_bytes = int(shared_bytes);
    launch.parameters = parameters;
    launch.find = [](uint64_t address, Region *region) { return int(find_region(address, region)); };
    launch.span = span;
    launch.holds = holds;
    launch.stacks = w.stacks;
    launch.stack_bytes = kStackBytes;
    launch.order = order_of_threads();
    launch.error = last_error;
    launch.error_bytes = sizeof(last_error);
    return f->entry(&launch) ? kLaunchFailed : kSuccess;
}

}  // namespace

void halyard::emulator::driver::unload_module(Module *m) {
    World &w = world();
    for (auto f = w.functions.begin(); f != w.functions.end();) {
        f = f->second->module == m ? w.functions.erase(f) : std::next(f);
    }
    dlclose(m->library);
    w.modules.erase(m);
    delete m;
}

extern "C" {

void halyard_emulator_arguments(int count, const halide_buffer_t *const *buffers) {
    arguments.clear();
    for (int i = 0; i < count; i++) {
        arguments.emplace_back();
        if (buffers[i]) {
            arguments.back().emplace(*buffers[i]);
        }
    }
}

int cuModuleLoadData(Module **module, const void *image) {
    ENTER_CONTEXT;
    if (const int unsafe = unsafe_now()) {
        return unsafe;
    }
    if (const int code = std::exchange(w.settings["fail_load"], 0)) {
        return code;
    }
    const auto *magic = static_cast<const unsigned char *>(image);
    const bool elf = memcmp(magic, ELFMAG, SELFMAG) == 0;
    const bool for_device = elf && reinterpret_cast<const Elf64_Ehdr *>(image)->e_machine != EM_X86_64;
    const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba};
    if (for_device || memcmp(magic, fatbin, sizeof(fatbin)) == 0) {
        return kNoBinaryForGpu;
    }
    return elf ? load_module(image, module) : kInvalidImage;
}

int cuModuleLoadDataEx(Module **module, const void *image, unsigned, int *, void **) {
    return cuModuleLoadData(module, image);
}

int cuModuleUnload(Module *module) {
    ENTER_CONTEXT;
    if (!w.modules.count(module)) {
        return kInvalidHandle;
    }
    if (const int unsafe = unsafe_now()) {
        return unsafe;
    }
    unload_module(module);
    return kSuccess;
}

int cuModuleGetFunction(Function **function, Module *module, const char *name) {
    ENTER_CONTEXT;
    if (!w.modules.count(module)) {
        return kInvalidHandle;
    }
    void *entry = dlsym(module->library, (std::string("halyard_entry_") + name).c_str());
    if (!entry) {
        return kNotFound;
    }
    auto f = std::make_unique<Function>(Function{module, name, reinterpret_cast<int (*)(const Launch *)>(entry)});
    *function = f.get();
    w.functions.emplace(f.get(), std::move(f));
    return kSuccess;
}

int cuFuncGetAttribute(int *value, int attribute, Function *function) {
    ENTER;
    constexpr int kMaxThreads = 0, kPtxVersion = 5, kMaxDynamicShared = 8;
    *value = attribute == kMaxThreads         ? 1024
             : attribute == kPtxVersion       ? int(w.settings["capability"])
             : attribute == kMaxDynamicShared ? function->max_dynamic_shared
                                              : 0;
    return kSuccess;
}

int cuFuncSetAttribute(Function *function, int attribute, int value) {
    ENTER;
    if (attribute != 8 || value > max_shared()) {
        return kInvalidValue;
    }
    function->max_dynamic_shared = value;
    return kSuccess;
}

int cuLaunchKernel(Function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, void **) {
    const struct Forget {
        ~Forget() {
            arguments.clear();
        }
    } at_end;
    ENTER_CONTEXT;
    last_error[0] = '\0';
    if (!w.functions.count(function) || function->module->context != current()) {
        return kInvalidHandle;
    }
    const unsigned grid[] = {grid_x, grid_y, grid_z}, block[] = {block_x, block_y, block_z};
    const uint64_t threads = uint64_t(block_x) * block_y * block_z;
    if (!grid_x || !grid_y || !grid_z || grid_y > 65535 || grid_z > 65535 || grid_x > 0x7fffffff || threads == 0 || threads > 1024 ||
        block_z > 64 || int(shared_bytes) > function->max_dynamic_shared) {
        return kInvalidValue;
    }
    bool captured = false;
    if (const int error = enter_stream(stream, &captured)) {
        return error;
    }
    w.counts["launches"]++;
    if (captured) {
        return kSuccess;
    }
    if (fails_now("fail_launch")) {
        return current()->sticky = kIllegalAddress;
    }
    const int result = run_kernel(function, grid, block, shared_bytes, parameters);
    if (result) {
        current()->sticky = result;
    }
    return result;
}

struct LaunchAttribute {
    int id, padding;
    int value[16];
};

struct LaunchConfig {
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    const LaunchAttribute *attributes;
    unsigned attribute_count;
};

/** Kernels that may begin before the last one has ended are only counted: here it has. */
int cuLaunchKernelEx(const LaunchConfig *c, Function *function, void **parameters, void **extra) {
    constexpr int kProgrammaticSerialization = 6;
    LOCK;
    for (unsigned i = 0; i < c->attribute_count; i++) {
        if (c->attributes[i].id != kProgrammaticSerialization || w.settings["capability"] < 90) {
            return kNotSupported;
        }
    }
    w.counts["beside"] += int(c->attribute_count);
    return cuLaunchKernel(function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared_bytes, c->stream,
                          parameters, extra);
}

}  // extern "C"
