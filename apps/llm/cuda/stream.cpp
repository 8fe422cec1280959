#include "stream.h"

#include <algorithm>
#include <chrono>

#include "driver.h"

namespace halyard_llm {

namespace {

using halyard_apps::check_cuda;

// Of CUresult, CUstream_flags and CUstreamCaptureMode.
constexpr int kNotSupported = 801, kNonBlocking = 1, kThreadLocal = 1;

}  // namespace

uint64_t free_memory() {
    const InContext context;
    size_t unused = 0, all = 0;
    check_driver(call_driver("cuMemGetInfo_v2", &unused, &all), "the memory of the GPU");
    return unused;
}

double copy_rate(uint64_t from, uint64_t to, size_t bytes) {
    const InContext context;
    CUstream_st *const stream = halyard_cuda_stream();
    constexpr int kTimes = 10;
    double best = 0;
    for (int i = 0; i < kTimes; i++) {
        check_cuda(halyard_cuda_synchronize(), "a copy on the GPU");
        const auto begin = std::chrono::steady_clock::now();
        for (int j = 0; j < kTimes; j++) {  // so that the first one's way to the device does not count for much
            check_driver(call_driver("cuMemcpyDtoDAsync_v2", to, from, bytes, stream), "a copy on the GPU");
        }
        check_cuda(halyard_cuda_synchronize(), "a copy on the GPU");
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        best = std::max(best, 2.0 * kTimes * double(bytes) / seconds.count());
    }
    return best;
}

void copy_on_device(uint64_t to, uint64_t from, size_t bytes) {
    const InContext context;
    check_driver(call_driver("cuMemcpyDtoDAsync_v2", to, from, bytes, halyard_cuda_stream()), "a copy on the GPU");
}

void download(void *to, uint64_t from, size_t bytes) {
    const InContext context;
    check_driver(call_driver("cuMemcpyDtoHAsync_v2", to, from, bytes, halyard_cuda_stream()), "computing on the GPU");
    check_cuda(halyard_cuda_synchronize(), "computing on the GPU");
}

Stream::Stream() {
    const InContext context;
    check_driver(call_driver("cuStreamCreate", &stream_, kNonBlocking), "a stream of the GPU");
}

Stream::~Stream() {
    call_driver("cuStreamDestroy_v2", stream_);
}

Stream::Used::Used(const Stream &stream) : before_(halyard_cuda_stream()) {
    halyard_cuda_set_stream(stream.handle());
    if (const int code = halyard_cuda_enter(&pushed_)) {
        halyard_cuda_set_stream(before_);
        check_cuda(code, "the GPU");
    }
}

Stream::Used::~Used() {
    halyard_cuda_leave(pushed_);
    halyard_cuda_set_stream(before_);
}

std::unique_ptr<Graph> Graph::of(const Stream &stream, const std::function<void()> &queue) {
    const InContext context;
    void *graph = nullptr, *executable = nullptr;
    check_driver(call_driver("cuStreamBeginCapture_v2", stream.handle(), kThreadLocal), "a graph of the GPU");
    try {
        queue();
    } catch (...) {
        call_driver("cuStreamEndCapture", stream.handle(), &graph);
        throw;
    }
    check_driver(call_driver("cuStreamEndCapture", stream.handle(), &graph), "a graph of the GPU");
    const int made = call_driver("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);
    call_driver("cuGraphDestroy", graph);
    if (made == kNotSupported) {
        return nullptr;
    }
    check_driver(made, "a graph of the GPU");
    return std::unique_ptr<Graph>(new Graph(executable));
}

Graph::~Graph() {
    call_driver("cuGraphExecDestroy", executable_);
}

void Graph::launch(const Stream &stream) const {
    const InContext context;
    check_driver(call_driver("cuGraphLaunch", executable_, stream.handle()), "a token on the GPU");
}

}  // namespace halyard_llm
