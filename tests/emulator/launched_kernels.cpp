// Kernels for the tests of the launcher.
#include "device/device.h"

extern "C" __global__ void scale(global<float> y, global<const float> x, float a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i];
    }
}
HALYARD_KERNEL(scale)

extern "C" __global__ void take_all(global<double> out, bool c, int16_t s, uint8_t c2, int i, int64_t l, float f, double d) {
    out[0] = c;
    out[1] = s;
    out[2] = c2;
    out[3] = i;
    out[4] = double(l);
    out[5] = f;
    out[6] = d;
}
HALYARD_KERNEL(take_all)

extern "C" __global__ void fill_shared(global<int> out, int bytes) {
    auto last = shared_array<uint8_t>(bytes - 1, 1);
    last[0] = 42;
    out[0] = uint8_t(last[0]);
}
HALYARD_KERNEL(fill_shared)

extern "C" __global__ void past_the_end(global<float> y, int n) {
    y[n] = 1.0f;
}
HALYARD_KERNEL(past_the_end)

extern "C" __global__ void nothing() {}
HALYARD_KERNEL(nothing)

extern "C" __global__ void take_numbers(global<int> out, global<int> counter, int counted) {
    out[blockIdx.x] = counted ? atomicAdd(counter, 1) : -1;
}
HALYARD_KERNEL(take_numbers)
