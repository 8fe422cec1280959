#include "language/binding.h"

#include "language/effects.h"
#include "language/exact_numbers.h"
#include "language/halide_texts.h"
#include "language/nest.h"
#include "language/tails.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <set>

namespace halyard {

using namespace Halide;
using Internal::Dim;

namespace {

// What a stage computes.
std::vector<Expr> values_of(const Handle &stage) {
    const Internal::Function f = stage.func.function();
    const int i = stage.stage_index;
    return i == 0 ? f.values() : f.update(i - 1).values();
}

// Halide runs a loop that was said to be one of a device, and is said to be another now, on the host, and copies nothing back.
void leave_device(Internal::StageSchedule schedule) {
    for (Internal::Dim &d : schedule.dims()) {
        const bool on_device = d.for_type == Internal::ForType::GPUBlock || d.for_type == Internal::ForType::GPUThread ||
                               d.for_type == Internal::ForType::GPULane;
        d.device_api = on_device ? d.device_api : DeviceAPI::None;
    }
}

const char *const kMetatable = "halyard.handle";
const char *const kBindingKey = "halyard.binding";

constexpr int kMostOperations = 1000;  // of an expression: Halide goes into it as deep as it is
constexpr int kMostEnds = 100;         // in it (exact_numbers.h): Halide tries both sides of each

int next_number() {
    static int last = 0;
    return ++last;
}

struct Operations {
    int all = 0, ends = 0;
};

Operations operations_in(const Expr &e) {
    class Count : public Internal::IRMutator {
    public:
        using IRMutator::mutate;
        Expr mutate(const Expr &e) override {
            n.all++;
            n.ends += e.as<Internal::Max>() || e.as<Internal::Min>();
            return IRMutator::mutate(e);
        }
        Operations n;
    } count;
    count.mutate(e);
    return count.n;
}

// Words that ask and change nothing.
bool only_asks(const Word &word, Handle::Kind receiver) {
    static const std::set<std::string> kOfAll = {"dim", "min", "extent", "stride", "type", "has_condition", "update", "reduction"};
    return receiver == Handle::kExpr || kOfAll.count(word.name) > 0;
}

std::vector<Dim> dims_of(const Handle &h) {
    if (h.kind == Handle::kDimension || h.kind == Handle::kExpr) {
        return {};
    }
    const Stage s = h.stage ? *h.stage : stage_of(h.func, h.stage_index);
    return s.get_schedule().dims();
}

}  // namespace

// Halide's own messages start with a restatement of the kind of error; the rest is the message.
std::string halide_message(std::string s) {
    for (const char *prefix : {"User error:", "Error:", "Internal error:"}) {
        const size_t n = std::string(prefix).size();
        if (s.compare(0, n, prefix) == 0) {
            s = s.substr(n);
        }
    }
    // What it names next are ways around its proof, which a schedule has not.
    if (const size_t ways = s.find("It is possible to parallelize this by using the atomic()"); ways != std::string::npos) {
        s.replace(ways, std::string::npos, "Say atomic() before, if the operation is associative.");
    }
    const size_t begin = s.find_first_not_of(" \n");
    const size_t end = s.find_last_not_of(" \n");
    return begin == std::string::npos ? s : s.substr(begin, end - begin + 1);
}

std::string article(Handle::Kind kind) {
    return std::string(kind == Handle::kExpr ? "an " : "a ") + kind_name(kind);
}

const char *kind_name(Handle::Kind kind) {
    switch (kind) {
    case Handle::kFunc: return "Func";
    case Handle::kStage: return "Stage";
    case Handle::kLoop: return "Loop";
    case Handle::kDimension: return "Dimension";
    default: return "Expr";
    }
}

Binding::Binding(LuaHost &host, PipelineView &view) : host_(host), view_(view), number_(next_number()) {
    host_.protect([this](lua_State *L) {
        lua_pushlightuserdata(L, this);
        lua_setfield(L, LUA_REGISTRYINDEX, kBindingKey);
        luaL_newmetatable(L, kMetatable);
        lua_pushcfunction(L, index_handle);
        lua_setfield(L, -2, "__index");
        lua_pushcfunction(L, [](lua_State *L) -> int {
            static_cast<Handle *>(lua_touserdata(L, 1))->~Handle();
            return 0;
        });
        lua_setfield(L, -2, "__gc");
        lua_pushcfunction(L, describe);
        lua_setfield(L, -2, "__tostring");
        lua_pushcfunction(L, equal);
        lua_setfield(L, -2, "__eq");
        lua_pushcfunction(L, [](lua_State *L) -> int { return luaL_error(L, "a handle has words to call, not fields to set"); });
        lua_setfield(L, -2, "__newindex");
        for (const char *comparison : {"__lt", "__le"}) {
            lua_pushcfunction(L, [](lua_State *L) -> int {
                return luaL_error(L, "an expression has its value when the library runs: write a condition for "
                                     "specialize, as in k.x:dim(0):extent():at_least(64)");
            });
            lua_setfield(L, -2, comparison);
        }
        lua_pushliteral(L, "handle");
        lua_setfield(L, -2, "__name");
        const char *operators[] = {"__add", "__sub", "__mul", "__idiv", "__mod"};
        for (int i = 0; i < 5; i++) {
            lua_pushinteger(L, i);
            lua_pushcclosure(L, arithmetic, 1);
            lua_setfield(L, -2, operators[i]);
        }
    });
}

Binding &Binding::of(lua_State *L) {
    lua_getfield(L, LUA_REGISTRYINDEX, kBindingKey);
    auto *b = static_cast<Binding *>(lua_touserdata(L, -1));
    lua_pop(L, 1);
    return *b;
}

void Binding::push(lua_State *L, Handle handle) {
    handle.binding = number_;
    const Operations n = handle.kind == Handle::kExpr ? operations_in(handle.expr) : Operations();
    if (n.all > kMostOperations || n.ends > kMostEnds) {
        Diagnostic d;
        d.message = n.all > kMostOperations ? "an expression has more than " + std::to_string(kMostOperations) + " operations"
                                            : std::string("an expression multiplies too many numbers: it may need more than 64 bits");
        d.hint = "a number of a schedule is computed in Lua as far as it is known there";
        host_.raise(std::move(d));
    }
    void *memory = lua_newuserdatauv(L, sizeof(Handle), 0);
    new (memory) Handle(std::move(handle));
    luaL_setmetatable(L, kMetatable);
}

Handle *Binding::handle_at(lua_State *L, int index) {
    return static_cast<Handle *>(luaL_testudata(L, index, kMetatable));
}

void Binding::push_funcs(lua_State *L) {
    lua_newtable(L);
    lua_newtable(L);
    lua_pushcfunction(L, index_funcs);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, [](lua_State *L) -> int {
        Diagnostic d;
        d.message = "the Funcs of the algorithm cannot be replaced";
        LuaHost::of(L).raise(std::move(d));
    });
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
}

