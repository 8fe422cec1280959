#include "kernel/kernel.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "kernel/cache_file.h"
#include "kernel/cache_key.h"
#include "kernel/cpu.h"
#include "kernel/device_copies.h"
#include "language/diagnostics.h"
#include "kernel/element.h"
#include "kernel/failure.h"
#include "kernel/finish.h"
#include "kernel/kernel_prints.h"
#include "kernel/outputs.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/shared_object.h"
#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;

// Errors come from any thread of the kernel's pool; the first one is the cause.
std::mutex error_mutex;
std::string error_message;

void keep_error(void *, const char *message) {
    const std::lock_guard<std::mutex> lock(error_mutex);
    if (error_message.empty()) {
        error_message = trim(message);
    }
}

std::string take_error() {
    const std::lock_guard<std::mutex> lock(error_mutex);
    std::string message;
    message.swap(error_message);
    return message;
}

// The library over a runtime of its own, a copy beside it: no linker is asked.
void link_ourselves(const std::string &library, const std::string &output, const std::string &path) {
    try {
        write_file(output, shared_object(read_file(library), {"$ORIGIN/" + fs::path(runtime_beside(path)).filename().string()}));
    } catch (const Failure &) {
        throw;
    } catch (const std::runtime_error &e) {
        throw Failure(fmt::format("{}: error: cannot be made a shared object: {}", library, e.what()));
    }
    const std::string part = output + ".runtime";
    write_file(part, read_file(paths().shared_runtime));
    put_in_cache(part, runtime_beside(path));
}

void link(const Plan &plan, const std::string &directory, const std::string &output, const std::string &path) {
    const std::string library = (fs::path(directory) / (plan.function + ".a")).string();
    // A linker takes any text for its commands.
    const auto archives = outputs_in(directory, plan.function, ".a");
    if (std::count(archives.begin(), archives.end(), library) == 0 || beginning_of_file(library, 8) != "!<arch>\n") {
        throw Failure(fmt::format("{}: error: what the generator left as {}.a is no library", plan.executable, plan.function));
    }
    if (!needs_linker()) {
        link_ourselves(library, output, path);
        return;
    }
    // -Bsymbolic: each kernel calls its own runtime, whatever else the program has loaded.
    // Its temporary files go with the folder, should it be stopped.
    ProcessOptions options;
    options.environment = {"TMPDIR=" + directory};
    const std::string runtime = require_piece(paths().runtime, "the runtime library");
    const ProcessResult r = run_process({system_compiler(), "-shared", "-o", output, "-Wl,-Bsymbolic", "-Wl,--whole-archive", library,
                                         runtime, "-Wl,--no-whole-archive", "-lpthread", "-ldl", "-lm"},
                                        options);
    if (!r.ok()) {
        throw Failure(fmt::format("{}: error: linking with {} {}\n{}", library, system_compiler(), describe_end(r, 0), trim(r.err)));
    }
}

template<typename T>
T symbol(void *library, const std::string &name) {
    return reinterpret_cast<T>(dlsym(library, name.c_str()));
}

void add_estimates(KernelArgument &argument, const halide_filter_argument_t &a) {
    if (!argument.is_buffer) {
        const halide_scalar_value_t *value = a.scalar_estimate ? a.scalar_estimate : a.scalar_def;
        argument.scalar_estimate = value && a.type.code != halide_type_handle ? load_element(a.type, value) : 1;
        return;
    }
    for (int d = 0; a.buffer_estimates && d < a.dimensions; d++) {
        const int64_t *min = a.buffer_estimates[2 * d], *extent = a.buffer_estimates[2 * d + 1];
        if (!min || !extent) {
            argument.estimate.clear();
            return;
        }
        argument.estimate.emplace_back(int(*min), int(*extent));
    }
}

// The threads of the pool must be gone before their code is unmapped.
void close_library(void *library) {
    if (const auto shutdown = symbol<void (*)()>(library, "halide_shutdown_thread_pool")) {
        shutdown();
    }
    dlclose(library);
}

std::string slow_path(const std::string &path) {
    return path + ".slow";
}

}  // namespace

// Built beside its place and renamed, so that two processes may build the same kernel at once.
int64_t build_shared_object(const Plan &plan, const std::string &path) {
    const TemporaryDirectory work(fs::path(path).parent_path().string());
    const Generated result = generate(plan, work.path());
    if (!result.ok) {
        throw Failure(result.error);
    }
    const std::string part = (fs::path(work.path()) / "kernel.so").string();
    link(plan, work.path(), part, path);
    if (!plan.lint.empty()) {
        write_file(part + ".slow", result.report.contains("notes") ? join(result.slow, "\n") : "the plugin did not look");
        put_in_cache(part + ".slow", slow_path(path));
    }
    put_in_cache(part, path);
    return int64_t(fs::file_size(fs::path(work.path()) / (plan.function + ".a")));
}

