#include "command/explore_model.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "command/explore_budget.h"
#include "command/model_request.h"
#include "explain/explain_words.h"
#include "explore/store/database.h"
#include "kernel/cpu.h"
#include "kernel/failure.h"
#include "kernel/place.h"
#include "kernel/process.h"
#include "kernel/registry.h"
#include "kernel/targets.h"
#include "kernel/terminal.h"
#include "kernel/text.h"
#include "models/build_model.h"
#include "models/model_moves.h"
#include "models/model_turns.h"
#include "models/size_text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kMovesARound = 16;
constexpr double kEnd = 4;                // seconds that are kept for the comparison at the end
constexpr double kLeastGain = 0.02;       // of the time of the groups that a move is about
constexpr double kLeastSeconds = 0.2e-6;  // likewise: what a clock tells
constexpr double kBandwidth = 4e10;       // bytes a second, for what a join keeps out of memory: only the order of moves hangs on it

struct Build {
    std::string folder;
    BuiltModel model;
    ModelTimes times;

    std::string file(const std::string &name) const {
        return (fs::path(folder) / name).string();
    }
};

class ModelSearch {
public:
    ModelSearch(const ExploreOptions &o, ModelRequest request, ModelDims dims)
        : o_(o), request_(std::move(request)), given_(std::move(dims)), budget_(budget_seconds(o.budget)), database_(o.database()),
          threads_(o.threads > 0 ? o.threads : cpu().processors), work_(directory()) {
        if (!request_.schedule.empty()) {
            request_.folder = fs::absolute(request_.schedule).parent_path().string();
        }
        request_.wants_moves = true;
    }

    void run() {
        try {
            begin();
            while (budget_.left() > kEnd && round()) {
            }
            progress_.say(fmt::format("{}: the first and the last in turns", request_.name));
            end();
        } catch (const Interrupted &) {
            progress_.say("");
            if (best_) {
                place();
                fmt::print(stderr, "{}: interrupted: {}; the same command goes on from here\n", request_.name, summary());
            } else {
                fmt::print(stderr, "{}: interrupted before the model was built\n", request_.name);
            }
            throw;
        }
        progress_.say("");
        for (const auto &file : place()) {
            fmt::print("{}\n", fs::path(file).lexically_normal().string());
        }
        for (const auto &line : kept_) {
            fmt::print(stderr, "  {}\n", line);
        }
        fmt::print(stderr, "{}: {}\n", request_.name, summary());
    }

private:
    std::string directory() const {
        return o_.output.empty() ? "." : o_.output;
    }

    void say(const std::string &what) {
        progress_.say(fmt::format("{}: {}, {:.0f} s left", request_.name, what, std::max(budget_.left(), 0.0)));
    }

    // Of a schedule, changed.
    Build build(const std::string &schedule, const json &edits, const std::string &what) {
        ModelRequest request = request_;
        request.schedule = schedule;
        request.edits = edits;
        if (best_) {  // the first one takes as long as it takes
            request.timeout = std::clamp(budget_.left(), 1.0, request_.timeout);
        }
        Build made;
        made.folder = (fs::path(work_.path()) / fmt::format("build{}", count_++)).string();
        fs::create_directories(made.folder);
        try {
            made.model = build_model(request, made.folder, [&](const std::string &text) {
                if (!best_) {
                    progress_.say(text);
                    return;
                }
                say(what);
                if (budget_.left() <= 0) {
                    throw Failure("there is no time left");
                }
            });
        } catch (...) {
            remove_folder(made.folder);
            throw;
        }
        return made;
    }

    void time(std::vector<Build *> builds) {
        const double whole = best_ && best_->times.whole > 0 ? best_->times.whole : 0.01;
        std::vector<std::string> reports;
        for (const Build *b : builds) {
            reports.push_back(b->file(request_.name + ".json"));
        }
        const auto times = model_turns(reports, dims_, threads_, double(builds.size()) * std::clamp(100 * whole, 0.5, 3.0));
        for (size_t i = 0; i < builds.size(); i++) {
            builds[i]->times = times[i];
        }
    }

