#include "draw.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "random.h"
#include "language/word.h"

namespace fuzz {

using halyard::ArgSpec;
using halyard::Domain;
using halyard::Effect;
using halyard::Handle;
using halyard::PipelineView;
using halyard::Word;

namespace {

// What is not drawn, and why.
const std::map<std::string, std::string> kNotDrawn = {
    {"autoschedule", "hands all to a scheduler of Halide, which has tests of its own"},
    {"specialize_fail", "every call may fail then, as it was told"},
};

// A stage as a script names it, with the loops that it has at this point of the script.
struct StageText {
    std::string text;
    std::vector<std::string> loops;
};

struct FuncText {
    std::string text, name;
    std::vector<std::string> dims;
    std::vector<StageText> stages;
    std::vector<std::string> readers;  // names
    bool input = false, output = false, placed = false;
    std::string at;  // the level where it is computed; "" for the root
};

class Script {
public:
    Script(const Halide::Pipeline &pipeline, uint64_t seed, bool cuda) : random_(seed), cuda_(cuda), illegal_(random_.percent(25)) {
        const PipelineView view(pipeline);
        for (const auto &f : view.funcs()) {
            add(view, f.second);
        }
        for (const auto &f : view.funcs()) {
            for (const auto &called : Halide::Internal::find_direct_calls(f.second.function)) {
                const auto it = funcs_.find(view.name_of(called.first));
                if (it != funcs_.end() && it->first != f.first) {
                    it->second.readers.push_back(f.first);
                }
            }
        }
    }

    std::string text(const std::string &op) {
        for (const auto &name : consumers_first()) {
            if (funcs_.at(name).input) {
                stage_input(name);
            } else {
                place(name);
                if (cuda_) {
                    run_on_device(name);
                }
                say_some(name, (cuda_ ? 1 : 2) + (funcs_.at(name).output ? 1 : 0));
            }
        }
        if (random_.percent(20)) {  // of anything, placed or not
            say_some(any_func(), 2);
        }
        std::string s = "return schedule " + quoted(op) + " {\n" + std::string(cuda_ ? "  target = \"cuda\",\n" : "") +
                        "  apply = function(k, p, target)\n";
        for (const auto &line : lines_) {
            s += "    " + line + "\n";
        }
        return s + "  end,\n}\n";
    }

private:
    void add(const PipelineView &view, const PipelineView::Entry &entry) {
        FuncText f;
        f.name = entry.name;
        f.text = "k." + entry.name;
        f.input = entry.parameter.defined();
        f.output = entry.is_output;
        f.placed = entry.is_output;
        const Halide::Func func(entry.function);
        for (const auto &v : func.args()) {
            f.dims.push_back(halyard::plain_name(v.name()));
        }
        for (int s = 0; s <= func.num_update_definitions(); s++) {
            StageText stage{s == 0 ? f.text : f.text + ":update(" + std::to_string(s - 1) + ")", {}};
            for (const auto &l : halyard::loops_of(halyard::stage_of(func, s))) {
                stage.loops.push_back(l.name);
            }
            f.stages.push_back(stage);
        }
        funcs_[f.name] = f;
        (void)view;
    }

    std::vector<std::string> consumers_first() {
        std::vector<std::string> order;
        std::set<std::string> done;
        while (done.size() < funcs_.size()) {
            for (const auto &f : funcs_) {
                const bool ready =
                    std::all_of(f.second.readers.begin(), f.second.readers.end(), [&](const std::string &r) { return done.count(r) > 0; });
                if (ready && done.insert(f.first).second) {
                    order.push_back(f.first);
                }
            }
        }
        return order;
    }

    std::string any_func() {
        auto it = funcs_.begin();
        std::advance(it, long(random_.below(funcs_.size())));
        return it->first;
    }

    void line(const std::string &text) {
        lines_.push_back(text);
    }

    std::string new_name() {
        return "n" + std::to_string(++names_);
    }

    static std::string quoted(const std::string &s) {
        return "\"" + s + "\"";
    }