namespace {

std::vector<std::string> files_of(const std::string &path) {
    return needs_linker() ? std::vector<std::string>{path} : std::vector<std::string>{path, runtime_beside(path)};
}

std::string seals_path(const std::string &path) {
    return path + ".seals";
}

// One line for each file.
void seal(const std::string &path) {
    std::string seals;
    for (const auto &file : files_of(path)) {
        seals += seal_of(read_file(file)) + "\n";
    }
    const TemporaryDirectory work(fs::path(path).parent_path().string());
    write_file(work.path() + "/seals", seals);
    put_in_cache(work.path() + "/seals", seals_path(path));
}

bool is_whole(const std::string &path) {
    const auto seals = split(beginning_of_file(seals_path(path), 1000), '\n');
    const auto files = files_of(path);
    return seals.size() == files.size() && std::equal(files.begin(), files.end(), seals.begin(), has_seal);
}

}  // namespace

std::string cached_shared_object(const Plan &plan) {
    const fs::path directory = fs::path(paths().cache) / "kernels";
    const std::string path =
        (directory / fmt::format("{}-{}.so", plan.function, cache_key(plan, needs_linker() ? system_compiler() : "own runtime"))).string();
    std::error_code ignored;
    const bool said_what_is_slow = plan.lint.empty() || fs::exists(slow_path(path), ignored);
    if (!is_whole(path) || !said_what_is_slow) {
        build_shared_object(plan, path);
        seal(path);
    }
    return path;
}

bool needs_linker() {
    std::error_code ignored;
    return paths().build_tree || !fs::exists(paths().shared_runtime, ignored);
}

std::string runtime_beside(const std::string &path) {
    return path + ".runtime";
}

std::string system_compiler() {
    const char *cxx = std::getenv("CXX");
    return cxx && *cxx ? cxx : "c++";
}

CompiledKernel CompiledKernel::build(GenerateRequest request) {
    if (request.target.empty()) {
        request.target = "host";
    }
    request.emit = {"static_library", "c_header"};
    const Plan plan = make_plan(request);
    const std::string path = cached_shared_object(plan);
    CompiledKernel kernel = load(path, plan.function, plan.params, plan.script);
    kernel.slow_ = plan.lint.empty() ? "" : read_file(slow_path(path));
    const auto missing = features_missing(request.target, cpu().level);
    if (!missing.empty()) {
        kernel.cannot_run_ = fmt::format("this processor cannot run what is built for {}: it has no {}; name a --target that it can run",
                                         request.target, join(missing, ", "));
    }
    return kernel;
}

CompiledKernel CompiledKernel::load(const std::string &path, const std::string &function, const Assignments &params,
                                    const std::string &script) {
    CompiledKernel kernel = load(path, function);
    kernel.params_ = params;
    kernel.script_ = script;
    return kernel;
}

CompiledKernel CompiledKernel::load(const std::string &path, const std::string &function) {
    CompiledKernel k;
    void *library = dlopen(fs::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        throw Failure(fmt::format("{}: error: cannot be loaded: {}", path, dlerror()));
    }
    k.library_ = std::shared_ptr<void>(library, close_library);
    k.function_ = symbol<int (*)(void **)>(library, function + "_argv");
    k.set_num_threads_ = symbol<int (*)(int)>(library, "halide_set_num_threads");
    const auto metadata = symbol<const halide_filter_metadata_t *(*)()>(library, function + "_metadata");
    using Handler = void (*)(void *, const char *);
    const auto set_error_handler = symbol<Handler (*)(Handler)>(library, "halide_set_error_handler");
    using Print = void (*)(void *, const char *);
    const auto set_print = symbol<Print (*)(Print)>(library, "halide_set_custom_print");
    if (!k.function_ || !metadata || !set_error_handler || !set_print || !k.set_num_threads_) {
        throw Failure(fmt::format("{}: error: has no kernel \"{}\" with metadata and runtime", path, function));
    }
    set_error_handler(keep_error);
    set_print(print_of_kernel);
    const halide_filter_metadata_t *m = metadata();
    k.target_ = m->target;
    for (int i = 0; i < m->num_arguments; i++) {
        const halide_filter_argument_t &a = m->arguments[i];
        k.arguments_.push_back(
            {a.name, a.type, a.dimensions, a.kind != halide_argument_kind_input_scalar, a.kind == halide_argument_kind_output_buffer});
        add_estimates(k.arguments_.back(), a);
    }
    return k;
}

