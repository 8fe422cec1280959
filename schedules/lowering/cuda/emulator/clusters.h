#ifndef HALYARD_EMULATOR_CLUSTERS_H
#define HALYARD_EMULATOR_CLUSTERS_H

/** \file
 * Clusters: blocks that read each other's shared memory. They run one after the other, the first of them last; what it reads
 * is what was there when the others came to the barrier of the cluster. So only the first may read, and errors are: reads of
 * a block that has not been met since it wrote, barriers that not all blocks come by, and a block that others may still read
 * when it ends.
 */

#include "barriers.h"

namespace halyard {
namespace emulator {

constexpr int kMaxCluster = 8, kMaxMeetings = 4, kClusterBarrier = 15;

struct ClusterBlock {
    int meetings;                // at the barrier of the cluster
    char *memory[kMaxMeetings];  // then
};
inline ClusterBlock cluster_blocks[kMaxCluster];
inline int cluster_meetings[kMaxThreads];  // of each thread of the block
inline int cluster_last_read;              // after how many meetings the first block read of others

inline int rank_in_cluster() {
    return int(blockIdx.x % unsigned(state.cluster));
}

inline void begin_block_of_cluster() {
    memset(cluster_meetings, 0, sizeof(cluster_meetings));
    cluster_blocks[rank_in_cluster()].meetings = 0;
    cluster_last_read = 0;
}

inline void check_cluster_done() {
    const int rank = rank_in_cluster(), meetings = cluster_blocks[rank].meetings;
    for (int r = rank + 1; r < state.cluster; r++) {
        if (cluster_blocks[r].meetings != meetings) {
            report("ends after %d barriers of its cluster, and block %d of the cluster after %d", meetings, r, cluster_blocks[r].meetings);
            return;
        }
    }
    if (cluster_last_read > 0 && cluster_last_read == meetings) {
        report("reads shared memory of another block of its cluster, which may have ended: a cluster_barrier has to follow");
    }
}

inline void forget_clusters() {
    for (ClusterBlock &b : cluster_blocks) {
        for (char *&m : b.memory) {
            free(m);
            m = nullptr;
        }
        b.meetings = 0;
    }
}

}  // namespace emulator

inline int cluster_rank() {
    emulator::begin_extension();
    return emulator::rank_in_cluster();
}

template<int Threads>
void cluster_barrier() {
    using namespace emulator;
    named_barrier(kClusterBarrier, Threads, true);
    ClusterBlock &b = cluster_blocks[rank_in_cluster()];
    const int met = ++cluster_meetings[state.current->number];
    if (met <= b.meetings) {
        return;
    }
    if (met > kMaxMeetings) {
        fail("comes to more than %d barriers of its cluster, which the emulator does not keep apart", kMaxMeetings);
    }
    const size_t bytes = size_t(state.launch->shared_bytes);
    char *&copy = b.memory[met - 1];
    copy = copy ? copy : static_cast<char *>(malloc(bytes));
    memcpy(copy, state.shared_memory, bytes);
    b.meetings = met;
}

template<class T>
void cluster_load(T *to, const shared<T> &from, int rank) {
    using namespace emulator;
    static_assert(sizeof(T) == 4, "loads four elements of 4 bytes");
    const SharedAccess a = from.access(16, 16);
    const int met = cluster_meetings[state.current->number];
    if (rank <= 0 || rank >= state.cluster || rank_in_cluster() != 0) {
        fail("block %d of a cluster of %d reads shared memory of block %d; here only the first reads that of others", rank_in_cluster(),
             state.cluster, rank);
    }
    if (met == 0 || cluster_blocks[rank].meetings < met) {
        fail_shared(a, "reads of another block of its cluster", -1, ", with no cluster_barrier since that has written");
    }
    cluster_last_read = met;
    memcpy(to, cluster_blocks[rank].memory[met - 1] + a.at, 16);
}

}  // namespace halyard

#endif
