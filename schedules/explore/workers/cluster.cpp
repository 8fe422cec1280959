#include "explore/workers/cluster.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "explore/measure/travelling_command.h"
#include "kernel/conversation.h"
#include "kernel/failure.h"
#include "kernel/json_text.h"
#include "kernel/kernel.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr double kSecondsToJoin = 180;  // the program itself gives each machine 60
constexpr double kSecondsOfTransfer = 60;
constexpr int kMostTries = 2;  // of what the search cannot do without

struct Slot {
    enum class State { kStarting, kIdle, kBusy, kGone };
    Offer offer;
    State state = State::kStarting;
    std::string why;            // it is gone
    int job = 0;                // that it is at
    std::set<std::string> has;  // references
};

struct Answer {
    int job = 0, from = 0;  // from: the number of the slot
    std::string slot;       // its name
    json answer;
    std::string lost;  // why there is no answer; "" where there is one
};

// A Python that has Ray: the one that is named, the one that scripts/setup made, or the first of PATH.
std::string python() {
    if (const char *given = std::getenv("HALYARD_WORKERS_PYTHON"); given && *given) {
        return given;
    }
    const fs::path own = fs::path(paths().workers) / "../../.halyard/workers/bin/python";
    std::error_code ignored;
    return paths().build_tree && fs::exists(own, ignored) ? own.lexically_normal().string() : "python3";
}

// Local files of one that was built, by the names that they get there.
void add_files(const Built &b, const std::string &there, json &files) {
    for (const std::string &file : {b.library(), runtime_beside(b.library())}) {
        if (fs::exists(file)) {
            files[there + "/" + fs::path(file).filename().string()] = file;
        }
    }
}

json built_json(const Built &b, const std::string &there) {
    return {{"directory", there}, {"params", b.params}};
}

std::string reference_there(const Built &reference) {
    return "references/" + fs::path(reference.directory).filename().string();
}

Measured lost(const Answer &a) {
    Measured m;
    m.status = Status::kWorkerLost;
    m.message = fmt::format("{} was lost while it was measured there: {}", a.slot, a.lost);
    return m;
}

Measured with_build(Measured m, const Built &b) {
    m.build_seconds = b.measured.build_seconds;
    m.library_bytes = b.measured.library_bytes;
    return m;
}

}  // namespace

struct Cluster::Implementation {
    Implementation(std::string at, const Wish &wish)
        : address(std::move(at)), work(temporary_root()),
          program({python(), require_piece(paths().workers, "the program that speaks with Ray")},
                  {"PYTHONDONTWRITEBYTECODE=1", "RAY_USAGE_STATS_ENABLED=0"}) {
        join(wish);
        take(wish);
    }

    [[noreturn]] void fail(const std::string &why) const {
        throw Failure(fmt::format("--workers {}: error: {}", address, why));
    }

    // Ray says much beside what matters, and that last.
    [[noreturn]] void fail_as_ended() const {
        constexpr size_t kMost = 2000;
        const std::string all = trim(program.complaints());
        fail("the program that speaks with Ray has ended: " + all.substr(all.size() - std::min(all.size(), kMost)));
    }

    void tell(const json &what) {
        if (!program.tell(what.dump(-1, ' ', false, json::error_handler_t::replace))) {
            pump(0);  // its last word, if it had one
            fail_as_ended();
        }
    }

    void join(const Wish &wish) {
        copy_command(work.path());
        json settings = json::object();
        if (const char *confine = std::getenv("HALYARD_CONFINE")) {
            settings["HALYARD_CONFINE"] = confine;  // as at home
        }
        tell({{"address", address}, {"cuda", wish.cuda}, {"program", work.path()}, {"settings", settings}});
        const auto begin = Clock::now();
        while (!ready) {
            if (std::chrono::duration<double>(Clock::now() - begin).count() > kSecondsToJoin) {
                fail(fmt::format("nothing was heard of its machines within {:.0f} s", kSecondsToJoin));
            }
            pump(1);
        }
    }

    // Those of the kind; the others are let go.
    void take(const Wish &wish) {
        std::vector<Offer> all;
        for (const auto &s : slots) {
            all.push_back(s.second.offer);
        }
        if (all.empty()) {
            fail(fmt::format("it has no machine with {}, in the resources of Ray", wish.cuda ? "a CUDA device" : "processors"));
        }
        try {
            taken = of_one_kind(all, wish, facts_here());
        } catch (const Failure &e) {
            fail(e.what());
        }
        std::vector<int> used;
        for (const Offer &o : taken) {
            used.push_back(o.slot);
        }
        tell({{"use", used}});
        for (auto &s : slots) {
            const bool in_use = std::count(used.begin(), used.end(), s.first) > 0;
            if (!in_use) {
                refusals += s.second.offer.refused.empty() ? "" : fmt::format("{}: {}\n", s.second.offer.name, s.second.offer.refused);
                s.second.state = Slot::State::kGone;
            }
        }
    }