    void begin() {
        request_.check = [&](const json &report) { model_dims(report, request_.model, given_); };
        Build first = build(request_.schedule, json::array(), "building");
        dims_ = model_dims(first.model.report, request_.model, given_);
        task_.op = "model";
        task_.shape = Dims(dims_.begin(), dims_.end());
        task_.params = {{"graph", first.model.report.at("graph")}};
        if (first.model.report.at("type") != "float32") {
            task_.params["type"] = first.model.report.at("type");
        }
        task_.target = request_.target;
        task_.threads = threads_;
        const auto known = o_.again || !request_.schedule.empty() ? std::vector<explore::Entry>() : database_.best(task_);
        best_ = std::move(first);
        first_ = best_->folder;
        say("measuring");
        if (known.empty() || !known.front().candidate.folder.empty()) {
            time({&*best_});
        } else {
            begin_with(known.front().candidate.lua);
        }
        began_ = began_ > 0 ? began_ : best_->times.whole;
        if (!o_.again) {
            const json tried = database_.kept(task_, "tried");
            for (const auto &id : tried.is_array() ? tried : json::array()) {
                if (id.is_string()) {
                    tried_.insert(id);
                }
            }
        }
        record(*best_);
    }

    // What an earlier search has found, where it is still the quicker one.
    void begin_with(const std::string &lua) {
        try {
            const std::string file = (fs::path(work_.path()) / "known.lua").string();
            write_file(file, lua);
            Build known = build(file, json::array(), "building what was found before");
            time({&*best_, &known});
            began_ = best_->times.whole;
            if (known.times.wrong.empty() && known.times.whole < best_->times.whole) {
                replace(std::move(known));
                resumed_ = true;
            }
        } catch (const Failure &) {  // of another version
            time({&*best_});
        }
    }

    // Times of different rounds differ by what else the machine did: the last word have those in turns.
    void end() {
        if (best_->folder == first_) {
            return;
        }
        const auto times = model_turns({(fs::path(first_) / (request_.name + ".json")).string(), best_->file(request_.name + ".json")},
                                       dims_, threads_, kEnd / 2);
        began_ = times[0].whole;
        best_->times.whole = times[1].whole;
    }

    void replace(Build &&b) {
        if (best_->folder != first_) {
            remove_folder(best_->folder);
        }
        best_ = std::move(b);
    }

    double promise(const json &move, const GroupTimes &times) {
        constexpr double kWeight = 3;  // of the prior, in moves
        const Learnt &l = learnt_[kind_of(move)];
        const double part = (l.gain + kWeight * prior_gain(move.at("kind"))) / (l.tries + kWeight);
        return part * sum(times, move.at("old")) + value_of_size(move.value("saves", "0"), dims_) / kBandwidth;
    }

