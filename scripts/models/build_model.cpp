#include "models/build_model.h"

#include <atomic>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "kernel/cache_file.h"
#include "kernel/cache_key.h"
#include "kernel/cpu.h"
#include "kernel/failure.h"
#include "kernel/generate.h"
#include "kernel/kernel.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/shared_object.h"
#include "kernel/text.h"
#include "models/reader.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct KernelOfModel {
    std::string function, op, graph, schedule, group;  // the schedule is a file, or a variant of the op's
    Assignments params, set;
    std::string archive;  // where it lies when it is built
};

// In the cache; built where it is not there. The path of a graph says nothing: its text is part of the key.
bool build_kernel(KernelOfModel &k, const ModelRequest &request, const std::string &work) {
    GenerateRequest r;
    r.op = k.op;
    r.generator = k.graph.empty() ? "" : paths().generators;  // the generator of any graph is no op of the registry
    r.schedule = k.schedule;
    r.params = k.params;
    r.set = k.set;
    r.target = request.target;
    r.devices = request.devices;
    r.function = k.function;
    r.emit = {"static_library"};
    r.timeout = request.timeout;
    const fs::path cache = fs::path(paths().cache) / "models";
    fs::create_directories(cache);
    Plan plan;
    try {
        plan = make_plan(r);
    } catch (const std::runtime_error &e) {
        throw Failure(fmt::format("group \"{}\": {}", k.group, e.what()));
    }
    const std::string text = k.graph.empty() ? "" : read_file(k.graph);
    // The schedule of a group lies in a folder of a random name, too.
    Plan key = plan;
    key.script = "";
    key.inputs.clear();
    for (const auto &i : plan.inputs) {
        if (i != plan.script) {
            key.inputs.push_back(i);
        }
    }
    const std::string name = Hash().add(cache_key(key, "archive")).add(text).add(read_file(plan.script)).hex();
    k.archive = (cache / (name + ".a")).string();
    const std::string seal_file = (cache / (name + ".seal")).string();
    std::error_code ignored;
    if (fs::is_regular_file(seal_file, ignored) && has_seal(k.archive, beginning_of_file(seal_file, 256))) {
        return false;
    }
    const TemporaryDirectory own(work);
    if (!k.graph.empty()) {
        const std::string graph = "/graph.json";
        write_file(own.path() + graph, text);
        plan.params["nodes"] = kOwnFolder + graph;
    }
    const Generated made = generate(plan, own.path());
    if (!made.ok) {
        throw Failure(fmt::format("group \"{}\": {}", k.group, made.error));
    }
    const std::string archive = (fs::path(own.path()) / (k.function + ".a")).string();
    const std::string seal = seal_of(read_file(archive));
    fs::copy_file(archive, k.archive + "." + k.function + ".new", fs::copy_options::overwrite_existing);
    put_in_cache(k.archive + "." + k.function + ".new", k.archive);
    write_file(seal_file, seal);
    return true;
}

