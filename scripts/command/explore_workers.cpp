#include "command/explore_workers.h"

#include <algorithm>

#include <fmt/format.h>

#include "explore/store/database.h"
#include "kernel/cpu.h"
#include "kernel/failure.h"
#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard {

using namespace explore;

void check_workers(const ExploreOptions &o) {
    if (o.workers.empty()) {
        if (!o.workers_kind.empty()) {
            throw UsageError("--workers-kind says which machines of --workers measure; say --workers too");
        }
        return;
    }
    const std::pair<const char *, bool> others[] = {
        {"--export", !o.folder.empty()},       {"--compare", !o.compare.empty()}, {"--guess", o.guess},
        {"--translate", !o.translate.empty()}, {"--html", !o.html.empty()},       {"--json", o.json}};
    for (const auto &other : others) {
        if (other.second) {
            throw UsageError(fmt::format("--workers is for a search, and {} for what is done here; say one of them", other.first));
        }
    }
    if (!o.machine.empty()) {
        throw UsageError("with --workers, --workers-kind says whose times count; leave --gpu out");
    }
}

std::unique_ptr<Cluster> join_workers(const ExploreOptions &o, Task &task, Progress &progress) {
    Wish wish;
    wish.cuda = is_cuda(task.target);
    wish.kind = o.workers_kind;
    wish.target = task.target;
    wish.threads = o.threads > 0 || !wish.kind.empty() ? o.threads : cpu().processors;
    if (wish.cuda && o.threads > 1) {
        throw UsageError("--threads is for the host, not for CUDA");
    }
    progress.say(fmt::format("{}: joining the cluster \"{}\"", o.op, o.workers));
    auto cluster = std::make_unique<Cluster>(o.workers, wish);
    progress.say("");
    const auto &offers = cluster->offers();
    const Facts &facts = offers.front().facts;
    if (wish.cuda) {
        task.threads = 1;
        task.target = with_devices(task.target, o.devices);
        task.target = devices_of(task.target).empty() ? with_devices(task.target, facts.architecture) : task.target;
        task.machine = facts.device;
    } else if (facts.kind(false) != facts_here().kind(false)) {
        task.machine = facts.machine;
        task.target = task.target == "host" ? facts.level : task.target;
    }
    if (!wish.cuda && o.threads == 0) {
        task.threads = facts.processors;
        for (const Offer &offer : offers) {
            task.threads = std::min(task.threads, offer.facts.processors);
        }
        // One that is like this machine may be free to use more of its processors.
        task.threads = task.machine.empty() ? std::min(task.threads, cpu().processors) : task.threads;
    }
    std::vector<std::string> names;
    for (const Offer &offer : offers) {
        names.push_back(offer.name);
    }
    fmt::print(stderr, "{}: measured on {}: {}\n", o.op, facts.kind(wish.cuda), join(names, "; "));
    for (const auto &line : split(cluster->refusals(), '\n')) {
        fmt::print(stderr, "Warning: not used: {}\n", line);
    }
    return cluster;
}

std::shared_ptr<const Machine> machine_of_workers(const ExploreOptions &o, const Task &task, Cluster &cluster, Progress &progress) {
    if (task.machine.empty() || is_cuda(task.target)) {
        return nullptr;
    }
    const char *const kName = "machine";
    Database database(o.database());
    try {
        return std::make_shared<const Machine>(machine_from_json(database.kept(task, kName)));
    } catch (const nlohmann::json::exception &) {  // not there yet, or of another version
    }
    progress.say(o.op + ": measuring one of the machines, once");
    const Machine machine = cluster.machine(task.threads);
    database.keep(task, kName, to_json(machine));
    progress.say("");
    return std::make_shared<const Machine>(machine);
}

}  // namespace halyard