int Binding::index_funcs(lua_State *L) {
    Binding &b = of(L);
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    // k:has "bias" asks for a stage that only some variants of the algorithm have.
    if (name == "has") {
        lua_pushcfunction(L, [](lua_State *L) -> int {
            lua_pushboolean(L, of(L).view_.funcs().count(luaL_checkstring(L, 2)) > 0);
            return 1;
        });
        return 1;
    }
    // k:names() are the Funcs that can be scheduled, for a script that treats them all alike.
    if (name == "names") {
        lua_pushcfunction(L, [](lua_State *L) -> int {
            lua_newtable(L);
            lua_Integer n = 0;
            for (const auto &f : of(L).view_.funcs()) {
                if (!f.second.parameter.defined()) {
                    lua_pushstring(L, f.first.c_str());
                    lua_rawseti(L, -2, ++n);
                }
            }
            return 1;
        });
        return 1;
    }
    // k:libm() has functions of f32 as Halide and libm have them.
    if (name == "libm") {
        lua_pushcfunction(L, keep_libm);
        return 1;
    }
    // k:reader_of(k.curve) is a Func by what it reads.
    if (name == "reader_of") {
        lua_pushcfunction(L, reader_of);
        return 1;
    }
    // k:open "weight" leaves it to `halyard explore`.
    if (name == "open") {
        lua_pushcfunction(L, open);
        return 1;
    }
    const auto entry = b.view_.funcs().find(name);
    if (entry != b.view_.funcs().end()) {
        Handle h;
        h.func = Func(entry->second.function);
        h.func_name = name;
        h.parameter = entry->second.parameter;
        b.push(L, std::move(h));
        return 1;
    }
    const auto scalar = b.view_.scalars().find(name);
    if (scalar != b.view_.scalars().end()) {
        Handle h;
        h.kind = Handle::kExpr;
        h.expr = Internal::Variable::make(scalar->second.type(), name, scalar->second);
        b.push(L, std::move(h));
        return 1;
    }
    b.host_.raise(b.no_func(name));
}

