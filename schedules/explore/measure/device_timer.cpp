#include "explore/measure/device_timer.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/gpu.h"

namespace halyard::explore {

namespace {

using Clock = std::chrono::steady_clock;
using Pointer = unsigned long long;

// Together several times the L2 (50 MiB on H100 and H200), whatever else is in it.
constexpr size_t kBytesOfSets = size_t(256) << 20;
constexpr size_t kLeastSets = 2, kMostSets = 24;
constexpr int kRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED: a library loads its module in its first call
constexpr size_t kLeastTurns = 7;

// Samples of a device differ less than those of a host, and its clock falls under long work.
const std::vector<Round> kRounds = {{0, 3, 2}, {0.01, 5, 1.25}, {0.04, 7, 1.08}, {0.12, 9, 0}};

// NVIDIA's driver API, as far as timing takes it.
struct Driver {
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*primary_retain)(void **, int);
    int (*context_set)(void *);
    int (*alloc)(Pointer *, size_t);
    int (*free)(Pointer);
    int (*to_device)(Pointer, const void *, size_t);
    int (*to_host)(void *, Pointer, size_t);
    int (*on_device)(Pointer, Pointer, size_t);
    int (*stream_create)(void **, unsigned);
    int (*stream_synchronize)(void *);
    int (*event_create)(void **, unsigned);
    int (*event_record)(void *, void *);
    int (*event_synchronize)(void *);
    int (*event_elapsed)(float *, void *, void *);
    int (*event_destroy)(void *);
    // Null where the driver has none.
    int (*capture_begin)(void *, int);
    int (*capture_end)(void *, void **);
    int (*graph_instantiate)(void **, void *, unsigned long long);
    int (*graph_launch)(void *, void *);
    int (*graph_destroy)(void *);
    int (*exec_destroy)(void *);
    int (*error_name)(int, const char **);
};

template<typename F>
void find(F &function, const char *name, bool needed = true) {
    function = reinterpret_cast<F>(cuda_function(name));
    if (needed && !function) {
        throw Failure(fmt::format("there is no CUDA device here: the driver has no {}", name));
    }
}

const Driver &driver() {
    static const Driver found = [] {
        Driver d = {};
        find(d.init, "cuInit");
        find(d.device_get, "cuDeviceGet");
        find(d.primary_retain, "cuDevicePrimaryCtxRetain");
        find(d.context_set, "cuCtxSetCurrent");
        find(d.alloc, "cuMemAlloc_v2");
        find(d.free, "cuMemFree_v2");
        find(d.to_device, "cuMemcpyHtoD_v2");
        find(d.to_host, "cuMemcpyDtoH_v2");
        find(d.on_device, "cuMemcpyDtoD_v2");
        find(d.stream_create, "cuStreamCreate");
        find(d.stream_synchronize, "cuStreamSynchronize");
        find(d.event_create, "cuEventCreate");
        find(d.event_record, "cuEventRecord");
        find(d.event_synchronize, "cuEventSynchronize");
        find(d.event_elapsed, "cuEventElapsedTime");
        find(d.event_destroy, "cuEventDestroy_v2");
        find(d.error_name, "cuGetErrorName");
        find(d.capture_begin, "cuStreamBeginCapture_v2", false);
        find(d.capture_end, "cuStreamEndCapture", false);
        find(d.graph_instantiate, "cuGraphInstantiateWithFlags", false);
        find(d.graph_launch, "cuGraphLaunch", false);
        find(d.graph_destroy, "cuGraphDestroy", false);
        find(d.exec_destroy, "cuGraphExecDestroy", false);
        return d;
    }();
    return found;
}

void check(int result, const char *what) {
    if (result == 0) {
        return;
    }
    constexpr int kOutOfMemory = 2;
    const char *name = nullptr;
    driver().error_name(result, &name);
    throw Failure(fmt::format("{}: {}{}", what, name ? name : std::to_string(result), result == kOutOfMemory ? " (out of memory)" : ""));
}

// All kernels of the process use one stream of the primary context.
void *shared_stream() {
    static void *const stream = [] {
        const Driver &d = driver();
        int device = 0;
        void *context = nullptr, *made = nullptr;
        constexpr unsigned kNonBlocking = 1;
        check(d.init(0), "no CUDA device can be used");
        check(d.device_get(&device, 0), "no CUDA device can be used");
        check(d.primary_retain(&context, device), "no context on the device");
        check(d.context_set(context), "no context on the device");
        check(d.stream_create(&made, kNonBlocking), "no stream on the device");
        return made;
    }();
    return stream;
}

class Event {
public:
    Event() {
        check(driver().event_create(&event_, 0), "no event on the device");
    }
    ~Event() {
        driver().event_destroy(event_);
    }
    Event(const Event &) = delete;
    Event &operator=(const Event &) = delete;