    // The most promising that have nothing to do with each other.
    json chosen() {
        const auto times = by_group(best_->model.report, best_->times);
        const size_t most = size_t(std::clamp((budget_.left() - kEnd) / 1.5 / seconds_a_move_, 1.0, double(kMovesARound)));
        std::vector<std::pair<double, const json *>> order;
        for (const auto &m : best_->model.moves) {
            if (tried_.count(m.at("id")) == 0) {
                order.emplace_back(promise(m, times), &m);
            }
        }
        std::stable_sort(order.begin(), order.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
        std::set<std::string> taken;
        json moves = json::array();
        for (const auto &[gain, move] : order) {
            std::vector<std::string> names = move->at("old").get<std::vector<std::string>>();
            const bool is_free = std::none_of(names.begin(), names.end(), [&](const std::string &n) { return taken.count(n) > 0; });
            if (is_free && moves.size() < most && size_t(tries_) + moves.size() < o_.most) {
                taken.insert(names.begin(), names.end());
                moves.push_back(*move);
            }
        }
        return moves;
    }

    // Without those that cannot be built, of which the error says the group.
    std::optional<Build> build_moves(json &moves) {
        while (!moves.empty()) {
            check_signals();
            try {
                return build(best_->file(request_.name + ".lua"), moves, fmt::format("{} changes of groups", moves.size()));
            } catch (const Failure &e) {
                if (budget_.left() <= 0) {
                    return std::nullopt;
                }
                drop(moves, e.what());
            }
        }
        return std::nullopt;
    }

    void drop(json &moves, const std::string &error) {
        json rest = json::array();
        for (const auto &m : moves) {
            const auto names = [&](const char *of) {
                return std::any_of(m.at(of).begin(), m.at(of).end(),
                                   [&](const json &n) { return error.find('"' + n.get<std::string>() + '"') != std::string::npos; });
            };
            if (names("old") || names("new")) {
                failed(m);
            } else {
                rest.push_back(m);
            }
        }
        if (rest.size() == moves.size()) {  // nobody knows which
            if (moves.size() == 1) {
                failed(moves[0]);
            }
            rest = json(std::vector<json>(moves.begin(), moves.begin() + std::ptrdiff_t(moves.size() / 2)));
        }
        moves = std::move(rest);
    }

    void failed(const json &move) {
        tried_.insert(move.at("id"));
        learnt_[kind_of(move)].tries++;
        tries_++;
    }

    /** Whether there is something left to try. */
    bool round() {
        json moves = chosen();
        if (moves.empty()) {
            ended_ = true;
            return false;
        }
        const double left = budget_.left();
        const size_t count = moves.size();
        std::optional<Build> made = build_moves(moves);
        if (!made) {
            return budget_.left() > 0;
        }
        seconds_a_move_ = (seconds_a_move_ + (left - budget_.left()) / double(count)) / 2;
        say(fmt::format("timing {} changes, {} kept so far", moves.size(), kept_.size()));
        try {
            time({&*best_, &*made});
        } catch (const Failure &) {  // one of them crashes
            return alone(moves, *made);
        }
        if (!made->times.wrong.empty()) {
            return alone(moves, *made);
        }
        const auto before = by_group(best_->model.report, best_->times), after = by_group(made->model.report, made->times);
        const double least = std::max(kLeastGain, noise(moves, before, after));
        json good = json::array();
        std::vector<std::string> lines;
        for (const auto &m : moves) {
            const double old = sum(before, m.at("old")), now = sum(after, m.at("new"));
            failed(m);
            if (old <= 0) {
                continue;
            }
            learnt_[kind_of(m)].gain += std::max(0.0, 1 - now / old);
            if (now < old * (1 - least) && old - now > kLeastSeconds) {
                good.push_back(m);
                lines.push_back(fmt::format("{}: {} to {}", text_of(m), seconds_text(old), seconds_text(now)));
            }
        }
        if (good.size() < moves.size() && !good.empty()) {
            const std::string unused = made->folder;
            made = build_moves(good);
            remove_folder(unused);
            if (!made) {
                return budget_.left() > 0;
            }
            time({&*best_, &*made});
        }
        // Groups that are quicker by themselves, and a call that is not: their neighbours paid for it.
        if (good.empty() || !made->times.wrong.empty() || made->times.whole >= best_->times.whole) {
            remove_folder(made->folder);
        } else {
            replace(std::move(*made));
            kept_.insert(kept_.end(), lines.begin(), lines.end());
            record(*best_);
        }
        database_.keep(task_, "tried", json(std::vector<std::string>(tried_.begin(), tried_.end())));
        return true;
    }

    // What is wrong with one of several is found one by one.
    bool alone(const json &moves, const Build &made) {
        remove_folder(made.folder);
        if (moves.size() == 1) {
            failed(moves[0]);
            progress_.say("");
            fmt::print(stderr, "Warning: {} is left out: {}\n", text_of(moves[0]),
                       made.times.wrong.empty() ? "it does not run" : "another result: " + made.times.wrong);
            return true;
        }
        for (size_t half = 0; half < 2; half++) {
            const size_t middle = moves.size() / 2, from = half == 0 ? 0 : middle, to = half == 0 ? middle : moves.size();
            json some(std::vector<json>(moves.begin() + std::ptrdiff_t(from), moves.begin() + std::ptrdiff_t(to)));
            std::optional<Build> b = budget_.left() > 0 ? build_moves(some) : std::nullopt;
            if (!b) {
                continue;
            }
            try {
                time({&*best_, &*b});
                if (b->times.wrong.empty()) {
                    remove_folder(b->folder);
                    continue;
                }
            } catch (const Failure &) {
            }
            alone(some, *b);
        }
        return true;
    }

    void record(const Build &b) {
        explore::Candidate c;
        c.lua = read_file(b.file(request_.name + ".lua"));
        c.folder = request_.folder;
        c.origin = kept_.empty() ? "compile" : "explore";
        explore::Measured m;
        m.status = explore::Status::kOk;
        m.least = m.median = m.lower = m.upper = std::max(b.times.whole, 1e-9);
        m.samples = 1;
        m.whole = true;
        database_.record(task_, c, m);
        database_.choose(task_, c);
    }

    std::vector<std::string> place() {
        return place_model(best_->folder, request_.name, directory(), "", {});
    }

    std::string summary() const {
        const double now = best_->times.whole;
        if (now <= 0) {
            return "as it was, not measured";
        }
        if (kept_.empty() && !resumed_) {  // both times are of the same build
            return fmt::format("{} a call, none of {} changes was faster{}", seconds_text(std::min(began_, now)), tries_,
                               ended_ ? "; nothing is left to try" : "");
        }
        return fmt::format("{} to {} a call, {:.2f} times as fast, {} of {} changes kept{}{}", seconds_text(began_), seconds_text(now),
                           began_ / now, kept_.size(), tries_, resumed_ ? ", begun with what was found before" : "",
                           ended_ ? "; nothing is left to try" : "");
    }

    struct Learnt {
        double gain = 0;
        int tries = 0;
    };

    const ExploreOptions &o_;
    ModelRequest request_;
    ModelDims given_, dims_;
    Budget budget_;
    explore::Database database_;
    explore::Task task_;
    const int threads_;
    const TemporaryDirectory work_;
    Progress progress_;
    std::optional<Build> best_;
    std::string first_;  // the folder of what compile would make
    double began_ = 0, seconds_a_move_ = 1;
    std::map<std::string, Learnt> learnt_;
    std::set<std::string> tried_;
    std::vector<std::string> kept_;
    int tries_ = 0, count_ = 0;
    bool resumed_ = false, ended_ = false;
};

}  // namespace

