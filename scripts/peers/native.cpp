// What scripts/bench calls by ctypes: kernels as the `halyard` command builds them, their arguments, and
// the loop that times them, so that no Python lies between two calls. Functions return nullptr (or a
// negative number) after an error; peers_error() has its text. Texts are JSON and live until the next call.

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernel/cpu.h"
#include "kernel/element.h"
#include "kernel/kernel.h"
#include "peers/multiply.h"
#include "explain/peak.h"
#include "kernel/registry.h"
#include "kernel/schedules.h"
#include "kernel/targets.h"
#include "kernel/workload.h"

namespace {

using namespace halyard;
using nlohmann::json;

std::string error, text;

template<typename T>
T guarded(T on_error, const std::function<T()> &body) {
    try {
        return body();
    } catch (const std::exception &e) {
        error = e.what();
        return on_error;
    }
}

const char *answer(const json &value) {
    text = value.dump();
    return text.c_str();
}

GenerateRequest request_of(const char *text) {
    const json r = json::parse(text);
    GenerateRequest request;
    request.op = r.at("op");
    request.schedule = r.at("schedule");
    request.set = r.at("set").get<Assignments>();
    request.params = r.at("params").get<Assignments>();
    request.emit = {"static_library", "c_header"};
    return request;
}

struct Arguments {
    KernelArguments values;
    std::vector<void *> addresses;
};

// Lays inputs and outputs out with other strides than dense ones: {"x": [1, 4160]}, in elements, innermost first.
void lay_out(KernelArguments &values, const CompiledKernel &kernel, const json &strides, uint64_t seed) {
    for (const auto &a : kernel.arguments()) {
        if (a.is_buffer && strides.contains(a.name)) {
            Layout layout(values.buffer(a.name).extents());
            layout.strides = strides.at(a.name).get<std::vector<int>>();
            HostBuffer &buffer = values.buffer(a.name, layout);
            if (!a.is_output) {
                buffer.fill_random(++seed);
            }
        }
    }
}

}  // namespace

#define PEERS_API extern "C" __attribute__((visibility("default")))

PEERS_API const char *peers_error() {
    return error.c_str();
}

// The ops of the registry: name, summary, dimensions and default shapes.
PEERS_API const char *peers_registry() {
    return guarded<const char *>(nullptr, [] {
        json ops = json::array();
        for (const auto &op : registry()) {
            ops.push_back({{"op", op.name}, {"summary", op.summary}, {"dims", op.dims}, {"shapes", op.shapes}});
        }
        return answer(ops);
    });
}

// The processor, and what it can do at best with so many threads.
PEERS_API const char *peers_machine(int threads, int again) {
    return guarded<const char *>(nullptr, [&] {
        const Cpu &c = cpu();
        const Peak peak = machine_peak(threads, again != 0);
        return answer({{"model", c.model},
                       {"level", c.level},
                       {"processors", c.processors},
                       {"flags", c.flags},
                       {"last_level", c.last_level()},
                       {"copy", peak.copy},
                       {"flops", peak.flops}});
    });
}

// Multiply-adds of bf16 or u8 x s8 operands per second, two operations each; 0 where the processor has none.
PEERS_API double peers_multiply_peak(const char *type, int threads) {
    return guarded<double>(-1, [&] { return multiply_peak(type, threads); });
}

PEERS_API void *peers_kernel(const char *request_text) {
    return guarded<void *>(nullptr, [&] { return new CompiledKernel(CompiledKernel::build(request_of(request_text))); });
}

// The same for another machine: its shared object is copied to `path`. What peers_load_kernel wants to know of it.
PEERS_API const char *peers_export_kernel(const char *request_text, const char *target, const char *path) {
    return guarded<const char *>(nullptr, [&] {
        GenerateRequest request = request_of(request_text);
        request.target = target;
        const Plan plan = make_plan(request);
        std::filesystem::copy_file(cached_shared_object(plan), path, std::filesystem::copy_options::overwrite_existing);
        return answer({{"function", plan.function}, {"script", plan.script}, {"params", plan.params}});
    });
}