    // A loop of a reader that is computed somewhere.
    std::optional<std::string> level_in_reader(const FuncText &f) {
        std::vector<std::string> placed;
        for (const auto &r : f.readers) {
            if (funcs_.count(r) && funcs_.at(r).placed) {
                placed.push_back(r);
            }
        }
        if (placed.empty()) {
            return std::nullopt;
        }
        const StageText &stage = random_.of(funcs_.at(random_.of(placed)).stages);
        const std::vector<std::string> &levels = stage.loops;
        if (levels.empty()) {
            return std::nullopt;
        }
        return stage.text + ", " + quoted(random_.of(levels));
    }

    void place(const std::string &name) {
        FuncText &f = funcs_.at(name);
        if (f.output) {
            return;
        }
        const auto level = level_in_reader(f);
        const uint64_t how = random_.below(100);
        const std::set<std::string> readers(f.readers.begin(), f.readers.end());
        if (level && how < (readers.size() == 1 ? 55 : 15)) {
            line(f.text + ":compute_at(" + *level + ")");
            f.placed = true;
            f.at = *level;
        } else if (how < 80 || (f.stages.size() > 1 && how < 99)) {
            line(f.text + ":compute_root()");
            f.placed = true;
        } else {
            // Computed inline: what its readers are is what its producers are read by.
            for (auto &other : funcs_) {
                auto &readers = other.second.readers;
                if (std::find(readers.begin(), readers.end(), name) != readers.end()) {
                    readers.insert(readers.end(), f.readers.begin(), f.readers.end());
                }
            }
        }
    }

    // Blocks and threads for the loops of a kernel; threads for those inside of its blocks.
    void run_on_device(const std::string &name) {
        FuncText &f = funcs_.at(name);
        const bool in_block = f.at.find("_block") != std::string::npos, inside = !f.at.empty();
        if (!f.placed || (inside && !in_block)) {
            return;
        }
        for (StageText &stage : f.stages) {
            std::vector<std::string> pure;
            for (const auto &l : stage.loops) {
                if (std::find(f.dims.begin(), f.dims.end(), l) != f.dims.end()) {
                    pure.push_back(l);
                }
            }
            pure.resize(std::min<size_t>(pure.size(), 1 + random_.below(2)));
            if (pure.empty()) {
                if (!in_block) {
                    line(stage.text + ":gpu_single_thread()");
                }
                continue;
            }
            std::string loops, sizes;
            for (const auto &l : pure) {
                loops += (loops.empty() ? "" : ", ") + quoted(l);
                sizes += (sizes.empty() ? "" : ", ") + std::to_string(random_.of(std::vector<int>{1, 2, 4, 8, 16}));
            }
            if (in_block) {
                line(stage.text + ":gpu_threads({ " + loops + " })");
                continue;
            }
            line(stage.text + ":gpu_tile({ " + loops + " }, { " + sizes + " }, \"guard\")");
            for (const char *suffix : {"_thread", "_block"}) {
                for (const auto &l : pure) {
                    stage.loops.erase(std::remove(stage.loops.begin(), stage.loops.end(), l), stage.loops.end());
                    stage.loops.push_back(l + suffix);
                }
            }
        }
    }

    // A copy of a Func for who reads it.
    void stage_input(const std::string &name) {
        const FuncText f = funcs_.at(name);
        if (f.readers.empty() || !random_.percent(15)) {
            return;
        }
        FuncText copy;
        const std::string reader = random_.of(f.readers);
        copy.name = copy.text = "copy" + std::to_string(++names_);
        copy.dims = {"_0", "_1"};
        copy.readers = {reader};
        copy.stages = {{copy.text, copy.dims}};
        line("local " + copy.text + " = " + f.text + ":in_(" + funcs_.at(reader).text + ")");
        funcs_[copy.name] = copy;
        place(copy.name);
        if (funcs_.at(copy.name).placed) {
            say_some(copy.name, 2);
        }
    }