// Of words that had another name once: the one that they have.
std::string Binding::name_now(const std::string &word) {
    static const std::map<std::string, std::string> kNow = {{"cluster", "split_k_cluster"}, {"warps", "split_k_warps"}};
    const auto it = kNow.find(word);
    return it == kNow.end() ? "" : it->second;
}

Diagnostic diagnostic_at(const Touch &t) {
    Diagnostic d;
    d.file = t.place.file;
    d.line = t.place.line;
    d.inside = t.place.inside;
    d.word = t.word;
    return d;
}

Diagnostic Binding::no_func(const std::string &name) const {
    std::vector<std::string> names = view_.names();
    for (const auto &s : view_.scalars()) {
        names.push_back(s.first);
    }
    Diagnostic d;
    d.message = "there is no Func \"" + name + "\" in this algorithm; there are " + quoted_list(names);
    d.hint = did_you_mean(name, names);
    return d;
}

int Binding::keep_libm(lua_State *L) {
    Binding &b = of(L);
    const auto fail = [&](const std::string &message, const std::string &hint) {
        Diagnostic d;
        d.word = "libm";
        d.message = message;
        d.hint = hint;
        b.host_.raise(std::move(d));
    };
    if (lua_gettop(L) != 1 || !lua_istable(L, 1)) {
        fail("is about all functions of the pipeline, and takes nothing", "write k:libm()");
    }
    if (b.target.has_feature(Target::CUDA)) {
        fail("is for the host", "leave it out: on CUDA, functions of f32 are CUDA's own");
    }
    b.libm = true;
    return 0;
}

int Binding::reader_of(lua_State *L) {
    Binding &b = of(L);
    const auto fail = [&](const std::string &message, const std::string &hint = "") {
        Diagnostic d;
        d.word = "reader_of";
        d.message = message;
        d.hint = hint;
        b.host_.raise(std::move(d));
    };
    const Handle *read = handle_at(L, 2);
    if (lua_gettop(L) < 2 || lua_gettop(L) > 3 || !lua_istable(L, 1) || !read || read->kind != Handle::kFunc) {
        fail("takes a Func, and which of its readers is meant", "write k:reader_of(k.y) or k:reader_of(k.y, 0)");
    }
    const std::vector<std::string> readers = b.view_.readers_of(read->func);
    size_t i = 0;
    if (lua_gettop(L) == 3) {
        if (!lua_isinteger(L, 3)) {
            fail("takes a whole number for which of the readers is meant");
        }
        const lua_Integer n = lua_tointeger(L, 3);
        if (n < 0 || size_t(n) >= readers.size()) {
            fail("finds no reader " + std::to_string(n) + " of " + read->func_name + "; it has " + std::to_string(readers.size()) +
                 ", counted from 0");
        }
        i = size_t(n);
    } else if (readers.size() != 1) {
        fail(readers.empty() ? read->func_name + " is read by no Func" : read->func_name + " is read by several: " + quoted_list(readers),
             readers.empty() ? "" : "say which, counted from 0 in this order: k:reader_of(k." + read->func_name + ", 0)");
    }
    const auto &entry = b.view_.funcs().at(readers[i]);
    Handle h;
    h.func = Func(entry.function);
    h.func_name = entry.name;
    b.push(L, std::move(h));
    return 1;
}

