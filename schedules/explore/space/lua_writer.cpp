#include "explore/space/lua_writer.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "explore/space/graph.h"
#include "explore/space/lua_helpers.h"
#include "language/lua_text.h"
#include "explore/space/product.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

std::string lanes_text(int64_t vectors) {
    return vectors == 1 ? "lanes" : fmt::format("{} * lanes", vectors);
}

class Writer {
public:
    Writer(const Description &d, const Plan &plan, ScriptPlace place) : d_(d), plan_(plan), place_(std::move(place)) {}

    std::string write(const ScriptHead &head) {
        line("local lanes = target:lanes \"f32\"");
        write_all();
        return lua_head(head.op, "cpu", head.comment, head.generator, "k, p, target", modules_) + out_ + lua_tail();
    }

    // A block of its own, so that no name of it meets one of the script's.
    std::string statements() {
        const std::string outside = place_.indent;
        place_.indent += "  ";
        write_all();
        if (out_.empty()) {
            return "-- halyard explore: what was open is inlined";
        }
        const bool lanes = out_.find("lanes") != std::string::npos;
        std::string head;
        for (const auto &module : modules_) {
            head += fmt::format("{}local {} = require \"lib.{}\"\n", place_.indent, module, module);
        }
        head += lanes ? fmt::format("{}local lanes = {}\n", place_.indent, place_.lanes) : "";
        return "do -- found by halyard explore\n" + head + (lanes ? out_ : out_.substr(1)) + outside + "end";
    }

private:
    void write_all() {
        for (const auto &[name, f] : d_.funcs) {
            if (!f.wraps.empty() && plan_.placed.at(name).place != Place::kInlined) {
                line(fmt::format("local {} = {}:in_()", lua_identifier(name), lua_func(f.wraps)));
            }
        }
        for (const auto &name : plan_.order) {
            if (!d_.func(name)->fixed) {
                write_func(*d_.func(name));
            }
        }
    }

    // How a script says a Func.
    std::string lua_func(const std::string &name) const {
        const Func *f = d_.func(name);
        if (f && !f->wraps.empty()) {
            return lua_identifier(name);
        }
        return is_lua_name(name) ? place_.funcs + "." + name : fmt::format("{}[\"{}\"]", place_.funcs, name);
    }

    void line(const std::string &text) {
        out_ += place_.indent + text + "\n";
    }

    void write_func(const Func &f) {
        const Placed &p = plan_.placed.at(f.name);
        const auto n = plan_.nests.find(f.name);
        out_ += "\n";
        if (const std::string why = comment_on(f, p, n == plan_.nests.end() ? nullptr : &n->second); !why.empty()) {
            line("-- " + why);
        }
        const bool loops = n != plan_.nests.end();
        if (!loops) {
            if (const auto helper = helper_of(f, as_said(f, p), lua_func(f.name), lua_func(p.in))) {
                call(*helper);
                return;
            }
        }
        std::string placed = place_text(f, p);
        if (loops) {
            if (!placed.empty()) {
                line(placed);
            }
            write_nest(f, n->second);
            placed.clear();
        }
        write_bodies(f, p, placed);
    }

    void call(const HelperCall &helper) {
        modules_.insert(helper.module);
        line(helper.text);
    }

    // Whether another Func is computed in a loop of this name.
    bool is_level(const std::string &func, const std::string &loop) const {
        for (const auto &[name, p] : plan_.placed) {
            if (p.in == func && (p.level == loop || p.store_level == loop)) {
                return true;
            }
        }
        for (const auto &[name, n] : plan_.nests) {
            if (n.with == func && n.with_level == loop) {
                return true;
            }
        }
        return false;
    }