    // One line of the program's, if there is one within so many seconds.
    void pump(double seconds) {
        const auto line = program.hear(seconds);
        if (!line) {
            if (program.ended()) {
                fail_as_ended();
            }
            return;
        }
        const json j = parse_if_json(*line);
        if (!j.is_object()) {
            fail("what the program says that speaks with Ray is no JSON: " + *line);
        }
        if (j.contains("error")) {
            fail(j.at("error"));
        } else if (j.contains("ready")) {
            ready = true;
        } else if (j.contains("job")) {
            hear_answer(j);
        } else {
            hear_of_slot(j);
        }
    }

    void hear_answer(const json &j) {
        Slot &s = slots.at(j.at("slot"));
        Answer a;
        a.job = j.at("job");
        a.from = s.offer.slot;
        a.slot = s.offer.name;
        a.answer = j.value("answer", json());
        a.lost = j.value("lost", "");
        if (!a.lost.empty()) {
            s.why = a.lost;
            s.state = j.at("again").get<bool>() ? Slot::State::kStarting : Slot::State::kGone;
        } else if (s.job == a.job && s.state == Slot::State::kBusy) {
            s.state = Slot::State::kIdle;
        }
        // What is checked against does not run there, or it does not understand: it would be so with every candidate.
        if (a.answer.contains("failed")) {
            const json &why = a.answer.at("failed");
            a.lost = s.why = why.is_string() ? why.get<std::string>() : why.dump();
            s.state = Slot::State::kGone;
        }
        answers.push_back(std::move(a));
    }

    void hear_of_slot(const json &j) {
        Slot &s = slots[j.at("slot")];
        s.offer.slot = j.at("slot");
        s.offer.name = j.value("name", s.offer.name);
        s.has.clear();
        s.state = Slot::State::kGone;
        if (!j.contains("facts")) {
            s.offer.refused = s.why = j.at("refused");
            return;
        }
        try {
            s.offer.facts = facts_from_json(j.at("facts"));
            s.state = Slot::State::kIdle;
        } catch (const json::exception &e) {
            s.offer.refused = s.why = fmt::format("what it says of itself is not understood: {}", e.what());
        }
    }

    // Makes something of an answer. A machine that says anything else than it was asked for is gone, and its answer lost; others go on.
    void understand(Answer &a, const std::function<void(const json &)> &make) {
        if (!a.lost.empty()) {
            return;
        }
        try {
            make(a.answer);
        } catch (const std::exception &e) {
            a.lost = fmt::format("what it answers is not understood: {}", e.what());
            Slot &s = slots.at(a.from);
            s.why = a.lost;
            s.state = Slot::State::kGone;
        }
    }

    Slot *idle() {
        for (const Offer &o : taken) {
            if (Slot &s = slots.at(o.slot); s.state == Slot::State::kIdle) {
                return &s;
            }
        }
        return nullptr;
    }

    Slot &wait_for_idle() {
        while (true) {
            if (Slot *s = idle()) {
                return *s;
            }
            expect_some();
            pump(1);
        }
    }

    // Nothing can come of any.
    void expect_some() const {
        std::string why;
        for (const Offer &o : taken) {
            const Slot &s = slots.at(o.slot);
            if (s.state != Slot::State::kGone) {
                return;
            }
            why += fmt::format("\n  {}: {}", o.name, s.why);
        }
        fail("none of its machines is left" + why);
    }

    int send(Slot &s, json request, const json &files, double seconds) {
        s.state = Slot::State::kBusy;
        s.job = ++last_job;
        tell({{"job", s.job},
              {"slot", s.offer.slot},
              {"request", std::move(request)},
              {"files", files},
              {"seconds", seconds + kSecondsOfTransfer}});
        return s.job;
    }

    // The next of these jobs that has come to an end.
    Answer next_of(const std::map<int, size_t> &jobs) {
        while (true) {
            for (auto a = answers.begin(); a != answers.end(); ++a) {
                if (jobs.count(a->job)) {
                    Answer found = std::move(*a);
                    answers.erase(a);
                    return found;
                }
            }
            expect_some();
            pump(1);
        }
    }

    // On any of them; what is lost on one is tried on another.
    Answer on_any(const std::function<int(Slot &)> &send_to, const std::function<void(const json &)> &make) {
        Answer a;
        for (int n = 0; n < kMostTries; n++) {
            a = next_of({{send_to(wait_for_idle()), 0}});
            understand(a, make);
            if (a.lost.empty()) {
                break;
            }
        }
        return a;
    }

