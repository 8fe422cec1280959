// Kernels that do right, in the style of printed ones.
#include "device/device.h"

// y[row] = sum of a row of x: each thread takes every blockDim.x-th vector, warps meet in shared memory.
extern "C" __global__ void row_sum(global<float> y, global<const bfloat16> x, int cols) {
    const auto row = x + int64_t(blockIdx.x) * cols;
    float sum = 0.0f;
    for (int c = threadIdx.x * 8; c < cols; c += blockDim.x * 8) {
        const auto v = to<float>(load<8>(row + c));
        for (int i = 0; i < 8; i++) {
            sum += v[i];
        }
    }
    const shared<float> scratch = shared_array<float>(0, 32);
    sum = reduce_threads<add, 128>(sum, scratch);
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sum;
    }
}
HALYARD_KERNEL(row_sum)

// y = x transposed, through a tile in shared memory.
extern "C" __global__ void transpose(global<half> y, global<const half> x, int rows, int cols) {
    const shared<half> tile = shared_array<half>(0, 16 * 17);
    const int r = blockIdx.y * 16, c = blockIdx.x * 16;
    if (r + int(threadIdx.y) < rows && c + int(threadIdx.x) < cols) {
        tile[threadIdx.y * 17 + threadIdx.x] = x[(r + threadIdx.y) * cols + c + threadIdx.x];
    }
    __syncthreads();
    if (r + int(threadIdx.x) < rows && c + int(threadIdx.y) < cols) {
        y[(c + threadIdx.y) * rows + r + threadIdx.x] = tile[threadIdx.x * 17 + threadIdx.y];
    }
}
HALYARD_KERNEL(transpose)

// y = 2 x in tiles that are copied ahead by cp.async: two in flight while one is used.
extern "C" __global__ void copy_ahead(global<float> y, global<const float> x, int tiles) {
    constexpr int kStages = 3, kTile = 64 * 4;
    const shared<float> stage = shared_array<float>(0, kStages * kTile);
    const int t = threadIdx.x;
    for (int i = 0; i < kStages - 1; i++) {
        if (i < tiles) {
            copy_async<16>(stage + (i * kTile + t * 4), x + (i * kTile + t * 4));
        }
        copy_async_commit();
    }
    for (int i = 0; i < tiles; i++) {
        copy_async_wait<kStages - 2>();
        __syncthreads();
        const int ahead = i + kStages - 1;
        if (ahead < tiles) {
            copy_async<16>(stage + (ahead % kStages * kTile + t * 4), x + (ahead * kTile + t * 4));
        }
        copy_async_commit();
        // A neighbour's part, which its own thread has copied.
        const int other = (t + 1) % 64;
        const auto v = load<4>(stage + (i % kStages * kTile + other * 4));
        store(y + (i * kTile + other * 4), v + v);
    }
}
HALYARD_KERNEL(copy_ahead)

// Sums of the values before, a warp at a time; and warps that talk through shared memory on their own.
extern "C" __global__ void scan_warps(global<int> y, global<const int> x) {
    const int t = threadIdx.x, lane = t % 32;
    int sum = x[t];
    for (int d = 1; d < 32; d *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, sum, d);
        sum += lane >= d ? before : 0;
    }
    const shared<int> turned = shared_array<int>(0, int(blockDim.x));
    turned[t] = sum;
    __syncwarp();
    y[t] = turned[t - lane + 31 - lane];
    if (lane < 16) {
        y[t] += 1000 * __shfl_xor_sync(0xffffu, lane, 15);
    }
}
HALYARD_KERNEL(scan_warps)

extern "C" __global__ void histogram(global<int> y, global<const uint8_t> x, int n) {
    const shared<int> bins = shared_array<int>(0, 256);
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        bins[i] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(bins + x[i], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        if (bins[i] > 0) {
            atomicAdd(y + i, int(bins[i]));
        }
    }
}
HALYARD_KERNEL(histogram)

// Each half or bfloat16 to float and back, and each float to both.
extern "C" __global__ void convert(global<float> f, global<half> h, global<bfloat16> b, global<const float> x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 65536) {
        f[i] = half_bits_to_float(uint16_t(i));
    }
    if (i < n) {
        h[i] = half(x[i]);
        b[i] = bfloat16(x[i]);
    }
}
HALYARD_KERNEL(convert)

extern "C" __global__ void ballots(global<unsigned> y) {
    const int t = threadIdx.x;
    const unsigned odd = __ballot_sync(0xffffffffu, t & 1);
    const int any = __any_sync(0xffffffffu, t == 40), all = __all_sync(0xffffffffu, t >= 32);
    y[t] = odd ^ unsigned(any) << 1 ^ unsigned(all) << 3;
}
HALYARD_KERNEL(ballots)

// The last five of 8 elements of x in registers, backwards, whose places are a vector.
extern "C" __global__ void backwards(global<float> y, global<const float> x) {
    float held[8], turned[8];
    for (int i = 0; i < 8; i++) {
        held[i] = x[i];
    }
    scatter(turned, ramp<8>(7, -1), gather(held, ramp<8>(0, 1)));
    const auto first = ramp<8>(0, 1) < broadcast<8>(5);
    scatter_if(first, y, ramp<8>(0, 1), gather_if(first, turned, ramp<8>(0, 1)));
}
HALYARD_KERNEL(backwards)
