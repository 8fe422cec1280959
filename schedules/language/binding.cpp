#include "language/binding.h"

#include <algorithm>
#include <new>

namespace halyard {

using namespace Halide;

namespace {

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

}  // namespace halyard
