#include "command/explore_device.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "explore/measure/candidate_process.h"
#include "command/explore_beside.h"
#include "command/explore_compare.h"
#include "kernel/failure.h"
#include "kernel/gpu.h"
#include "explore/measure/pack.h"
#include "explore/store/pick.h"
#include "kernel/schedules.h"
#include "language/script.h"
#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard {

using namespace explore;

void choose_device(const ExploreOptions &o, Task &task) {
    task.threads = 1;
    task.target = with_devices(task.target, o.devices);
    if (o.threads > 1) {
        throw UsageError("--threads is for the host, not for CUDA");
    }
    if (!gpu() && o.folder.empty() && !o.guess) {
        throw Failure(fmt::format("{}: error: there is no CUDA device here\n  build candidates with --export FOLDER, measure "
                                  "them where there is one, and bring what was measured in by `halyard db import`",
                                  o.op));
    }
    if (devices_of(task.target).empty()) {
        if (!gpu()) {
            throw UsageError("say for which device, as --target cuda-sm_90a");
        }
        task.target = with_devices(task.target, gpu()->architecture());
    }
    Filter f;
    f.op = o.op;
    f.shape = shape_key(task.shape);
    f.target = target_key(task.target);
    Database database(o.database());
    task.machine = machine_of(database, f, o.machine, machine_for(task.target));
}

namespace {

// The machine of the newest measurement of the task on a device whose name has `name` in it; "" where there is none.
std::string machine_with(Database &database, const Task &task, const std::string &name) {
    Filter f;
    f.op = task.op;
    f.shape = shape_key(task.shape);
    f.target = target_key(task.target);
    f.ok = true;
    const auto known = database.entries(f);
    for (auto e = known.rbegin(); e != known.rend(); ++e) {
        if (e->key.machine.find(name) != std::string::npos) {
            return e->key.machine;
        }
    }
    return "";
}

// The device of --gpu; else of the newest measurement, where it is documented; else one of the architecture.
GpuFigures figures_of(const std::string &name, const std::string &machine, const std::string &architecture) {
    if (!name.empty()) {
        return gpu_figures(name);
    }
    try {
        return machine.empty() ? gpu_figures_for(architecture) : gpu_figures(machine);
    } catch (const UsageError &) {
        return gpu_figures_for(architecture);
    }
}

// Nothing where the copy cannot be timed: then it is the documented one.
void measure_copy(GpuFigures &g) {
    constexpr double kSeconds = 30;
    const TemporaryDirectory work(temporary_root());
    Measured failed;
    const nlohmann::json result =
        run_step(work.path(), {{"step", "copy"}, {"run_seconds", kSeconds}, {"device", true}, {"memory_bytes", 0}}, kSeconds, failed);
    if (result.is_object() && result.contains("bytes_a_second")) {
        g.copy = result.at("bytes_a_second");
        g.copy_measured = true;
    }
}

}  // namespace

OnDevice compared_device(const CommonOptions &o, const std::string &name, Task &task) {
    task.threads = 1;
    task.target = with_devices(task.target, o.devices);
    OnDevice d;
    if (devices_of(task.target).empty()) {
        task.target = with_devices(task.target,
                                   gpu() ? gpu()->architecture() : (name.empty() ? gpu_figures_for("") : gpu_figures(name)).architecture());
    }
    const std::vector<std::string> architectures = split(devices_of(task.target), ',');
    const std::string wanted = name.empty() ? "" : gpu_figures(name).name;
    const bool for_emulator = architectures.front() == "emulator";
    d.emulated = gpu() && starts_with(gpu()->name, "the emulated");
    const auto built_for = [&](const std::string &a) { return std::count(architectures.begin(), architectures.end(), a) > 0; };
    const bool runs =
        gpu() && (d.emulated ? for_emulator : built_for(gpu()->architecture()) || built_for(fmt::format("sm_{}", gpu()->capability)));
    d.measure = runs && (name.empty() || gpu()->name.find(wanted) != std::string::npos || d.emulated);
    if (d.measure && !d.emulated) {
        d.gpu = gpu_figures_here();
        measure_copy(d.gpu);
        return d;
    }
    std::string machine;
    if (!d.measure) {
        const auto database = std::make_shared<Database>(o.database());
        machine = machine_with(*database, task, wanted);
        if (!machine.empty()) {
            task.machine = machine;
            d.where = "on " + machine;
            d.known = [database, task](const Candidate &c) { return database->lookup(task, c); };
        }
    }
    d.gpu = figures_of(name, machine, for_emulator ? "" : architectures.front());
    if (!for_emulator && !built_for(d.gpu.architecture())) {
        throw UsageError(fmt::format("{} runs code for {}, and this would be for {}; say --target cuda-{}", d.gpu.name,
                                     d.gpu.architecture(), join(architectures, ", "), d.gpu.architecture()));
    }
    return d;
}

std::vector<Candidate> shipped_for_cuda(const ExploreOptions &o, Task &task) {
    std::vector<std::string> names = {""};
    for (const auto &s : schedules_of(task.op)) {
        if (s.place == "cuda" && s.name != task.op) {
            names.push_back(s.name);
        }
    }
    // The arguments of the first that takes what is asked for; where none does, there are still the rules.
    for (const auto &name : names) {
        try {
            task = with_interface(o, task, name);
            break;
        } catch (const Failure &) {
        } catch (const ScriptError &) {
        } catch (const UsageError &) {
        }
    }
    std::vector<Candidate> scripts;
    for (const auto &name : names) {
        GenerateRequest request = o.request(task.op, name, &task.shape);
        request.target = task.target;
        for (const auto &p : task.params) {
            request.params.insert(p);
        }
        try {
            if (beside_free(task, make_plan(request).params) == task.params) {
                scripts.push_back(contenders_of(o, task, {name}).front().candidate);
                scripts.back().origin = name.empty() ? task.op : name;
            }
        } catch (const Failure &) {  // of another interface, or --set is for parameters of others
        } catch (const ScriptError &) {
        } catch (const UsageError &) {
        }
    }
    return scripts;
}

void export_candidates(const ExploreOptions &o, const Task &task, Search &search, Memory &memory, Progress &progress) {
    std::vector<Candidate> all = memory.pending();
    const size_t fresh = all.size();
    // The best known go along: times of different days differ by more than neighbours do.
    const auto ranking = search.ranking();
    for (size_t i = 0; fresh > 0 && i < std::min<size_t>(ranking.size(), 2); i++) {
        all.push_back(ranking[i].proposal.candidate);
    }
    if (all.empty()) {
        progress.say("");
        fmt::print("{}: nothing near the best is left to measure\n", o.op);
        return;
    }
    const auto built = write_pack(patient(task), all, o.folder, [&](const std::string &text) { progress.say(o.op + ": " + text); });
    size_t packed = 0;
    for (size_t i = 0; i < built.size(); i++) {
        packed += built[i].status == Status::kPending;
        if (built[i].status != Status::kPending && !task.machine.empty()) {
            memory.record(all[i], built[i]);
        }
    }
    progress.say("");
    fmt::print("{}: {} candidates in {}, {} could not be built; there: ./measure, here then: halyard db import {}/results.jsonl\n", o.op,
               packed, o.folder, all.size() - packed, o.folder);
    if (!ranking.empty()) {
        fmt::print("{}: best so far {:.4g} us on {}\n", o.op, ranking[0].measured.least * 1e6, task.machine);
    }
}

}  // namespace halyard