int Binding::open(lua_State *L) {
    Binding &b = of(L);
    const auto fail = [&](const std::string &message, const std::string &hint) {
        Diagnostic d;
        d.word = "open";
        d.message = message;
        d.hint = hint;
        b.host_.raise(std::move(d));
    };
    if (!lua_istable(L, 1)) {
        fail("is called without the Funcs that it is for", "write a colon: k:open(\"...\")");
    }
    if (!b.may_be_open) {
        fail("what stands here is left to a search, so there is nothing to build yet",
             "`halyard explore OP --schedule FILE -o FOUND` looks for it, and writes a script that is whole");
    }
    if (b.open_) {
        fail("stands here a second time", "name all Funcs in one: k:open(\"a\", \"b\"), or none for all the others");
    }
    OpenPart part;
    b.host_.where(part.file, part.line);
    if (part.file != b.host_.files().front()) {
        fail("stands in a file that the script requires", "what is found is written in its place: put it into the script");
    }
    for (int i = 2; i <= lua_gettop(L); i++) {
        const std::string name = lua_type(L, i) == LUA_TSTRING ? lua_tostring(L, i) : "";
        if (name.empty()) {
            fail("takes names of Funcs, not " + std::string(luaL_typename(L, i)), "write k:open(\"a\", \"b\")");
        }
        const auto entry = b.view_.funcs().find(name);
        if (entry == b.view_.funcs().end()) {
            Diagnostic d = b.no_func(name);
            d.word = "open";
            b.host_.raise(std::move(d));
        }
        if (entry->second.parameter.defined()) {
            fail(name + " is an input, of which there is nothing to decide", "");
        }
        part.funcs.push_back(name);
    }
    lua_Debug caller;
    if (lua_getstack(L, 1, &caller)) {
        const char *local = nullptr;
        for (int n = 1; (local = lua_getlocal(L, &caller, n)) != nullptr; n++) {
            part.target = part.target || (std::string(local) == "target" && lua_istable(L, -1));
            lua_pop(L, 1);
        }
    }
    part.touches = b.touches_.size();
    b.open_ = std::move(part);
    return 0;
}

int Binding::index_handle(lua_State *L) {
    Binding &b = of(L);
    const Handle *h = handle_at(L, 1);
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    std::vector<std::string> names;
    for (const Word &w : words()) {
        if (!word_applies(w, h->kind)) {
            continue;
        }
        if (name == w.name) {
            lua_pushlightuserdata(L, const_cast<Word *>(&w));
            lua_pushcclosure(L, call_word, 1);
            return 1;
        }
        names.emplace_back(w.name);
    }
    Diagnostic d;
    d.word = name;
    std::string elsewhere;
    for (const Word &w : words()) {
        if (name == w.name) {
            elsewhere = kind_name(w.on);
        }
    }
    d.message = elsewhere.empty() ? "there is no such word for " + article(h->kind)
                                  : "is a word of a " + elsewhere + ", not of " + article(h->kind);
    if (const std::string now = name_now(name); !now.empty()) {
        d.hint = "it is called \"" + now + "\" now";
    } else if (elsewhere.empty()) {
        d.hint = did_you_mean(name, names);
    } else if (elsewhere == "Dimension") {
        d.hint = "a Dimension is k." + h->func_name + ":dim(0)";
    } else if (!h->func_name.empty()) {
        d.hint = "write k." + h->func_name + ":" + name + "(...)";
    }
    if (d.hint.empty() && elsewhere.empty()) {
        d.hint = "the words of " + article(h->kind) + " are " + quoted_list(names);
    }
    b.host_.raise(std::move(d));
}

