#include "language/target_facts.h"

#include <algorithm>
#include <sstream>

namespace halyard {

namespace {

int64_t parse_count(const std::string &name, const std::string &text) {
    size_t used = 0;
    int64_t value = 0;
    try {
        value = std::stoll(text, &used);
    } catch (const std::exception &) {
        used = 0;
    }
    const std::string suffix = text.substr(used);
    if (used > 0 && (suffix == "K" || suffix == "k")) {
        value <<= 10;
    } else if (used > 0 && (suffix == "M" || suffix == "m")) {
        value <<= 20;
    } else if (used == 0 || !suffix.empty()) {
        value = 0;
    }
    if (value <= 0) {
        throw std::invalid_argument("the fact " + name + "=" + text + " is not a positive count; write for example l2=2M");
    }
    return value;
}

int target_lanes(lua_State *L) {
    const std::string type = luaL_checkstring(L, 2);
    lua_getfield(L, 1, "vector_bytes");
    const int bytes = element_bytes(type);
    if (bytes == 0) {
        Diagnostic d;
        d.word = "lanes";
        d.message = "there is no type \"" + type + R"("; the types are "f16", "f32", "f64", "bf16", "i8" to "i64", "u8" to "u64")";
        LuaHost::of(L).raise(std::move(d));
    }
    lua_pushinteger(L, lua_tointeger(L, -1) / bytes);
    return 1;
}

int target_has(lua_State *L) {
    const char *feature = luaL_checkstring(L, 2);
    lua_getfield(L, 1, "features");
    lua_getfield(L, -1, feature);
    lua_pushboolean(L, lua_toboolean(L, -1));
    return 1;
}

int unknown_fact(lua_State *L) {
    const std::vector<std::string> names = {
        "bits",         "features",        "has", "l1", "l2", "l3", "lanes", "multiprocessors", "name", "processors", "shared_bytes",
        "vector_bytes", "vector_registers"};
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    Diagnostic d;
    d.message = "target has no \"" + name + "\"; it has " + quoted_list(names);
    d.hint = did_you_mean(name, names);
    LuaHost::of(L).raise(std::move(d));
}

}  // namespace

bool TargetFacts::has(const std::string &feature) const {
    return std::find(features.begin(), features.end(), feature) != features.end();
}

int element_bytes(const std::string &type) {
    static const std::map<std::string, int> kBytes = {
        {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}, {"i8", 1},  {"i16", 2},
        {"i32", 4}, {"i64", 8},  {"u8", 1},  {"u16", 2}, {"u32", 4}, {"u64", 8},
    };
    const auto it = kBytes.find(type);
    return it == kBytes.end() ? 0 : it->second;
}

TargetFacts target_facts(const std::string &target, const std::map<std::string, std::string> &facts) {
    TargetFacts t;
    t.name = target;
    std::istringstream in(target);
    for (std::string part; std::getline(in, part, '-');) {
        t.features.push_back(part);
    }
    const bool avx512 = std::any_of(t.features.begin(), t.features.end(), [](const std::string &f) { return f.rfind("avx512", 0) == 0; });
    if (avx512) {
        t.vector_bytes = 64;
        t.vector_registers = 32;
    } else if (t.has("avx") || t.has("avx2")) {
        t.vector_bytes = 32;
    } else if (t.has("arm")) {
        t.vector_registers = 32;
    }
    for (const auto &fact : facts) {
        const int64_t value = parse_count(fact.first, fact.second);
        if (fact.first == "l1") {
            t.l1 = value;
        } else if (fact.first == "l2") {
            t.l2 = value;
        } else if (fact.first == "l3") {
            t.l3 = value;
        } else if (fact.first == "processors") {
            t.processors = int(value);
        } else if (fact.first == "multiprocessors") {
            t.multiprocessors = int(value);
        } else {
            throw std::invalid_argument("there is no fact \"" + fact.first +
                                        R"("; the facts are "l1", "l2", "l3", "multiprocessors", "processors")");
        }
    }
    return t;
}

void push_target(LuaHost &host, const TargetFacts &facts) {
    lua_State *L = host.state();
    lua_newtable(L);
    const std::pair<const char *, lua_Integer> numbers[] = {
        {"l1", facts.l1},
        {"l2", facts.l2},
        {"l3", facts.l3},
        {"multiprocessors", facts.multiprocessors},
        {"processors", facts.processors},
        {"shared_bytes", facts.shared_bytes},
        {"vector_bytes", facts.vector_bytes},
        {"vector_registers", facts.vector_registers},
        {"bits", facts.has("32") ? 32 : 64},
    };
    for (const auto &n : numbers) {
        lua_pushinteger(L, n.second);
        lua_setfield(L, -2, n.first);
    }
    lua_pushstring(L, facts.name.c_str());
    lua_setfield(L, -2, "name");
    lua_newtable(L);
    for (const auto &f : facts.features) {
        lua_pushboolean(L, 1);
        lua_setfield(L, -2, f.c_str());
    }
    lua_setfield(L, -2, "features");
    lua_pushcfunction(L, target_lanes);
    lua_setfield(L, -2, "lanes");
    lua_pushcfunction(L, target_has);
    lua_setfield(L, -2, "has");
    lua_newtable(L);
    lua_pushcfunction(L, unknown_fact);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
}

}  // namespace halyard