// Calls f(i) for each, on some threads; the first exception ends it.
template<typename F>
void on_threads(size_t count, int threads, const F &f) {
    std::atomic<size_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
        for (size_t i; (i = next++) < count;) {
            try {
                f(i);
            } catch (...) {
                const std::lock_guard<std::mutex> lock(mutex);
                failure = failure ? failure : std::current_exception();
                next = count;
            }
        }
    };
    std::vector<std::thread> others;
    for (int t = 1; t < threads && t < int(count); t++) {
        others.emplace_back(work);
    }
    work();
    for (auto &t : others) {
        t.join();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

void run_tool(const std::vector<std::string> &command, const ProcessOptions &options, const std::string &what) {
    const ProcessResult result = run_process(command, options);
    if (!result.ok()) {
        throw Failure(fmt::format("{} {}:\n{}", what, describe_end(result, options.timeout), trim(result.err)));
    }
}

// The runner and all kernels, in one archive.
void put_together(const ModelRequest &request, const std::vector<KernelOfModel> &kernels, const std::string &work) {
    const std::string base = (fs::path(work) / request.name).string();
    ProcessOptions options;
    options.timeout = request.timeout;
    run_tool({system_compiler(), "-x", "c", "-std=gnu11", "-O1", "-fPIC", "-I" + paths().headers, "-c", base + ".c", "-o", base + ".o"},
             options, "the C compiler, for what calls the kernels,");
    // The script of ar takes few characters in a name, and would have others, as spaces and semicolons, for the end of a word or a line of its
    // own: it runs in the folder, and every name in it is ours.
    const std::string library = "lib" + request.name + ".a";
    options.directory = work;
    options.input = fmt::format("CREATE {}\nADDMOD {}.o\n", library, request.name);
    for (size_t i = 0; i < kernels.size(); i++) {
        const std::string link = fmt::format("{}.a", i);
        fs::create_symlink(fs::absolute(kernels[i].archive), fs::path(work) / link);
        options.input += fmt::format("ADDLIB {}\n", link);
    }
    options.input += "SAVE\nEND\n";
    run_tool({"ar", "-M"}, options, "ar, which makes the archive,");
    if (!fs::is_regular_file(fs::path(work) / library)) {
        throw Failure("ar made no archive");
    }
}

// The archive for programs that load libraries while they run, as Python does.
void make_shared(const ModelRequest &request, const std::string &work) {
    const fs::path folder = work;
    const std::string runtime = require_piece(paths().shared_runtime, "the shared runtime library");
    try {
        write_file((folder / (request.name + ".so")).string(),
                   shared_object(read_file((folder / ("lib" + request.name + ".a")).string()), {fs::path(runtime).filename().string()}));
    } catch (const Failure &) {
        throw;
    } catch (const std::runtime_error &e) {
        throw Failure(fmt::format("lib{}.a: error: cannot be made a shared object: {}", request.name, e.what()));
    }
}

}  // namespace

BuiltModel build_model(const ModelRequest &request, const std::string &work, const std::function<void(const std::string &)> &progress) {
    progress(fmt::format("reading {}", request.model));
    const json plan = read_model(request, work);
    if (request.check) {
        request.check(json::parse(read_file((fs::path(work) / "report.json").string())));
    }
    std::vector<KernelOfModel> kernels;
    BuiltModel built;
    for (const auto &k : plan.at("kernels")) {
        const auto in_work = [&](const std::string &file) { return file.empty() ? "" : (fs::absolute(work) / file).string(); };
        const std::string variant = k.at("variant");
        kernels.push_back({k.at("function"), k.at("op"), in_work(k.at("graph")), variant.empty() ? in_work(k.at("schedule")) : variant,
                           k.at("group"), k.at("params").get<Assignments>(), k.at("set").get<Assignments>(), ""});
        if (fs::path(k.at("schedule").get<std::string>()).is_absolute()) {
            built.inputs.push_back(k.at("schedule"));
        }
    }
    std::mutex mutex;
    int done = 0;
    on_threads(kernels.size(), request.jobs > 0 ? request.jobs : std::max(cpu().processors, 1), [&](size_t i) {
        check_signals();
        const bool is_new = build_kernel(kernels[i], request, work);
        const std::lock_guard<std::mutex> lock(mutex);
        (is_new ? built.built : built.cached)++;
        progress(fmt::format("{}: {} of {} kernels", request.name, ++done, kernels.size()));
    });
    check_signals();
    put_together(request, kernels, work);
    if (request.shared) {
        make_shared(request, work);
    }
    built.report = json::parse(read_file((fs::path(work) / "report.json").string()));
    if (request.wants_moves) {
        built.moves = json::parse(read_file((fs::path(work) / "moves.json").string()));
    }
    built.report["target"] = request.target;
    built.report["devices"] = request.devices;
    write_file((fs::path(work) / (request.name + ".json")).string(), built.report.dump(1, ' ', true) + "\n");
    built.inputs.push_back(request.model);
    if (!request.schedule.empty()) {
        built.inputs.push_back(request.schedule);
    }
    built.inputs.push_back(paths().generators);
    built.inputs.push_back(paths().plugin);
    for (const char *rest : {".c", ".o"}) {
        fs::remove(fs::path(work) / (request.name + rest));
    }
    return built;
}

}  // namespace halyard