// Of several versions each has a pipeline of its own.
void Binding::check_version(Binding &b, lua_State *L, const Call &call) {
    const auto check = [&](int index) {
        const Handle *h = handle_at(L, index);
        if (h && h->binding != b.number_) {
            call.fail("is given " + article(h->kind) + " of another version", "take it from the k of this call of apply");
        }
    };
    for (int i = 1; i <= lua_gettop(L); i++) {
        check(i);
        for (lua_Integer n = 1; lua_istable(L, i) && n <= lua_Integer(lua_rawlen(L, i)); n++) {
            lua_rawgeti(L, i, n);
            check(-1);
            lua_pop(L, 1);
        }
    }
}

int Binding::call_word(lua_State *L) {
    Binding &b = of(L);
    const auto *word = static_cast<const Word *>(lua_touserdata(L, lua_upvalueindex(1)));
    const Handle *self = handle_at(L, 1);
    if (!self || !word_applies(*word, self->kind)) {
        Diagnostic d;
        d.word = word->name;
        d.message = "is called without the Func, stage or loop that it is for";
        d.hint = std::string("write a colon: k.y:") + word->name + "(...)";
        b.host_.raise(std::move(d));
    }
    // Keep a copy: the word may free what the handle refers to.
    const Handle receiver = *self;
    Call call{b, L, receiver, {}, -1};
    b.current_ = word;
    b.applies_ = false;
    check_version(b, L, call);
    if (b.only_conditions && !only_asks(*word, receiver.kind)) {
        call.fail("stands in `versions`, which says when a version is taken, and schedules nothing", "put it into `apply`");
    }
    if (b.before_word) {
        Touch t{"", 0, word->name, receiver.func_name, {}, b.host_.place()};
        b.host_.where(t.file, t.line);
        b.before_word(t);
    }
    const bool implied = receiver.kind == Handle::kLoop;
    call.args = read_arguments(b, L, *word, receiver, implied ? &receiver.loop : nullptr);
    if (implied) {
        bool exists = false;
        for (const auto &l : loops_of(call.stage())) {
            exists = exists || l.halide == receiver.loop.halide;
        }
        if (!exists) {
            call.fail("the loop \"" + receiver.loop.name + "\" of " + receiver.func_name + " is no more: it was split, fused or renamed");
        }
    }
    const std::vector<Dim> before = dims_of(receiver);
    std::string problem;
    check_effect(call, *word);
    b.applies_ = !only_asks(*word, receiver.kind);
    try {
        word->apply(call);
    } catch (const Halide::Error &e) {
        problem = e.what();
    }
    if (!problem.empty()) {
        const PlainText plain = plain_text(b.view_, problem);
        std::vector<std::string> loops;
        for (const auto &a : call.args) {
            for (const auto &l : a.loops) {
                loops.push_back(l.name);
            }
        }
        call.fail(with_loop(plain.message, loops), plain.hint);
    }
    if (word->on == Handle::kStage && receiver.kind != Handle::kExpr && receiver.kind != Handle::kDimension) {
        const bool pure = receiver.stage_index == 0;
        if (const std::string wrong = wrong_tails(call.stage().get_schedule(), pure); !wrong.empty()) {
            call.fail(wrong, "split the outer loop first, or let one of the tails be \"guard\"");
        }
        if (const std::string wrong = wrong_values(call.stage().get_schedule(), receiver.func.name(), values_of(receiver));
            !wrong.empty()) {
            call.fail(wrong, "let the tail be \"guard\"");
        }
        if (const std::string wrong = wrong_masks(call.stage().get_schedule(), values_of(receiver), pure, b.target); !wrong.empty()) {
            call.fail(wrong, "take as many lanes as a vector has, or a multiple");
        }
        leave_device(call.stage().get_schedule());
    }
    b.applies_ = false;
    b.record(*word, receiver, call.args, before);
    b.current_ = nullptr;
    if (call.results < 0) {
        lua_pushvalue(L, 1);
        return 1;
    }
    return call.results;
}