    std::string comment_on(const Func &f, const Placed &p, const Nest *n) const {
        if (n && !n->with.empty()) {
            return fmt::format("{}: in the loops of {}.", f.name, n->with);
        }
        if (n) {
            std::vector<std::string> tile;
            for (const Cut &c : n->cuts) {
                if (c.registers || (n->mma && c.tile > 1)) {
                    tile.push_back(fmt::format("{} {}", c.tile, c.dim));
                }
            }
            if (n->mma) {
                return fmt::format("{}: in blocks of {}, which tile instructions sum.", f.name, join(tile, " x "));
            }
            if (!tile.empty()) {
                return fmt::format("{}: in tiles of {}, whose sums are in registers.", f.name, join(tile, " x "));
            }
            return p.place == Place::kRoot && !f.output ? fmt::format("{}: stored whole.", f.name) : "";
        }
        if (!p.store_level.empty()) {
            return fmt::format("{}: a window that moves along {}; what it had is kept.", f.name, p.level);
        }
        if (!p.updates.empty() && p.updates.front().kind == UpdateBody::kMma) {
            return fmt::format("{}: a block of it, by tile instructions.", f.name);
        }
        if (p.on_stack) {
            return fmt::format("{}: a tile in registers, summed over all of its loop.", f.name);
        }
        return "";
    }

    std::string place_text(const Func &f, const Placed &p) const {
        if (f.output) {
            return "";
        }
        std::string text = lua_func(f.name);
        text += p.place == Place::kRoot ? ":compute_root()" : fmt::format(":compute_at({}, {})", lua_func(p.in), in_quotes(p.level));
        text += p.store_level.empty() ? "" : fmt::format(":store_at({}, {})", lua_func(p.in), in_quotes(p.store_level));
        text += p.on_stack ? ":store_in \"stack\"" : "";
        text += f.permuted ? fmt::format(":reorder_storage({})", all_in_quotes(f.dims)) : "";
        for (const auto &c : p.constant) {
            if (promised(f, c.first)) {
                text += fmt::format(":bound_extent({}, {})", in_quotes(c.first), c.second);
            }
        }
        return text;
    }

    // With the promises that are written.
    Placed as_said(const Func &f, Placed p) const {
        for (auto c = p.constant.begin(); c != p.constant.end();) {
            c = promised(f, c->first) ? std::next(c) : p.constant.erase(c);
        }
        return p;
    }

    // Tiles that are moved back are of constant size as it is.
    bool promised(const Func &f, const std::string &dim) const {
        const Placed &p = plan_.placed.at(f.name);
        const auto n = plan_.nests.find(p.in);
        if (n == plan_.nests.end()) {
            return true;
        }
        for (const Cut &c : n->second.cuts) {
            if (c.dim == dim && c.shifted) {
                return false;
            }
        }
        return true;
    }

    std::string stage_text(const Func &f, int stage) const {
        return stage == 0 ? lua_func(f.name) : fmt::format("{}:update({})", lua_func(f.name), stage - 1);
    }

    // The extent of a loop of a Func, as an expression of a script: "" where no buffer has it.
    std::string extent_text(const Func &f, const std::string &dim) const {
        for (size_t i = 0; i < f.dims.size(); i++) {
            if (f.output && f.dims[i] == dim) {
                return fmt::format("{}:dim({}):extent()", lua_func(f.name), i);
            }
        }
        for (const auto &[name, placed] : plan_.placed) {
            if (placed.in != f.name) {
                continue;
            }
            for (const Stage &s : d_.func(name)->stages) {
                for (const Read &r : reads_through(s)) {
                    const auto b = d_.buffers.find(r.func);
                    for (size_t i = 0; b != d_.buffers.end() && i < r.index.size() && i < b->second.extents.size(); i++) {
                        if (r.index[i].is(dim) && double(b->second.extents[i]) == f.extent(dim)) {
                            return fmt::format("{}:dim({}):extent()", lua_func(r.func), i);
                        }
                    }
                }
            }
        }
        return "";
    }

