#ifndef HALYARD_EMULATOR_HOPPER_H
#define HALYARD_EMULATOR_HOPPER_H

/** \file
 * What kernels for sm_90a stand on (see ../hopper.h): barriers in shared memory, TMA, the tensor cores.
 * Beside what emulator.h finds, errors are: waits that nobody ends, with who waits for what; shared memory that is
 * touched while TMA or the tensor cores are at work there, or before who touches it has waited; stores
 * that no fence has made visible to them; reads that no fence keeps from seeing what TMA writes next; sums that are read too early; work
 * that is not waited for.
 */

#pragma GCC visibility push(hidden)

#include "clusters.h"
#include "tensor_cores.h"

namespace halyard {
namespace emulator {

template<>
struct Parameter<tensor_map> {
    static tensor_map read(void *place, int index) {
        tensor_map map;
        memcpy(&map, place, sizeof(map));
        map.parameter = uint8_t(index);
        return map;
    }
};

inline void begin_block_of_extension() {
    constexpr int kRegisters = 65536;  // of a multiprocessor, which the block is alone on
    for (int i = 0; i < mbarrier_count; i++) {
        for (unsigned k = mbarriers[i].at; k < mbarriers[i].at + 8; k++) {
            state.cells[k].state = kPlain;
        }
    }
    mbarrier_count = 0;
    for (NamedBarrier &b : named_barriers) {
        b.count = b.arrived = 0;
        if (b.told) {
            memset(b.told, 0, size_t(state.columns) * sizeof(uint32_t));
        }
    }
    for (int i = 0; i <= state.launch->shared_bytes / int(kChunk); i++) {
        uint32_t *const reads = state.chunks[i].reads;
        state.chunks[i] = {};
        state.chunks[i].reads = reads;
    }
    int registers = kRegisters / state.thread_count / 8 * 8;
    registers = registers > 255 ? 255 : registers;
    free_registers = 0;
    for (int t = 0; t < state.thread_count; t++) {
        AsyncThread &a = async_threads[t];
        a.groups = a.groups_waited = 0;
        a.open_group = false;
        memset(knowledge(t) + state.thread_count, 0, kAgents * sizeof(uint32_t));
        a.registers = registers;
        received[t].any = false;
    }
    begin_block_of_cluster();
}

/** What the agents have done is known to all whom the barrier of the block has brought together. */
inline void at_block_barrier_of_extension() {
    uint32_t *const all = knowledge(0) + state.thread_count;
    for (int t = 1; t < state.thread_count; t++) {
        for (int i = 0; i < kAgents; i++) {
            const uint32_t k = knowledge(t)[state.thread_count + i];
            all[i] = k > all[i] ? k : all[i];
        }
    }
    for (int t = 1; t < state.thread_count; t++) {
        memcpy(knowledge(t) + state.thread_count, all, kAgents * sizeof(uint32_t));
    }
}

inline bool advance_extension(bool stuck) {
    return (stuck && advance_registers()) || advance_copies(stuck);
}

inline void end_block_of_extension() {
    check_copies_done();
    if (!state.failed) {
        check_products_done();
    }
    if (!state.failed) {
        check_cluster_done();
    }
}

inline void end_extension() {
    for (int i = 0; i <= state.launch->shared_bytes / int(kChunk); i++) {
        free(state.chunks[i].reads);
    }
    free(state.chunks);
    free(state.clocks);
    for (Mbarrier &b : mbarriers) {
        free(b.told);
        b = {};
    }
    for (NamedBarrier &b : named_barriers) {
        free(b.told);
        b = {};
    }
    mbarrier_count = 0;
    forget_clusters();
    loads.release();
    stores.release();
    memset(async_threads, 0, sizeof(async_threads));
}

inline void describe_wait(const Thread &t, char *text, int size) {
    if (t.operation == kMbarrierWait) {
        const Mbarrier &m = mbarriers[t.object];
        snprintf(text, size_t(size),
                 "wait for parity %d of the barrier at byte %u (in phase %u: %d of %d arrivals and %lld bytes are missing)", int(t.value),
                 m.at, m.phases, m.missing, m.count, (long long)m.bytes);
    } else if (t.operation == kNamedBarrierWait) {
        const NamedBarrier &b = named_barriers[t.object];
        snprintf(text, size_t(size), "wait at the barrier %d, where %d of %d threads are", t.object, b.arrived, b.count);
    } else if (t.operation == kRegistersMore) {
        snprintf(text, size_t(size), "wait for %d registers each, or for others of the warpgroup; %d are free",
                 *static_cast<int *>(t.argument), free_registers);
    } else {
        snprintf(text, size_t(size), "wait at %s for others", t.operation);
    }
}

inline void begin_extension() {
    static const Extension extension = {
        begin_block_of_extension, at_block_barrier_of_extension, advance_extension, end_block_of_extension, end_extension, describe_wait};
    if (state.extension) {
        return;
    }
    if (!state.all_know_all) {
        know_all();
    }
    state.extension = &extension;
    state.chunks = static_cast<Chunk *>(calloc(size_t(state.launch->shared_bytes) / kChunk + 1, sizeof(Chunk)));
    memset(async_threads, 0, sizeof(async_threads));
    begin_block_of_extension();
}

}  // namespace emulator
}  // namespace halyard

#pragma GCC visibility pop

#endif