bool is_model(const std::string &op) {
    return op.size() > 5 && op.compare(op.size() - 5, 5, ".onnx") == 0;
}

void explore_model(const ExploreOptions &o) {
    if (!o.compare.empty() || !o.beside.empty() || !o.with.empty() || !o.html.empty() || !o.report.empty() || !o.translate.empty() ||
        !o.folder.empty() || !o.machine.empty() || !o.workers.empty() || !o.workers_kind.empty() || o.until > 0 || o.guess || o.halide ||
        o.json || !o.generator.empty() || !o.params.empty() || !o.set.empty() || !o.facts.empty() || !o.devices.empty()) {
        throw UsageError(
            "explore of a model takes --shape, --dim, --name, --type, --threads, --budget, --most, --schedule, --target, --timeout, --db, "
            "--measure-again and -o");
    }
    ModelRequest request;
    request.model = o.op;
    request.name = model_name(o.name, o.op);
    request.schedule = o.schedule;
    request.target = o.target.empty() ? "host" : o.target;
    request.type = o.type;
    request.timeout = o.timeout;
    resolve_targets(request.target);
    if (is_cuda(request.target) || request.target.find(',') != std::string::npos) {
        throw UsageError(
            fmt::format("--target {}: explore of a model measures on the processor here; name one instruction set", request.target));
    }
    for (const auto &d : o.dims) {
        add_dim(d, request);
    }
    if (o.threads < 0 || o.threads > 1024) {
        throw UsageError(fmt::format("--threads {} is not a number of threads", o.threads));
    }
    ModelDims dims;
    if (!o.shape.empty()) {
        for (const auto &[name, size] : parse_shape(o.shape)) {
            dims[name] = size;
        }
    }
    ModelSearch(o, request, dims).run();
}

}  // namespace halyard