    // One step through Funcs that are inlined is enough for operands.
    std::vector<Read> reads_through(const Stage &s) const {
        std::vector<Read> reads;
        for (const Read &r : s.reads) {
            const Func *f = d_.func(r.func);
            if (!f || f->reduction()) {
                reads.push_back(r);
                continue;
            }
            for (Read inner : f->pure().reads) {
                for (Index &i : inner.index) {
                    for (size_t k = 0; k < f->dims.size(); k++) {
                        if (i.is(f->dims[k])) {
                            i = r.index[k];
                            break;
                        }
                    }
                }
                reads.push_back(inner);
            }
        }
        return reads;
    }

    void write_nest(const Func &f, const Nest &n) {
        const auto helper = helper_of(f, n, lua_func(f.name), is_level(f.name, "row_task"));
        if (helper) {
            call(*helper);
            return;
        }
        const bool root = plan_.placed.at(f.name).place == Place::kRoot;
        std::vector<const Cut *> moved;
        std::vector<std::string> conditions, names, sizes, ones;
        for (const Cut &c : n.cuts) {
            const std::string extent = c.shifted && root ? extent_text(f, c.dim) : "";
            if (c.shifted && c.tile > 1 && !extent.empty()) {
                moved.push_back(&c);
                conditions.push_back(fmt::format("{}:at_least({})", extent, c.tile));
                names.push_back(c.dim + "_tile");
                sizes.push_back(std::to_string(c.tile));
                ones.emplace_back("1");
            }
        }
        for (const Cut &c : n.cuts) {
            // A panel of packed columns begins where a tile does.
            for (size_t i = 0; i < f.dims.size(); i++) {
                if (f.output && n.inside.empty() && (c.registers || n.vector == c.dim + "_in") && !c.shifted && f.dims[i] == c.dim) {
                    line(fmt::format("{}:dim({}):set_min(0)", lua_func(f.name), i));
                }
            }
        }
        if (moved.empty()) {
            write_loops(f, n, stage_text(f, n.stage), {}, place_.indent);
        } else {
            const std::string function = "tile_" + lua_identifier(f.name);
            line(fmt::format("local function {}(stage, {})", function, join(names, ", ")));
            write_loops(f, n, "stage", moved, place_.indent + "  ");
            line("end");
            std::string condition = conditions[0];
            for (size_t i = 1; i < conditions.size(); i++) {
                condition += fmt::format(":and_({})", conditions[i]);
            }
            line(fmt::format("{}({}:specialize({}), {})", function, stage_text(f, n.stage), condition, join(sizes, ", ")));
            line(fmt::format("{}({}, {})", function, stage_text(f, n.stage), join(ones, ", ")));
        }
        if (n.one_piece) {
            line(fmt::format("{}:never_partition_all()", lua_func(f.name)));
        }
        if (n.stream) {
            line(fmt::format("{}:stream()", lua_func(f.name)));
        }
    }