    std::string refusals;
    const std::string address;
    const TemporaryDirectory work;
    Conversation program;
    std::map<int, Slot> slots;
    std::vector<Offer> taken;
    std::deque<Answer> answers;  // that nobody has asked for yet
    bool ready = false;
    int last_job = 0;
};

Cluster::Cluster(const std::string &address, const Wish &wish) : implementation_(std::make_unique<Implementation>(address, wish)) {}

Cluster::~Cluster() = default;

const std::vector<Offer> &Cluster::offers() const {
    return implementation_->taken;
}

std::string Cluster::refusals() const {
    return implementation_->refusals;
}

Machine Cluster::machine(int threads) {
    constexpr double kSeconds = 300;
    Machine m;
    const Answer a = implementation_->on_any(
        [&](Slot &s) {
            return implementation_->send(s, {{"step", "machine"}, {"threads", threads}}, json::object(), kSeconds);
        },
        [&](const json &answer) { m = machine_from_json(answer.at("machine")); });
    if (!a.lost.empty()) {
        implementation_->fail(fmt::format("{} cannot be measured: {}", a.slot, a.lost));
    }
    return m;
}

Measured Cluster::reference(const Task &task, const Built &built, double seconds) {
    const std::string there = reference_there(built);
    Measured m;
    const Answer a = implementation_->on_any(
        [&](Slot &s) {
            json files = json::object();
            add_files(built, there, files);
            s.has.insert(there);
            return implementation_->send(s, {{"step", "reference"}, {"task", to_json(task)}, {"built", built_json(built, there)}}, files,
                                         seconds);
        },
        [&](const json &answer) { m = measured_from_json(answer.at("measured")); });
    return a.lost.empty() ? with_build(m, built) : lost(a);
}

void Cluster::run(const Task &task, size_t count, const std::function<Run(size_t)> &begin,
                  const std::function<void(size_t, const Measured &)> &end) {
    Implementation &i = *implementation_;
    std::map<int, size_t> running;
    std::map<size_t, Built> built;
    for (size_t next = 0, finished = 0; finished < count;) {
        // Machines that are started again come back while others measure.
        for (; next < count && (i.idle() || running.empty()); next++) {
            const Run r = begin(next);
            Slot &s = i.wait_for_idle();
            const std::string there = fmt::format("jobs/{}", i.last_job + 1), against = reference_there(r.reference);
            json files = json::object();
            add_files(r.built, there, files);
            double seconds = r.seconds;
            if (s.has.insert(against).second) {
                add_files(r.reference, against, files);
                seconds += 10 * task.limits.run_seconds;
            }
            const int job = i.send(s,
                                   {{"step", "run"},
                                    {"task", to_json(task)},
                                    {"built", built_json(r.built, there)},
                                    {"reference", built_json(r.reference, against)},
                                    {"best", r.best},
                                    {"seconds", r.seconds}},
                                   files, seconds);
            running[job] = next;
            built[next] = r.built;
        }
        Answer a = i.next_of(running);
        Measured m;
        i.understand(a, [&](const json &answer) { m = measured_from_json(answer.at("measured")); });
        const size_t n = running.at(a.job);
        running.erase(a.job);
        finished++;
        end(n, with_build(a.lost.empty() ? m : lost(a), built.at(n)));
    }
}

InTurns Cluster::in_turns(const Task &task, const std::vector<Built> &built, double seconds) {
    Implementation &i = *implementation_;
    InTurns turns;
    const auto send = [&](Slot &s) {
        json files = json::object(), all = json::array();
        for (const Built &b : built) {
            const std::string there = fmt::format("jobs/{}/{}", i.last_job + 1, all.size());
            add_files(b, there, files);
            all.push_back(built_json(b, there));
        }
        return i.send(s, {{"step", "turns"}, {"task", to_json(task)}, {"built", all}, {"seconds", seconds}}, files,
                      double(built.size() + 1) * (task.limits.run_seconds + seconds));
    };
    const Answer a = i.on_any(send, [&](const json &answer) {
        InTurns said;
        for (const json &m : answer.at("measured")) {
            said.measured.push_back(measured_from_json(m));
        }
        said.contest = contest_from_json(answer.at("contest"));
        if (said.measured.size() != built.size() || said.contest.all.size() != built.size()) {
            throw Failure(fmt::format("times of {} kernels, not of {}", said.measured.size(), built.size()));
        }
        turns = std::move(said);
    });
    if (!a.lost.empty()) {
        turns.measured.assign(built.size(), lost(a));
        turns.contest.all.resize(built.size());
    }
    return turns;
}

}  // namespace halyard::explore