const KernelArgument *CompiledKernel::argument(const std::string &name) const {
    for (const auto &a : arguments_) {
        if (a.name == name) {
            return &a;
        }
    }
    return nullptr;
}

CallResult CompiledKernel::call(KernelArguments &arguments) const {
    auto addresses = arguments.addresses();
    const bool on_device = target_.find("cuda") != std::string::npos;
    if (!on_device) {
        return call(addresses.data());
    }
    // Outputs go there too: what the kernel leaves alone has to stay.
    DeviceCopies copies(*this, arguments.host_buffers());
    CallResult result;
    result.code = copies.to_device();
    if (result.ok()) {
        result = call(addresses.data());
    }
    if (result.ok()) {
        result.code = copies.to_host();
    }
    if (result.message.empty() && !result.ok()) {
        result.message = take_error();
    }
    return result;
}

CallResult CompiledKernel::call(void **argv) const {
    if (!cannot_run_.empty()) {
        throw UsageError(cannot_run_);
    }
    CallResult result;
    result.code = function_(argv);
    if (result.code != 0) {
        result.message = take_error();
    }
    return result;
}

void *CompiledKernel::library_function(const std::string &name) const {
    void *const found = dlsym(library_.get(), name.c_str());
    if (!found) {
        throw Failure(fmt::format("the library of the kernel has no {}", name));
    }
    return found;
}

CallResult CompiledKernel::error(int code) const {
    return {code, take_error()};
}

void CompiledKernel::set_threads(int threads) const {
    set_num_threads_(threads);
}

KernelArguments::KernelArguments(const CompiledKernel &kernel) {
    for (const auto &a : kernel.arguments()) {
        values_.emplace_back();
        values_.back().argument = a;
    }
}

KernelArguments::Value &KernelArguments::find(const std::string &name) {
    std::vector<std::string> names;
    for (auto &v : values_) {
        if (v.argument.name == name) {
            return v;
        }
        names.push_back(v.argument.name);
    }
    throw Failure(fmt::format("the kernel has no argument \"{}\"; it has {}", name, quoted_list(names)));
}

HostBuffer &KernelArguments::buffer(const std::string &name, const Layout &layout) {
    Value &v = find(name);
    if (!v.argument.is_buffer || int(layout.extents.size()) != v.argument.dimensions) {
        throw Failure(fmt::format("the argument \"{}\" is a {} with {} dimensions, not a buffer with {}", name,
                                  v.argument.is_buffer ? "buffer" : "scalar", v.argument.dimensions, layout.extents.size()));
    }
    v.buffer = std::make_unique<HostBuffer>(v.argument.type, layout);
    v.given = true;
    return *v.buffer;
}

HostBuffer &KernelArguments::buffer(const std::string &name) {
    Value &v = find(name);
    if (!v.buffer) {
        throw Failure(fmt::format("the argument \"{}\" has no buffer yet", name));
    }
    return *v.buffer;
}

bool KernelArguments::has_buffer(const std::string &name) const {
    return std::any_of(values_.begin(), values_.end(), [&](const Value &v) { return v.argument.name == name && v.buffer; });
}

void KernelArguments::scalar(const std::string &name, double value) {
    Value &v = find(name);
    if (v.argument.is_buffer) {
        throw Failure(fmt::format("the argument \"{}\" is a buffer, not a scalar", name));
    }
    store_element(v.argument.type, &v.scalar, value);
    v.given = true;
}

double KernelArguments::scalar(const std::string &name) {
    const Value &v = find(name);
    return load_element(v.argument.type, &v.scalar);
}

std::vector<void *> KernelArguments::addresses() {
    std::vector<void *> result;
    for (auto &v : values_) {
        if (!v.given) {
            throw Failure(fmt::format("the argument \"{}\" has no value", v.argument.name));
        }
        result.push_back(v.buffer ? static_cast<void *>(v.buffer->raw()) : &v.scalar);
    }
    return result;
}

std::vector<KernelArguments::BufferArgument> KernelArguments::buffers() {
    std::vector<BufferArgument> result;
    for (auto &v : values_) {
        if (v.buffer) {
            result.push_back({v.buffer->raw(), v.argument.is_output});
        }
    }
    return result;
}

std::vector<HostBuffer *> KernelArguments::host_buffers() {
    std::vector<HostBuffer *> result;
    for (auto &v : values_) {
        if (v.buffer) {
            result.push_back(v.buffer.get());
        }
    }
    return result;
}

size_t KernelArguments::bytes() const {
    size_t n = 0;
    for (const auto &v : values_) {
        n += v.buffer ? v.buffer->bytes() : 0;
    }
    return n;
}

}  // namespace halyard