    void write_loops(const Func &f, const Nest &n, const std::string &stage, const std::vector<const Cut *> &moved,
                     const std::string &indent) {
        const auto say = [&](const std::string &text) { out_ += indent + text + "\n"; };
        for (const Cut &c : n.cuts) {
            const bool variable = std::count(moved.begin(), moved.end(), &c) > 0;
            std::string outer = c.dim;
            if (c.tile > 1) {
                const std::string size = variable ? c.dim + "_tile" : std::to_string(c.tile);
                const std::string tail = variable    ? fmt::format("{} > 1 and \"shift_inwards\" or \"auto\"", size)
                                         : c.shifted ? "\"shift_inwards\""
                                                     : "\"guard\"";
                outer = c.tiles();
                say(fmt::format("{}:split({}, {}, {}, {}, {})", stage, in_quotes(c.dim), size, tail, in_quotes(outer),
                                in_quotes(c.inner())));
            }
            if (c.task > 0) {
                say(fmt::format("{}:split({}, {}, \"guard\", {}, {})", stage, in_quotes(outer), c.task, in_quotes(c.tasks()),
                                in_quotes(c.in_task())));
                outer = c.in_task();
            }
            if (c.keeps_name && outer != c.dim) {
                say(fmt::format("{}:rename({}, {})", stage, in_quotes(outer), in_quotes(c.dim)));
            }
        }
        std::vector<std::string> order;
        for (const Level &l : n.levels) {
            if (&l == &n.levels.back() && !n.job.empty()) {
                order.insert(order.end(), n.job.begin(), n.job.end());
            } else {
                order.push_back(l.name);
            }
            if (l.vector) {
                order.insert(order.end(), n.inside.begin(), n.inside.end());
            }
        }
        if (order.size() > 1 && (f.permuted || !(order == f.dims && n.cuts.empty()))) {
            say(fmt::format("{}:reorder({})", stage, all_in_quotes(order)));
        }
        std::string job = n.job.empty() ? "" : n.job[0];
        for (size_t i = 1; i < n.job.size(); i++) {
            const std::string name = i + 1 == n.job.size() ? "job" : fmt::format("jobs_{}", i);
            say(fmt::format("{}:fuse({}, {}, {})", stage, in_quotes(job), in_quotes(n.job[i]), in_quotes(name)));
            job = name;
        }
        if (!job.empty()) {
            say(fmt::format("{}:parallel {}", stage, in_quotes(job)));
        }
        for (const Level &l : n.levels) {
            if (n.unroll_rows && l.inside_tile && !l.vector) {
                say(fmt::format("{}:unroll {}", stage, in_quotes(l.name)));
            }
        }
        if (!n.vector.empty() && n.whole_vectors) {
            say(fmt::format("{}:vectorize({}, lanes, \"guard\"):unroll {}", stage, in_quotes(n.vector), in_quotes(n.vector)));
        } else if (!n.vector.empty() && n.vectors == 0) {
            say(fmt::format("{}:vectorize {}", stage, in_quotes(n.vector)));
            for (const Level &l : n.levels) {
                if (l.inside_tile && !l.vector) {
                    say(fmt::format("{}:unroll {}", stage, in_quotes(l.name)));
                }
            }
        } else if (!n.vector.empty()) {
            say(fmt::format("{}:vectorize({}, {}, \"guard\")", stage, in_quotes(n.vector),
                            n.half_vectors ? "lanes // 2" : lanes_text(n.vectors)));
        }
        if (!n.with.empty()) {
            say(fmt::format("{}:compute_with({}, {})", stage, lua_func(n.with), in_quotes(n.with_level)));
        }
    }

    // Sums over the lanes of a vector: what is left of the loop goes to a Func of its own, with the lanes as a
    // dimension.
    void write_dots(const Func &f, const Placed &p, const std::string &placed) {
        const UpdateBody &u = p.updates.front();
        const std::string self = lua_func(f.name), partial = lua_identifier(f.name) + "_lanes";
        std::vector<std::string> storage = {"lane"};
        storage.insert(storage.end(), f.dims.begin(), f.dims.end());
        std::vector<std::string> order = {"lane"};
        order.insert(order.end(), u.unrolled.begin(), u.unrolled.end());
        order.emplace_back("step");
        line(fmt::format("{}:update(0):split({}, lanes, \"guard\", \"step\", \"part\")", self, in_quotes(u.lanes_loop)));
        line(fmt::format("local {} = {}:update(0):rfactor(\"part\", {{ \"lane\" }})", partial, self));
        line(placed + unrolled_words(p.unrolled));
        if (u.vector.empty()) {
            line(fmt::format("{}:update(0):atomic():vectorize \"part\"{}", self, unrolled_words(u.unrolled)));
        } else {
            std::vector<std::string> others = u.unrolled, loops = {"part"};
            loops.insert(loops.end(), others.begin(), others.end());
            others.erase(std::find(others.begin(), others.end(), u.vector));
            line(fmt::format("{}:update(0):reorder({}):atomic():vectorize \"part\":vectorize {}{}", self, all_in_quotes(loops),
                             in_quotes(u.vector), unrolled_words(others)));
        }
        std::string place = placed.substr(self.size());
        line(fmt::format("{}{}:reorder_storage({}):vectorize \"lane\"{}", partial, place, all_in_quotes(storage),
                         unrolled_words(u.unrolled)));
        line(fmt::format("{}:update(0):reorder({}):vectorize \"lane\"{}", partial, all_in_quotes(order), unrolled_words(u.unrolled)));
    }