    void say_some(const std::string &name, uint64_t most) {
        if (!funcs_.at(name).placed && !random_.percent(3)) {
            return;
        }
        for (uint64_t n = random_.below(most + 1); n > 0; n--) {
            say(name);
        }
    }

    const Word &draw_word(const FuncText &f) {
        std::vector<const Word *> pool;
        const bool any = random_.percent(illegal_ || cuda_ ? 10 : 3);
        for (const Word &w : halyard::words()) {
            if (kNotDrawn.count(w.name) > 0 || w.on == Handle::kExpr || w.on == Handle::kLoop) {
                continue;
            }
            static const std::set<std::string> kOften = {"split", "fuse", "tile", "vectorize", "unroll", "parallel", "reorder"};
            static const std::set<std::string> kDevices = {"gpu_blocks", "gpu_threads", "gpu_lanes",      "gpu_single_thread", "gpu",
                                                           "gpu_tile",   "hexagon",     "copy_to_device", "copy_to_host",      "mma"};
            static const std::set<std::string> kOfHosts = {"parallel",       "prefetch",     "prefetch_over",
                                                           "prefetch_ahead", "side_by_side", "async"};
            const bool placing = w.effect == Effect::kInside || std::string(w.name) == "compute_root";
            if (!any && (w.effect == Effect::kCuda || kDevices.count(w.name) > 0 || (placing && !random_.percent(20)) ||
                         (w.effect == Effect::kMemory && f.output) || (w.on == Handle::kDimension && !f.output) ||
                         (cuda_ && kOfHosts.count(w.name) > 0))) {
                continue;
            }
            for (int n = kOften.count(w.name) > 0 ? 8 : 1; n > 0; n--) {
                pool.push_back(&w);
            }
        }
        return *random_.of(pool);
    }

    void say(const std::string &name) {
        FuncText &f = funcs_.at(name);
        const Word &word = draw_word(f);
        const std::string said = word.name;
        StageText &stage = f.stages[random_.below(f.stages.size())];
        if (said == "rfactor") {
            rfactor(name);
            return;
        }
        if (said == "update" || said == "dim") {
            return;
        }
        std::string receiver = f.text;
        if (word.on == Handle::kStage) {
            receiver = stage.text;
        } else if (word.on == Handle::kDimension) {
            receiver += ":dim(" + std::to_string(random_.below(f.dims.size())) + ")";
        }
        args_.clear();
        loops_.clear();
        std::string text;
        for (const ArgSpec &spec : halyard::parse_arg_specs(word.args)) {
            const bool names = spec.kind == "name" || spec.kind == "names";
            // A loop without a factor is one whose extent is constant.
            const bool left_out = spec.optional && !names && !random_.percent(spec.kind == "size" ? 92 : 60);
            const std::string arg = left_out ? "nil" : argument(word, spec, f, stage);
            args_.push_back(arg);
            text += (text.empty() ? "" : ", ") + arg;
        }
        // Loops of a reduction run in any order where updates are atomic.
        const bool reduces = !loops_.empty() && std::find(f.dims.begin(), f.dims.end(), loops_[0]) == f.dims.end();
        if ((said == "vectorize" || said == "parallel") && reduces && random_.percent(60)) {
            receiver += ":atomic()";
        }
        line(receiver + ":" + said + "(" + text + ")");
        follow(said, stage);
    }

    // What the word has made of the loops.
    void follow(const std::string &said, StageText &stage) {
        if ((said == "split" || said == "fuse" || said == "rename" || said == "tile") && !loops_.empty()) {
            auto at = stage.loops.begin();
            for (const auto &l : loops_) {
                const auto it = std::find(stage.loops.begin(), stage.loops.end(), l);
                at = it == stage.loops.end() ? stage.loops.begin() : stage.loops.erase(it);
            }
            // Innermost first; inner loops are named last.
            stage.loops.insert(at, made_.rbegin(), made_.rend());
        }
        made_.clear();
    }