    void record(void *stream) {
        check(driver().event_record(event_, stream), "an event cannot be recorded");
    }
    double seconds_since(const Event &begin) {
        float milliseconds = 0;
        check(driver().event_synchronize(event_), "a kernel failed on the device");
        check(driver().event_elapsed(&milliseconds, begin.event_, event_), "a kernel failed on the device");
        return double(milliseconds) * 1e-3;
    }

private:
    void *event_ = nullptr;
};

}  // namespace

struct DeviceCalls::Implementation {
    Implementation(const CompiledKernel &k, KernelArguments &a) : kernel(k), arguments(a), stream(shared_stream()) {
        use_stream();
        make_sets(std::clamp(kBytesOfSets / std::max<size_t>(arguments.bytes(), 1) + 1, kLeastSets, kMostSets));
        call_all();  // loads the module
        wait();
        capture();
    }

    ~Implementation() {
        const Driver &d = driver();
        d.stream_synchronize(stream);
        if (exec) {
            d.exec_destroy(exec);
        }
        for (const auto &p : pointers) {
            d.free(p);
        }
    }

    // The runtime of each kernel is its own.
    void use_stream() const {
        reinterpret_cast<void (*)(void *)>(kernel.library_function("halyard_cuda_set_stream"))(stream);
    }

    void wait() {
        const int code = reinterpret_cast<int (*)()>(kernel.library_function("halyard_cuda_synchronize"))();
        if (code != 0 && result.ok()) {
            result = kernel.error(code);
        }
    }

    void make_sets(size_t count) {
        const Driver &d = driver();
        const auto wrap = reinterpret_cast<int (*)(halide_buffer_t *, const void *)>(kernel.library_function("halyard_cuda_wrap"));
        const std::vector<void *> host = arguments.addresses();
        const auto own = arguments.buffers();
        sets.resize(count);
        for (size_t s = 0; s < count; s++) {
            Set &set = sets[s];
            set.buffers.reserve(own.size());
            set.addresses = host;
            for (size_t i = 0; i < own.size(); i++) {
                Pointer p = 0;
                const size_t bytes = own[i].buffer->size_in_bytes();
                check(d.alloc(&p, std::max<size_t>(bytes, 16)), "no memory on the device");
                pointers.push_back(p);
                if (s == 0) {
                    check(d.to_device(p, own[i].buffer->host, bytes), "a copy to the device failed");
                } else {
                    check(d.on_device(p, pointers[i], bytes), "a copy on the device failed");
                }
                set.buffers.push_back(*own[i].buffer);
                halide_buffer_t &b = set.buffers.back();
                b.host = nullptr;
                b.flags = 0;
                b.device = 0;
                b.device_interface = nullptr;
                if (const int code = wrap(&b, reinterpret_cast<const void *>(p)); code != 0) {
                    throw Failure(kernel.error(code).message);
                }
                std::replace(set.addresses.begin(), set.addresses.end(), static_cast<void *>(own[i].buffer), static_cast<void *>(&b));
            }
        }
    }

    void call_all() {
        for (size_t s = 0; s < sets.size() && result.ok(); s++) {
            result = kernel.call(sets[s].addresses.data());
        }
    }

    void capture() {
        const Driver &d = driver();
        if (!d.graph_instantiate || !d.capture_begin || !d.capture_end || !result.ok()) {
            return;
        }
        void *graph = nullptr;
        if (d.capture_begin(stream, kRelaxed) != 0) {
            return;
        }
        call_all();
        const int ended = d.capture_end(stream, &graph);
        if (ended == 0 && graph && result.ok() && d.graph_instantiate(&exec, graph, 0) != 0) {
            exec = nullptr;
        }
        if (graph) {
            d.graph_destroy(graph);
        }
        result = CallResult();  // one that cannot be captured is called
    }