    void write_bodies(const Func &f, const Placed &p, std::string placed) {
        if (!p.updates.empty() && p.updates.front().kind == UpdateBody::kDots) {
            write_dots(f, p, placed);
            return;
        }
        const auto say = [&](const std::string &words, int stage) {
            if (words.empty() && placed.empty()) {
                return;
            }
            // What is said of the first stage that has something to say follows the place of the Func.
            if (!placed.empty()) {
                line(placed + (stage > 0 && !words.empty() ? fmt::format(":update({})", stage - 1) : "") + words);
                placed.clear();
            } else {
                line(stage_text(f, stage) + words);
            }
        };
        std::vector<std::string> loops = p.order;
        if (loops.empty() && f.permuted && !plan_.nests.count(f.name) && f.dims.size() > 1) {
            loops = f.dims;
        }
        const std::string order = (loops.empty() ? "" : fmt::format(":reorder({})", all_in_quotes(loops))) +
                                  (p.parallel.empty() ? "" : ":parallel " + in_quotes(p.parallel));
        say(order + (p.width > 0 ? fmt::format(":vectorize({}, {}, \"guard\")", in_quotes(p.vector), p.width) + unrolled_words(p.unrolled)
                                 : vector_words(p.vector, p.vectors, p.on_stack, p.unrolled)),
            0);
        for (size_t u = 0; u < p.updates.size(); u++) {
            if (p.updates[u].kind == UpdateBody::kTile && p.updates[u].group > 1) {
                if (!placed.empty()) {
                    line(placed);
                    placed.clear();
                }
                line(fmt::format("{}:split({}, {}, \"guard\", \"groups\", \"member\")", stage_text(f, int(u) + 1),
                                 in_quotes(p.updates[u].grouped), p.updates[u].group));
            }
            if (const UpdateBody &strips = p.updates[u]; strips.kind == UpdateBody::kStrips && strips.strip > 0) {
                if (!placed.empty()) {
                    line(placed);
                    placed.clear();
                }
                line(fmt::format("{}:split({}, {}, \"guard\", {}, {})", stage_text(f, int(u) + 1), in_quotes(strips.vector), strips.strip,
                                 in_quotes(strips.vector + "_strip"), in_quotes(strips.vector + "_in")));
            }
            if (p.updates[u].kind == UpdateBody::kPrivate) {
                if (!placed.empty()) {
                    line(placed);
                    placed.clear();
                }
                write_copies(f, p.updates[u], int(u) + 1);
                continue;
            }
            say(update_words(p.updates[u], p), int(u) + 1);
        }
        if (!placed.empty()) {
            line(placed);
        }
    }

    // Each task adds to a copy of its own, and those are added then.
    void write_copies(const Func &f, const UpdateBody &u, int stage) {
        const std::string self = stage_text(f, stage), copies = lua_identifier(f.name) + "_copies";
        const std::string lanes = u.vector.empty() ? "" : fmt::format(":vectorize({}, lanes, \"guard\")", in_quotes(u.vector));
        line(fmt::format("{}:split({}, {}, \"guard\", \"task\", \"of_task\")", self, in_quotes(u.lanes_loop), u.strip));
        line(fmt::format("local {} = {}:rfactor(\"task\", {{ \"copy\" }})", copies, self));
        line(fmt::format("{}:compute_root(){}:update(0):parallel \"copy\"", copies, lanes));
        if (!u.vector.empty()) {
            line(fmt::format("{}:reorder({}, \"task\"){}", self, in_quotes(u.vector), lanes));
        }
    }

