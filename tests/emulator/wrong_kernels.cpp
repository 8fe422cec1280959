// Kernels with one fault each.
#include "device/device.h"

// Thread t reads what thread t + 1 has written.
extern "C" __global__ void no_barrier(global<int> y) {
    const shared<int> s = shared_array<int>(64, 64);
    s[threadIdx.x] = int(threadIdx.x);
    y[threadIdx.x] = s[(threadIdx.x + 1) % 64];
}
HALYARD_KERNEL(no_barrier)

// The second round overwrites what another thread may still read.
extern "C" __global__ void no_barrier_after_read(global<int> y) {
    const shared<int> s = shared_array<int>(0, 64);
    for (int i = 0; i < 2; i++) {
        s[threadIdx.x] = int(threadIdx.x) + i;
        __syncthreads();
        y[threadIdx.x] = s[(threadIdx.x + 40) % 64];
    }
}
HALYARD_KERNEL(no_barrier_after_read)

// A barrier of the warp does not order other warps.
extern "C" __global__ void barrier_of_the_warp(global<int> y) {
    const shared<int> s = shared_array<int>(0, 64);
    s[threadIdx.x] = int(threadIdx.x);
    __syncwarp();
    y[threadIdx.x] = s[threadIdx.x ^ 32];
}
HALYARD_KERNEL(barrier_of_the_warp)

extern "C" __global__ void two_write(global<int> y) {
    const shared<int> s = shared_array<int>(0, 1);
    s[0] = int(threadIdx.x);
    __syncthreads();
    y[threadIdx.x] = s[0];
}
HALYARD_KERNEL(two_write)

extern "C" __global__ void not_written(global<int> y) {
    const shared<int> s = shared_array<int>(0, 64);
    if (threadIdx.x != 7) {
        s[threadIdx.x] = 1;
    }
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x];
}
HALYARD_KERNEL(not_written)

// Shared memory is new for each block.
extern "C" __global__ void from_the_block_before(global<int> y) {
    const shared<int> s = shared_array<int>(0, 64);
    if (blockIdx.x == 0) {
        s[threadIdx.x] = 1;
    }
    y[threadIdx.x] = s[threadIdx.x];
}
HALYARD_KERNEL(from_the_block_before)

extern "C" __global__ void outside_global(global<int> y, global<const int> x) {
    y[threadIdx.x] = x[int(threadIdx.x) - 3];
}
HALYARD_KERNEL(outside_global, "y, x")

extern "C" __global__ void vector_over_the_end(global<float> y) {
    store(y + threadIdx.x * 4, broadcast<4>(1.0f));
}
HALYARD_KERNEL(vector_over_the_end)

extern "C" __global__ void outside_shared(global<int> y) {
    const shared<int> s = shared_array<int>(16, 64);
    s[threadIdx.x + 1] = 1;
    y[threadIdx.x] = 1;
}
HALYARD_KERNEL(outside_shared)

extern "C" __global__ void misaligned(global<float> y, global<const float> x) {
    store(y, load<4>(x + 2));
}
HALYARD_KERNEL(misaligned)

extern "C" __global__ void misaligned_shared(global<float> y) {
    const shared<float> s = shared_array<float>(0, 64);
    store(s + 1, broadcast<2>(1.0f));
    y[0] = s[1];
}
HALYARD_KERNEL(misaligned_shared)

extern "C" __global__ void ends_early(global<int> y) {
    if (threadIdx.x == 5) {
        return;
    }
    __syncthreads();
    y[threadIdx.x] = 1;
}
HALYARD_KERNEL(ends_early)

extern "C" __global__ void barriers_differ(global<int> y) {
    if (threadIdx.x < 32) {
        __syncthreads();
    }
    y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1);
}
HALYARD_KERNEL(barriers_differ)

// As many barriers for each thread, but not the same ones.
extern "C" __global__ void two_barriers(global<int> y) {
    const int first = threadIdx.x < 40 ? 1 : 2;
    for (int i = 0; i < first; i++) {
        __syncthreads();
    }
    for (int i = first; i < 3; i++) {
        __syncthreads();
    }
    y[threadIdx.x] = 1;
}
HALYARD_KERNEL(two_barriers)

extern "C" __global__ void two_reductions(global<int> y) {
    const shared<int> s = shared_array<int>(0, 2);
    int sum;
    if (threadIdx.x < 32) {
        sum = reduce_threads<add, 64>(1, s);
    } else {
        sum = reduce_threads<add, 64>(2, s);
    }
    y[threadIdx.x] = sum;
}
HALYARD_KERNEL(two_reductions)

extern "C" __global__ void lane_missing(global<int> y) {
    if (threadIdx.x % 32 != 3) {
        y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1);
    }
}
HALYARD_KERNEL(lane_missing)

extern "C" __global__ void lane_not_in_mask(global<int> y) {
    y[threadIdx.x] = __shfl_down_sync(0x7u, 1, 1);
}
HALYARD_KERNEL(lane_not_in_mask)

extern "C" __global__ void no_wait(global<float> y, global<const float> x) {
    const shared<float> s = shared_array<float>(0, 256);
    copy_async<16>(s + threadIdx.x * 4, x + threadIdx.x * 4);
    copy_async_commit();
    __syncthreads();
    store(y + threadIdx.x * 4, load<4>(s + threadIdx.x * 4));
}
HALYARD_KERNEL(no_wait)

// The group of this tile is the last one: waiting for all but one is one too few.
extern "C" __global__ void waits_for_too_few(global<float> y, global<const float> x) {
    const shared<float> s = shared_array<float>(0, 256);
    copy_async<16>(s + threadIdx.x * 4, x + threadIdx.x * 4);
    copy_async_commit();
    copy_async_wait<1>();
    __syncthreads();
    store(y + threadIdx.x * 4, load<4>(s + threadIdx.x * 4));
}
HALYARD_KERNEL(waits_for_too_few)

// Each thread waits for its own copies; those of others want a barrier besides.
extern "C" __global__ void no_barrier_after_wait(global<float> y, global<const float> x) {
    const shared<float> s = shared_array<float>(0, 256);
    copy_async<16>(s + threadIdx.x * 4, x + threadIdx.x * 4);
    copy_async_commit();
    copy_async_wait<0>();
    const int other = (threadIdx.x + 63) % 64;
    store(y + other * 4, load<4>(s + other * 4));
}
HALYARD_KERNEL(no_barrier_after_wait)

extern "C" __global__ void half_atomic(global<int> y) {
    const shared<int> s = shared_array<int>(0, 1);
    if (threadIdx.x == 0) {
        s[0] = 0;
    }
    __syncthreads();
    atomicAdd(s, 1);
    y[threadIdx.x] = s[0];
}
HALYARD_KERNEL(half_atomic)

// Beside rows of 10 elements that are 16 apart, three of them.
extern "C" __global__ void beside_rows(global<float> y, global<const float> x, int how) {
    switch (how) {
    case 0: store(y + 16, load<4>(x + 8)); break;  // a load may read over a gap
    case 1: y[10] = 1; break;
    case 2: store(y + 24, broadcast<4>(1.0f)); break;
    case 3: atomicAdd(y + 42, 1.0f); break;
    case 4: store(y, load<4>(x + 40)); break;
    case 5: scatter(y, vec<int, 2>{9, 27}, broadcast<2>(1.0f)); break;
    }
}
HALYARD_KERNEL(beside_rows, "y, x, how")