    void rfactor(const std::string &name) {
        FuncText &f = funcs_.at(name);
        if (f.stages.size() < 2) {
            return;
        }
        StageText &stage = f.stages[1 + random_.below(f.stages.size() - 1)];
        std::vector<std::string> reduced;
        for (const auto &l : stage.loops) {
            if (std::find(f.dims.begin(), f.dims.end(), l) == f.dims.end()) {
                reduced.push_back(l);
            }
        }
        if (reduced.empty()) {
            return;
        }
        const std::string loop = random_.of(reduced), kept = new_name();
        FuncText partial;
        partial.name = partial.text = "partial" + std::to_string(++names_);
        partial.readers = {name};
        partial.dims = f.dims;
        partial.dims.push_back(kept);
        partial.stages = {{partial.text, partial.dims}, {partial.text + ":update(0)", partial.dims}};
        for (const auto &l : reduced) {
            if (l != loop) {
                partial.stages[1].loops.push_back(l);
            }
        }
        line("local " + partial.text + " = " + stage.text + ":rfactor(" + quoted(loop) + ", { " + quoted(kept) + " })");
        funcs_[partial.name] = partial;
        place(partial.name);
        say_some(partial.name, 3);
    }

    // One argument that should not be, now and then.
    bool wrong() {
        return illegal_ && random_.percent(15);
    }

    std::string loop_of(const StageText &stage) {
        if (stage.loops.empty() || wrong()) {
            return random_.of(std::vector<std::string>{"nothing", "_0", "r", "col", "__outermost"});
        }
        return random_.of(stage.loops);
    }

    std::string number(const ArgSpec &spec) {
        const bool constant = spec.name == "lanes" || (spec.name == "factor" && spec.optional);
        if (spec.kind != "int" && random_.percent(constant ? 1 : 8)) {
            return random_.of(std::vector<std::string>{"k.x:dim(0):extent()", "k.x:dim(1):extent() // 3", "k.scale", "k.scale - 3",
                                                       "k.x:dim(0):extent() - 40", "k.scale * 4", "k.x:dim(0):min()"});
        }
        const Domain domain = spec.domain.value_or(Domain());
        if (wrong()) {
            std::vector<std::string> bad = {"1.5", "\"4\"", "{}", "0/0", "1 << 40", "-1", "0", "-4", "2147483648"};
            bad.push_back(std::to_string(domain.least - 1));
            bad.push_back(std::to_string(domain.most + 1));
            return random_.of(bad);
        }
        std::vector<int64_t> good;
        std::optional<int64_t> limit;
        if (!domain.below.empty()) {
            limit = args_.size() > 1 ? std::atoll(args_[1].c_str()) : 2;
        }
        // Few are large, since code and memory grow with them.
        for (const int64_t v : {1, 2, 2, 3, 4, 4, 5, 7, 8, 8, 16, 0, 37}) {
            if (domain.contains(v, limit)) {
                good.push_back(v);
            }
        }
        if (random_.percent(4)) {
            good = {domain.least};
        } else if (random_.percent(2)) {
            good = {std::min<int64_t>(domain.most, 1024)};
        }
        return good.empty() ? "1" : std::to_string(random_.of(good));
    }

    std::string list(size_t n, const std::function<std::string()> &item) {
        std::string s = "{ ";
        for (size_t i = 0; i < n; i++) {
            s += (i ? ", " : "") + item();
        }
        return s + " }";
    }

    std::string fresh() {
        made_.push_back(new_name());
        return quoted(made_.back());
    }

    // One that the word does not name yet; of two that are fused, the one around the first.
    std::string take_loop(const Word &word, const StageText &stage) {
        std::string loop = loop_of(stage);
        const auto before = loops_.empty() ? stage.loops.end() : std::find(stage.loops.begin(), stage.loops.end(), loops_.back());
        if (std::string(word.name) == "fuse" && before != stage.loops.end() && before + 1 != stage.loops.end() && !wrong()) {
            loop = before[1];
        }
        for (int n = 0; n < 8 && std::find(loops_.begin(), loops_.end(), loop) != loops_.end(); n++) {
            loop = loop_of(stage);
        }
        loops_.push_back(loop);
        return quoted(loops_.back());
    }