    double sample() {
        const auto started = Clock::now();
        use_stream();
        Event begin, end;
        begin.record(stream);
        size_t calls = sets.size();
        if (exec) {
            check(driver().graph_launch(exec, stream), "a kernel failed on the device");
        } else if (one_by_one) {
            result = kernel.call(sets[next++ % sets.size()].addresses.data());
            calls = 1;
        } else {
            call_all();
        }
        end.record(stream);
        const double seconds = end.seconds_since(begin) / double(calls);
        wait();
        constexpr double kLong = 1e-3;  // beside which what the host does counts for nothing
        one_by_one = seconds > kLong;
        used += std::chrono::duration<double>(Clock::now() - started).count();
        return seconds;
    }

    bool fetch_outputs() {
        const auto own = arguments.buffers();
        bool changed = false;
        for (size_t i = 0; i < own.size(); i++) {
            if (!own[i].is_output) {
                continue;
            }
            std::vector<uint8_t> content(own[i].buffer->size_in_bytes());
            check(driver().to_host(content.data(), pointers[i], content.size()), "a copy to the host failed");
            if (std::memcmp(content.data(), own[i].buffer->host, content.size()) != 0) {
                std::memcpy(own[i].buffer->host, content.data(), content.size());
                changed = true;
            }
        }
        return changed;
    }

    struct Set {
        std::vector<halide_buffer_t> buffers;
        std::vector<void *> addresses;
    };

    const CompiledKernel &kernel;
    KernelArguments &arguments;
    void *const stream;
    std::vector<Set> sets;
    std::vector<Pointer> pointers;  // of set 0 first, in the order of the buffers
    CallResult result;
    void *exec = nullptr;
    bool one_by_one = false;
    size_t next = 0;
    double used = 0;
};

DeviceCalls::DeviceCalls(const CompiledKernel &kernel, KernelArguments &arguments)
    : implementation_(std::make_unique<Implementation>(kernel, arguments)) {}

DeviceCalls::~DeviceCalls() = default;

double DeviceCalls::sample() {
    return implementation_->sample();
}

const CallResult &DeviceCalls::result() const {
    return implementation_->result;
}

double DeviceCalls::used() const {
    return implementation_->used;
}

bool DeviceCalls::fetch_outputs() {
    return implementation_->fetch_outputs();
}

CallTimes time_on_device(DeviceCalls &calls, double best) {
    return sample_in_rounds(calls, kRounds, best);
}

Contest time_in_turns_on_device(const std::vector<Timed> &kernels, const Timed &again, double seconds) {
    std::vector<std::unique_ptr<DeviceCalls>> all;
    std::vector<Sampler *> samplers;
    for (const Timed &t : kernels) {
        all.push_back(std::make_unique<DeviceCalls>(*t.kernel, *t.arguments));
        samplers.push_back(all.back().get());
    }
    DeviceCalls beside_itself(*again.kernel, *again.arguments);
    TurnOptions options;
    options.seconds = seconds;
    options.least_rounds = kLeastTurns;
    Contest contest = take_turns(samplers, &beside_itself, options);
    contest.busy.clear();  // what uses the host's processors does not use the device
    return contest;
}

double copy_bandwidth() {
    constexpr size_t kBytes = size_t(1) << 30;
    constexpr int kCopies = 4, kRounds = 5;
    const Driver &d = driver();
    int (*copy)(Pointer, Pointer, size_t, void *) = nullptr;
    find(copy, "cuMemcpyDtoDAsync_v2");
    void *const stream = shared_stream();
    Pointer from = 0, to = 0;
    check(d.alloc(&from, kBytes), "no memory on the device");
    check(d.alloc(&to, kBytes), "no memory on the device");
    double best = 0;
    for (int round = 0; round < kRounds; round++) {
        Event begin, end;
        begin.record(stream);
        for (int i = 0; i < kCopies; i++) {
            check(copy(to, from, kBytes, stream), "a copy on the device failed");
        }
        end.record(stream);
        best = std::max(best, 2.0 * kBytes * kCopies / end.seconds_since(begin));
    }
    d.free(from);
    d.free(to);
    return best;
}

}  // namespace halyard::explore
