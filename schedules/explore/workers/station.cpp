#include "explore/workers/station.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "explain/machine.h"
#include "explore/measure/candidate_process.h"
#include "explore/workers/facts.h"
#include "kernel/failure.h"
#include "kernel/json_text.h"
#include "kernel/process.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Station {
public:
    explicit Station(std::string folder) : folder_(std::move(folder)) {}
    ~Station() {
        remove_folder(folder_);
    }
    Station(const Station &) = delete;
    Station &operator=(const Station &) = delete;

    json answer(const json &request) {
        const std::string step = request.at("step");
        if (step == "machine") {
            return {{"machine", to_json(measured_machine(request.at("threads"), false))}};
        }
        const Task task = task_from_json(request.at("task"));
        return step == "turns" ? turns(task, request) : step == "run" ? run(task, request) : reference(task, request);
    }

private:
    Built built_of(const json &j) const {
        Built b;
        b.directory = folder_ + "/" + j.at("directory").get<std::string>();
        b.params = j.at("params").get<Assignments>();
        return b;
    }

    static std::string outputs_of(const Built &reference) {
        return reference.directory + "/outputs";
    }

    static Measured make_outputs(const Task &task, const Built &reference) {
        return run_built(task, reference, outputs_of(reference), false, 0, 10 * task.limits.run_seconds);
    }

    json reference(const Task &task, const json &request) const {
        return {{"measured", to_json(make_outputs(task, built_of(request.at("built"))))}};
    }

    // What it is checked against is computed on each machine, when that is first needed: outputs are larger than libraries.
    json run(const Task &task, const json &request) const {
        const Built built = built_of(request.at("built")), against = built_of(request.at("reference"));
        if (!fs::exists(outputs_of(against))) {
            const Measured m = make_outputs(task, against);
            if (!m.ok()) {
                return {{"failed", "what it is checked against does not run there: " + m.message}};
            }
        }
        const Measured m = run_built(task, built, outputs_of(against), true, request.at("best"), request.at("seconds"));
        remove_folder(built.directory);
        return {{"measured", to_json(m)}};
    }

    json turns(const Task &task, const json &request) const {
        std::vector<Built> built;
        for (const json &b : request.at("built")) {
            built.push_back(built_of(b));
        }
        const InTurns all = run_in_turns(task, built, request.at("seconds"));
        json measured = json::array();
        for (const Measured &m : all.measured) {
            measured.push_back(to_json(m));
        }
        for (const Built &b : built) {
            remove_folder(b.directory);
        }
        return {{"measured", measured}, {"contest", to_json(all.contest)}};
    }

    const std::string folder_;
};

void say(const json &j) {
    fmt::print("{}\n", j.dump(-1, ' ', false, json::error_handler_t::replace));
    std::fflush(stdout);
}

// Ends at once with its parent, and then so does the child, in order: Ray kills what its workers have started, but not what that has.
// Whether this is the child.
bool guarded(int parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        throw Interrupted(SIGTERM);
    }
    const pid_t guard = getpid(), child = fork();
    if (child < 0) {
        throw Failure(fmt::format("no process: {}", std::strerror(errno)));
    }
    if (child > 0) {
        int status = 0;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        return false;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != guard) {
        throw Interrupted(SIGTERM);
    }
    return true;
}

}  // namespace

void run_station(const std::string &folder, int parent) {
    std::error_code error;
    if (fs::read_symlink("/proc/self/exe", error) != fs::canonical(folder, error) / "bin/halyard") {
        throw UsageError(fmt::format("{} is not the folder in which a worker was put", folder));
    }
    if (!guarded(parent)) {
        return;
    }
    Station station(fs::canonical(folder).string());
    say(to_json(facts_here()));
    for (std::string line; std::getline(std::cin, line);) {
        check_signals();
        try {
            say(station.answer(parse_json(line)));
        } catch (const json::exception &e) {
            say({{"failed", fmt::format("it does not understand what it is told: {}", e.what())}});
        } catch (const Failure &e) {
            say({{"failed", e.what()}});
        }
    }
}

}  // namespace halyard::explore