    std::string argument(const Word &word, const ArgSpec &spec, const FuncText &f, const StageText &stage) {
        const std::string &kind = spec.kind;
        const auto &named = halyard::named_values(kind);
        if (!named.empty()) {
            // Most memories and devices are not of a host.
            if (kind == "memory" && !wrong()) {
                return random_.of(std::vector<std::string>{"\"auto\"", "\"heap\"", "\"stack\"", "\"register\""});
            }
            if (kind == "tail" && random_.percent(70)) {
                return random_.of(std::vector<std::string>{"\"guard\"", "\"auto\""});
            }
            return wrong() ? "\"no_such\"" : quoted(random_.of(named).name);
        }
        if (kind == "loop") {
            if (spec.repeated) {
                std::vector<std::string> all = stage.loops;
                std::string s;
                for (size_t n = std::min<size_t>(all.size(), 1 + random_.below(4)); n > 0; n--) {
                    const size_t at = random_.below(all.size());
                    s += (s.empty() ? "" : ", ") + quoted(all[at]);
                    all.erase(all.begin() + long(at));
                }
                return s.empty() ? "\"col\"" : s;
            }
            return take_loop(word, stage);
        }
        if (kind == "loop_or_loops" || kind == "loops") {
            const size_t n = std::min<size_t>(std::max<size_t>(stage.loops.size(), 1), 1 + random_.below(2));
            count_ = n;
            return list(n, [&] { return take_loop(word, stage); });
        }
        if (kind == "level") {
            const auto level = level_in_reader(f);
            return level && !wrong() ? *level : "k.y, \"col\"";
        }
        if (kind == "dim") {
            if (spec.repeated) {
                std::vector<std::string> dims = f.dims;
                std::string s;
                while (!dims.empty()) {
                    const size_t at = random_.below(dims.size());
                    s += (s.empty() ? "" : ", ") + quoted(dims[at]);
                    dims.erase(dims.begin() + long(at));
                }
                return s;
            }
            return wrong() ? "\"depth\"" : quoted(random_.of(f.dims));
        }
        if (kind == "size" || kind == "int" || kind == "expr") {
            return number(spec);
        }
        if (kind == "sizes") {
            const bool estimates = std::string(word.name) == "set_estimates";
            return list(estimates ? 2 * f.dims.size() : count_, [&] { return number(spec); });
        }
        if (kind == "bool") {
            return random_.percent(50) ? "false" : "true";
        }
        if (kind == "condition") {
            return random_.of(std::vector<std::string>{"k.x:dim(0):extent():at_least(40)", "k.x:dim(1):extent():multiple_of(8)",
                                                       "k.scale:eq(3)", "k.x:dim(0):stride():eq(1)"});
        }
        if (kind == "func") {
            if (std::string(word.name).find("in_") != std::string::npos || std::string(word.name) == "clone_in") {
                return f.readers.empty() || wrong() ? "k.y" : funcs_.at(random_.of(f.readers)).text;
            }
            return random_.percent(70) ? "k.x" : funcs_.at(any_func()).text;
        }
        if (kind == "name") {
            return fresh();
        }
        if (kind == "names") {
            return list(count_, [&] { return fresh(); });
        }
        return "\"text\"";
    }

    Random random_;
    bool cuda_, illegal_;
    std::map<std::string, FuncText> funcs_;
    std::vector<std::string> lines_;
    std::vector<std::string> args_;   // of the word that is said now
    std::vector<std::string> loops_;  // that it names
    std::vector<std::string> made_;   // that it makes
    size_t count_ = 1;                // of its lists
    int names_ = 0;
};

}  // namespace

std::string draw_script(const std::string &op, const Halide::Pipeline &pipeline, uint64_t seed, bool cuda) {
    return Script(pipeline, seed, cuda).text(op);
}

}  // namespace fuzz