PEERS_API void *peers_load_kernel(const char *path, const char *about_text) {
    return guarded<void *>(nullptr, [&] {
        const json about = json::parse(about_text);
        return new CompiledKernel(
            CompiledKernel::load(path, about.at("function"), about.at("params").get<Assignments>(), about.at("script")));
    });
}

PEERS_API const char *peers_describe_kernel(void *handle) {
    const auto &kernel = *static_cast<CompiledKernel *>(handle);
    return guarded<const char *>(nullptr, [&] {
        return answer({{"schedule", schedule_name(kernel.script())},
                       {"target", kernel.target()},
                       {"params", kernel.params()},
                       {"type", type_of(kernel)}});
    });
}

PEERS_API void peers_free_kernel(void *handle) {
    delete static_cast<CompiledKernel *>(handle);
}

PEERS_API void peers_set_verbose(void *handle, int on) {
    reinterpret_cast<void (*)(int)>(static_cast<CompiledKernel *>(handle)->library_function("halyard_set_verbose"))(on);
}

PEERS_API void peers_set_threads(void *handle, int threads) {
    static_cast<CompiledKernel *>(handle)->set_threads(threads);
}

PEERS_API double peers_flops(const char *op_name, const char *shape) {
    return guarded<double>(-1, [&] { return flops_of(find_op(op_name), parse_shape(shape)); });
}

// Buffers of that shape with random inputs, as `halyard bench` makes them, dense but for those of which `strides` says more.
PEERS_API void *peers_arguments(void *handle, const char *op_name, const char *shape, const char *strides, uint64_t seed) {
    return guarded<void *>(nullptr, [&]() -> void * {
        const Op &op = find_op(op_name);
        const Dims dims = parse_shape(shape);
        check_shape(op, dims);
        const auto &kernel = *static_cast<CompiledKernel *>(handle);
        auto made = std::make_unique<Arguments>(Arguments{make_arguments(op, kernel, dims, seed), {}});
        lay_out(made->values, kernel, json::parse(strides), seed);
        made->addresses = made->values.addresses();
        return made.release();
    });
}

PEERS_API void peers_free_arguments(void *handle) {
    delete static_cast<Arguments *>(handle);
}

// Where each argument lies: extents and strides innermost first, and the address of a buffer or scalar.
PEERS_API const char *peers_describe_arguments(void *kernel, void *handle) {
    return guarded<const char *>(nullptr, [&] {
        auto &arguments = *static_cast<Arguments *>(handle);
        json all = json::array();
        size_t i = 0;
        for (const auto &a : static_cast<CompiledKernel *>(kernel)->arguments()) {
            json one = {{"name", a.name}, {"type", type_name(a.type)}, {"buffer", a.is_buffer}, {"output", a.is_output}};
            if (a.is_buffer) {
                HostBuffer &b = arguments.values.buffer(a.name);
                std::vector<int> strides;
                for (int d = 0; d < b.raw()->dimensions; d++) {
                    strides.push_back(b.raw()->dim[d].stride);
                }
                one.update({{"extents", b.extents()}, {"strides", strides}, {"bytes", b.bytes()}, {"address", uint64_t(b.raw()->host)}});
            } else {
                one.update({{"value", load_element(a.type, arguments.addresses[i])}});
            }
            all.push_back(one);
            i++;
        }
        return answer(all);
    });
}

// Seconds that `calls` calls take, beginning with set number `first` and going round all of them.
PEERS_API double peers_time(void *kernel, void **sets, int count, int first, int calls) {
    return guarded<double>(-1, [&] {
        const auto &k = *static_cast<CompiledKernel *>(kernel);
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; i++) {
            const CallResult r = k.call(static_cast<Arguments *>(sets[(first + i) % count])->addresses.data());
            if (!r.ok()) {
                throw std::runtime_error(r.message);
            }
        }
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    });
}