    // Strips of a loop in SIMD lanes are tasks, in which the loops of a sum or of a recurrence run in their order.
    static std::string strip_words(const UpdateBody &u) {
        const std::string inner = u.strip > 0 ? u.vector + "_in" : u.vector, strips = u.vector + "_strip";
        std::vector<std::string> order = {inner};
        order.insert(order.end(), u.order.begin(), u.order.end());
        if (u.strip > 0) {
            order.push_back(strips);
        }
        std::string words = order.size() > 1 ? fmt::format(":reorder({})", all_in_quotes(order)) : "";
        const std::string tasks = u.strip > 0 ? strips : u.parallel;
        words += tasks.empty() ? "" : ":parallel " + in_quotes(tasks);
        return words + fmt::format(":vectorize({}, lanes, \"guard\")", in_quotes(inner));
    }

    static std::string unrolled_words(const std::vector<std::string> &loops) {
        std::string text;
        for (const auto &u : loops) {
            text += ":unroll " + in_quotes(u);
        }
        return text;
    }

    static std::string vector_words(const std::string &vector, int64_t vectors, bool tile, const std::vector<std::string> &unrolled) {
        if (vector.empty()) {
            return unrolled_words(unrolled);
        }
        return fmt::format(":vectorize({}, {}{})", in_quotes(vector), lanes_text(vectors), tile ? "" : ", \"guard\"") +
               unrolled_words(unrolled);
    }

    std::string update_words(const UpdateBody &u, const Placed &p) const {
        switch (u.kind) {
        case UpdateBody::kLanes:
            return fmt::format(":atomic():vectorize({}, {}, \"guard\")", in_quotes(u.lanes_loop), lanes_text(u.accumulators));
        case UpdateBody::kColumns:
            return (u.order.empty() ? "" : fmt::format(":reorder({})", all_in_quotes(u.order))) +
                   fmt::format(":vectorize({}, lanes, \"guard\")", in_quotes(u.vector));
        case UpdateBody::kTile: return tile_words(u, p);
        case UpdateBody::kStrips: return strip_words(u);
        default: return "";
        }
    }

    std::string tile_words(const UpdateBody &u, const Placed &p) const {
        std::vector<std::string> order = u.order;
        int64_t vectors = 1;
        if (u.group > 1) {
            std::replace(order.begin(), order.end(), u.grouped, std::string("groups"));
            if (u.dot) {
                order.insert(order.begin(), "member");
                // Halide 21 gathers the last of some single vectors of groups.
                vectors = int64_t(p.region.at(u.vector)) % (2 * d_.lanes()) == 0 ? 2 : 1;
            } else {
                order.insert(std::find(order.begin(), order.end(), "groups"), "member");
            }
        }
        std::string words = fmt::format(":reorder({})", all_in_quotes(order));
        if (u.group > 1) {
            words += u.dot ? ":atomic():vectorize \"member\"" : ":unroll \"member\"";
        }
        words += fmt::format(":vectorize({}, {})", in_quotes(u.vector), lanes_text(vectors)) + unrolled_words(u.unrolled);
        return words;
    }

    const Description &d_;
    const Plan &plan_;
    ScriptPlace place_;
    std::set<std::string> modules_;  // of the library, that are called
    std::string out_;
};

}  // namespace

std::string write_lua(const Description &description, const Plan &plan, const ScriptHead &head) {
    return Writer(description, plan, {}).write(head);
}

std::string write_statements(const Description &description, const Plan &plan, const ScriptPlace &place) {
    return Writer(description, plan, place).statements();
}

}  // namespace halyard::explore