namespace {

double largest_number(const std::vector<Argument> &args) {
    double largest = 0;
    const auto look = [&](const Expr &e) {
        const auto value = e.defined() ? Internal::as_const_int(e) : std::nullopt;
        largest = std::max(largest, value ? std::fabs(double(*value)) : 0);
    };
    for (const Argument &a : args) {
        largest = std::max(largest, std::fabs(double(a.integer)));
        look(a.expr);
        std::for_each(a.exprs.begin(), a.exprs.end(), look);
    }
    return largest;
}

bool has_open_number(const std::vector<Argument> &args) {
    const auto is_open = [](const Expr &e) { return e.defined() && !Internal::is_const(e); };
    return std::any_of(args.begin(), args.end(),
                       [&](const Argument &a) { return is_open(a.expr) || std::any_of(a.exprs.begin(), a.exprs.end(), is_open); });
}

}  // namespace

void Binding::record(const Word &word, const Handle &self, const std::vector<Argument> &args, const std::vector<Dim> &before) {
    if (only_asks(word, self.kind)) {
        return;
    }
    Touch t;
    host_.where(t.file, t.line);
    t.place = host_.place();
    t.word = word.name;
    t.func = self.func_name;
    if (word.on == Handle::kStage) {
        for (const auto &a : args) {
            for (const auto &l : a.loops) {
                t.loops.push_back(l.name);
            }
        }
        for (const Dim &d : dims_of(self)) {
            bool same = false;
            for (const Dim &old : before) {
                same = same || (old.var == d.var && old.for_type == d.for_type);
            }
            if (!same) {
                t.loops.push_back(loop_name(d.var));
            }
        }
    }
    t.number = largest_number(args);
    t.has_open_number = has_open_number(args);
    touches_.push_back(t);
    if (on_word) {
        host_.excuse([&] { on_word(t); });
    }
}

void Binding::require(const Expr &condition, const Expr &value, const std::string &message) {
    std::string file;
    int line = 0;
    host_.where(file, line);
    // The name alone: the bytes of a library do not depend on the folder of its script.
    const std::string where = file.substr(file.rfind('/') + 1) + ":" + std::to_string(line) + ": ";
    requirements_.push_back({condition, value, where + message});
}

void Binding::add_requirements(Pipeline pipeline) const {
    for (const Requirement &r : requirements_) {
        pipeline.add_requirement(r.condition, std::vector<Expr>{Expr(r.message + ", not"), r.value});
    }
}

void Binding::stream(const Halide::Internal::Function &output, int64_t above) {
    for (auto &s : streamed_) {
        if (s.func.same_as(output)) {
            s.above = above;
            return;
        }
    }
    streamed_.push_back({output, above});
}

void Binding::fetch(const Halide::Internal::Function &f, int ahead) {
    for (auto &other : fetched_) {
        if (other.func.same_as(f)) {
            other.ahead = ahead;
            return;
        }
    }
    fetched_.push_back({f, ahead});
}

bool Binding::pipeline(const Halide::Internal::Function &f, int stage, int stages, int raster, bool ping_pong) {
    for (auto &p : tile_products_) {
        if (p.func.same_as(f) && p.stage == stage) {
            p.stages = stages;
            p.raster = raster;
            p.ping_pong = ping_pong;
            return true;
        }
    }
    return false;
}

bool Binding::split_k_cluster(const Halide::Internal::Function &f, int stage, int blocks) {
    for (auto &p : tile_products_) {
        if (p.func.same_as(f) && p.stage == stage) {
            p.cluster = blocks;
            return true;
        }
    }
    return false;
}

