#ifndef HALYARD_EMULATOR_ENTRY_H
#define HALYARD_EMULATOR_ENTRY_H

/** \file
 * The entry of a kernel: its parameters, as the driver passes them, and all blocks of the launch.
 */

#include "clocks.h"
#include "global.h"
#include "shared.h"

namespace halyard {

namespace emulator {

inline void prepare(const Launch *l, const char *kernel) {
    state.launch = l;
    state.kernel = kernel;
    state.failed = 0;
    state.current = nullptr;
    state.extension = nullptr;
    state.chunks = nullptr;
    gridDim = {unsigned(l->grid[0]), unsigned(l->grid[1]), unsigned(l->grid[2])};
    blockDim = {unsigned(l->block[0]), unsigned(l->block[1]), unsigned(l->block[2])};
    blockIdx = {0, 0, 0};
    state.thread_count = l->block[0] * l->block[1] * l->block[2];
    for (int i = 0; i < state.thread_count; i++) {
        Thread &t = state.threads[i];
        t.number = i;
        t.warp = i / kWarp;
        t.lane = i % kWarp;
        t.index = {unsigned(i) % blockDim.x, unsigned(i) / blockDim.x % blockDim.y, unsigned(i) / blockDim.x / blockDim.y};
        state.order[i] = l->order < 0 ? state.thread_count - 1 - i : i;
    }
    forget_all();
    state.shared_memory = static_cast<char *>(aligned_alloc(1024, (l->shared_bytes + 1024) / 1024 * 1024));
    state.cells = static_cast<Cell *>(calloc(l->shared_bytes + 1, sizeof(Cell)));
}

inline void clean_up() {
    if (state.extension) {
        state.extension->end();
    }
    free(state.shared_memory);
    free(state.cells);
    for (int i = 0; i < state.thread_count; i++) {
        free(state.threads[i].copies);
        state.threads[i].copies = nullptr;
        state.threads[i].copies_room = 0;
    }
}

template<class T>
struct Parameter {
    static T read(void *place, int) {
        T value;
        memcpy(&value, place, sizeof(T));
        return value;
    }
};
template<class T>
struct Parameter<global<T>> {
    static global<T> read(void *place, int index) {
        uint64_t address = 0;
        memcpy(&address, place, sizeof(address));
        Array &a = state.arrays[index];
        name_parameter(a.name, sizeof(a.name), index);
        Region region = {};
        // The launcher passes no buffer without memory, but a counter that is not needed is null.
        if (address != 0 && !state.launch->find(address, &region)) {
            report("%s is 0x%llx, which is in no allocation of the device", a.name, (unsigned long long)address);
        }
        bound(a, region, address, index);
        return {&a, a.start};
    }
};

template<class... P>
struct Arguments {
    Arguments(void **, int) {}
    template<class F, class... A>
    void call(F f, const A &...a) const {
        f(a...);
    }
};
template<class First, class... Rest>
struct Arguments<First, Rest...> {
    First first;
    Arguments<Rest...> rest;
    Arguments(void **places, int index) : first(Parameter<First>::read(places[index], index)), rest(places, index + 1) {}
    template<class F, class... A>
    void call(F f, const A &...a) const {
        rest.call(f, a..., first);
    }
};

template<class... P>
struct Call {
    void (*kernel)(P...);
    Arguments<P...> arguments;
};

template<class... P>
int run(const Launch *launch, const char *name, const char *parameter_names, void (*kernel)(P...), int cluster = 1) {
    prepare(launch, name);
    state.cluster = cluster;
    if (gridDim.x % unsigned(cluster)) {
        report("is launched with %u blocks, which are no whole clusters of %d", gridDim.x, cluster);
    }
    state.parameter_names = parameter_names;
    Call<P...> call = {kernel, Arguments<P...>(launch->parameters, 0)};
    state.arguments = &call;
    state.body = [](void *c) {
        auto *call = static_cast<Call<P...> *>(c);
        call->arguments.call(call->kernel);
    };
    if (!state.failed) {
        run_grid();
    }
    clean_up();
    return state.failed;
}

}  // namespace emulator

}  // namespace halyard

/** After a kernel: what the driver looks for. The names of the parameters, as "y, x, n", may follow, for messages. */
#define HALYARD_KERNEL(NAME, ...)                                                                                                          \
    extern "C" __attribute__((visibility("default"))) int halyard_entry_##NAME(const emulator::Launch *launch) {                           \
        return emulator::run(launch, #NAME, "" __VA_ARGS__, NAME);                                                                         \
    }

/** The same of one whose blocks run together, so many at a time. */
#define HALYARD_KERNEL_OF_CLUSTER(BLOCKS, NAME, ...)                                                                                       \
    extern "C" __attribute__((visibility("default"))) int halyard_entry_##NAME(const emulator::Launch *launch) {                           \
        return emulator::run(launch, #NAME, "" __VA_ARGS__, NAME, BLOCKS);                                                                 \
    }

#endif