bool Binding::split_k_warps(const Halide::Internal::Function &f, int stage, int warps) {
    for (auto &p : tile_products_) {
        if (p.func.same_as(f) && p.stage == stage) {
            p.warps = warps;
            return true;
        }
    }
    return false;
}

// For a pass that runs when the script has ended: raises an error at the line of the script that is being run now.
std::function<void(const std::string &)> Binding::late_error(const std::string &word) {
    const LuaHost::Place p = host_.place();
    Diagnostic d;
    d.file = p.file;
    d.line = p.line;
    d.inside = p.inside;
    d.word = word;
    return [this, d](const std::string &message) {
        Diagnostic here = d;
        here.message = message;
        if (on_late_error) {
            on_late_error(here);
        }
        throw Halide::CompileError("\n" + here.text());
    };
}

void Binding::multiply_in_tiles(const Halide::Internal::Function &f, int stage) {
    tile_products_.push_back({f, stage, 4, 8, 1, 1, false, late_error("mma")});
}

void Binding::put_side_by_side(std::vector<Halide::Internal::Function> funcs, std::vector<std::string> names) {
    side_by_side_.push_back({std::move(funcs), std::move(names), late_error("side_by_side")});
}

int Binding::describe(lua_State *L) {
    const Handle *h = handle_at(L, 1);
    std::string s = std::string(kind_name(h->kind)) + " " + h->func_name;
    if (h->kind == Handle::kLoop) {
        s += "." + h->loop.name;
    } else if (h->kind == Handle::kStage && h->stage_index > 0) {
        s += ":update(" + std::to_string(h->stage_index - 1) + ")";
    } else if (h->kind == Handle::kDimension) {
        s += ":dim(" + std::to_string(h->dimension) + ")";
    }
    lua_pushstring(L, s.c_str());
    return 1;
}

// Two handles are equal where they name the same thing: k.y == k.y.
int Binding::equal(lua_State *L) {
    const Handle *a = handle_at(L, 1), *b = handle_at(L, 2);
    lua_pushboolean(L, a && b && a->kind == b->kind && a->kind != Handle::kExpr && a->func_name == b->func_name &&
                           a->stage_index == b->stage_index && a->loop.halide == b->loop.halide && a->dimension == b->dimension);
    return 1;
}

int Binding::arithmetic(lua_State *L) {
    Binding &b = of(L);
    Expr operand[2];
    for (int i = 0; i < 2; i++) {
        const Handle *h = handle_at(L, i + 1);
        if (h && h->kind == Handle::kExpr) {
            operand[i] = h->expr;
        } else if (lua_isinteger(L, i + 1) && lua_tointeger(L, i + 1) == int32_t(lua_tointeger(L, i + 1))) {
            operand[i] = Expr(int32_t(lua_tointeger(L, i + 1)));
        } else {
            Diagnostic d;
            d.message = "arithmetic works on expressions and integers of 32 bits only";
            b.host_.raise(std::move(d));
        }
    }
    Handle result;
    result.kind = Handle::kExpr;
    std::string problem;
    const auto operation = lua_tointeger(L, lua_upvalueindex(1));
    try {
        // Halide says so where it comes upon it, which may be after the script.
        if (operation >= 3 && Internal::is_const_zero(Internal::simplify(operand[1]))) {
            problem = "an expression divides by 0";
        }
        switch (problem.empty() ? operation : 0) {
        case 0: result.expr = exact_sum(operand[0], operand[1]); break;
        case 1: result.expr = exact_difference(operand[0], operand[1]); break;
        case 2: result.expr = exact_product(operand[0], operand[1]); break;
        case 3: result.expr = exact_quotient(operand[0], operand[1]); break;
        default: result.expr = exact_remainder(operand[0], operand[1]); break;
        }
    } catch (const Halide::Error &e) {
        problem = e.what();
    }
    if (!problem.empty()) {
        Diagnostic d;
        d.message = halide_message(problem);
        b.host_.raise(std::move(d));
    }
    b.push(L, std::move(result));
    return 1;
}

}  // namespace halyard
