// The environment of a schedule script: what is in it, and why the rest of Lua is not.
//
// Left out, since each is a way around a limit or a source of results that differ between runs:
//   io os debug package load dofile   the world outside, bytecode
//   coroutine                         a limit must stop everything at once
//   string.find/match/gmatch/gsub     a pattern can backtrack for ever inside C, where no hook runs
//   table.move, math.random           C loops of any length; randomness
//   getmetatable raw*                 around the checks on handles
//   table.* on a metatable            lengths and elements that are made up, for ever, inside C
//   __gc                              finalisers run with hooks off
//   __mode                            what is collected when; chains of weak keys take the collector the square of their length
//   a __call that is no function      Lua follows a chain of them in C, for ever if it is a circle
// What is left looks at the clock at each call, works on strings of a bounded size, and so is quick.

#include <algorithm>
#include <map>

#include "language/lua_host.h"
#include "language/table_order.h"

namespace halyard {

struct SandboxFunctions {
    static int pcall(lua_State *L) {
        LuaHost &host = LuaHost::of(L);
        luaL_checkany(L, 1);
        lua_pushboolean(L, 1);
        lua_insert(L, 1);
        const int status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
        if (host.fatal_) {
            host.raise(*host.fatal_);  // a limit was hit: no script may go on
        }
        if (status == LUA_ERRMEM) {
            host.fail_memory();
        }
        if (status != LUA_OK) {
            lua_pushboolean(L, 0);
            lua_replace(L, 1);
        }
        return lua_gettop(L);
    }

    static int require(lua_State *L) {
        size_t length = 0;
        const char *name = luaL_checklstring(L, 1, &length);
        LuaHost::of(L).require(std::string(name, length));
        return 1;
    }

    static int print(lua_State *L) {
        LuaHost &host = LuaHost::of(L);
        host.check_limits();
        std::string line;
        for (int i = 1; i <= lua_gettop(L) && line.size() < host.printable_bytes(); i++) {
            line += (i > 1 ? "\t" : "") + std::string(push_text(L, i));
            lua_pop(L, 1);
        }
        host.print(line);
        return 0;
    }

    // The metatable that counts is a copy: what was checked here stays so.
    static int setmetatable(lua_State *L) {
        luaL_checktype(L, 1, LUA_TTABLE);
        luaL_checktype(L, 2, LUA_TTABLE);
        lua_settop(L, 2);
        if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) {
            return luaL_error(L, "the metatable of this table cannot be replaced");
        }
        const auto field = [L](const char *name) {
            lua_pushstring(L, name);
            return lua_rawget(L, 2);
        };
        if (field("__gc") != LUA_TNIL) {
            return luaL_error(L, "a schedule cannot have finalisers (__gc)");
        }
        if (field("__mode") != LUA_TNIL) {
            return luaL_error(L, "a schedule cannot have weak tables (__mode)");
        }
        if (const int type = field("__call"); type != LUA_TNIL && type != LUA_TFUNCTION) {
            return luaL_error(L, "__call is a function in a schedule, not a %s", lua_typename(L, type));
        }
        lua_newtable(L);
        const int copy = lua_gettop(L);
        for (const char *name : {"__add",  "__band",     "__bnot",  "__bor", "__bxor", "__call", "__close",     "__concat", "__div",
                                 "__eq",   "__idiv",     "__index", "__le",  "__len",  "__lt",   "__metatable", "__mod",    "__mul",
                                 "__name", "__newindex", "__pow",   "__shl", "__shr",  "__sub",  "__tostring",  "__unm"}) {
            field(name);
            lua_setfield(L, copy, name);
        }
        lua_setmetatable(L, 1);
        lua_settop(L, 1);
        return 1;
    }

    // Addresses differ between runs, so the text of a table or function does not show one.
    static const char *push_text(lua_State *L, int index) {
        const int t = lua_type(L, index);
        if (t != LUA_TNIL && t != LUA_TBOOLEAN && t != LUA_TNUMBER && t != LUA_TSTRING) {
            if (luaL_getmetafield(L, index, "__tostring") == LUA_TNIL) {
                return lua_pushstring(L, luaL_typename(L, index));
            }
            lua_pop(L, 1);
        }
        return luaL_tolstring(L, index, nullptr);
    }

    static int tostring(lua_State *L) {
        luaL_checkany(L, 1);
        push_text(L, 1);
        return 1;
    }

    // string.format of the texts that tostring() has.
    static int format(lua_State *L) {
        LuaHost::of(L).check_limits();
        size_t length = 0;
        const char *const begin = luaL_checklstring(L, 1, &length);
        const std::string text(begin, length);
        int argument = 1;
        for (size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1)) {
            at = text.find_first_not_of("-+ #0123456789.", at + 1);
            if (at == std::string::npos) {
                break;
            }
            argument += text[at] != '%';
            if (text[at] == 'p') {
                return luaL_error(L, "string.format: addresses (%%p) differ from run to run");
            }
            if (text[at] == 's' && argument <= lua_gettop(L)) {
                push_text(L, argument);
                lua_replace(L, argument);
            }
        }
        lua_getfield(L, LUA_REGISTRYINDEX, "halyard.string.format");
        lua_insert(L, 1);
        lua_call(L, lua_gettop(L) - 1, 1);
        return 1;
    }

    static int repeat(lua_State *L) {
        LuaHost::of(L).check_limits();
        luaL_checkstring(L, 1);
        const lua_Integer n = luaL_checkinteger(L, 2);
        if (n > lua_Integer(1) << 20) {
            return luaL_error(L, "string.rep: %I repetitions are more than a schedule needs", n);
        }
        lua_getfield(L, LUA_REGISTRYINDEX, "halyard.string.rep");
        lua_insert(L, 1);
        lua_call(L, lua_gettop(L) - 1, 1);
        return 1;
    }

    // A function of Lua's; each call of one may take milliseconds in C, where no hook runs.
    static int timed_function(lua_State *L) {
        LuaHost::of(L).check_limits();
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_insert(L, 1);
        lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
        return lua_gettop(L);
    }

    static constexpr lua_Unsigned kMostElements = lua_Unsigned(1) << 23;

    // The functions of `table`, on plain tables only: with metamethods, lengths and elements can be
    // made up, and the loops in C, where no hook runs, would never end.
    static int table_function(lua_State *L) {
        if (lua_istable(L, 1) && lua_getmetatable(L, 1)) {
            return luaL_error(L, "table.%s works on tables without a metatable", lua_tostring(L, lua_upvalueindex(2)));
        }
        // Memory has room for fewer elements: such a length is one of few elements far apart.
        if (lua_istable(L, 1) && lua_rawlen(L, 1) > kMostElements) {
            return luaL_error(L, "table.%s works on lists of up to %d elements", lua_tostring(L, lua_upvalueindex(2)), int(kMostElements));
        }
        return timed_function(L);
    }

    // Reading a name that is not there, from the table at upvalue 1.
    static int unknown_global(lua_State *L) {
        lua_pushvalue(L, 2);
        if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
            return 1;
        }
        const std::string name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
        std::vector<std::string> names;
        lua_pushnil(L);
        while (lua_next(L, lua_upvalueindex(1))) {
            lua_pop(L, 1);
            names.emplace_back(lua_tostring(L, -1));
        }
        std::sort(names.begin(), names.end());
        Diagnostic d;
        d.message = "there is no name \"" + name + "\" here; the global names are " + quoted_list(names);
        d.hint = did_you_mean(name, names);
        LuaHost::of(L).raise(std::move(d));
    }

    static int new_global(lua_State *L) {
        const std::string name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
        lua_pushvalue(L, 2);
        const bool taken = lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL;
        Diagnostic d;
        d.message = "\"" + name + (taken ? "\" belongs to the schedule language and cannot be replaced" : "\" would become a global");
        d.hint = taken ? "" : "write `local " + name + " = ...`";
        LuaHost::of(L).raise(std::move(d));
    }

    // Upvalues: the members of a library, its name.
    static int member(lua_State *L) {
        lua_pushvalue(L, 2);
        if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
            return 1;
        }
        const std::string library = lua_tostring(L, lua_upvalueindex(2));
        const std::string name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
        Diagnostic d;
        d.message = library + "." + name + " is not part of the schedule language";
        LuaHost::of(L).raise(std::move(d));
    }

    static int new_member(lua_State *L) {
        Diagnostic d;
        d.message = std::string("the functions of ") + lua_tostring(L, lua_upvalueindex(1)) + " cannot be replaced";
        LuaHost::of(L).raise(std::move(d));
    }
};

namespace {

struct Library {
    const char *name;
    lua_CFunction open;
    std::vector<const char *> allowed;
    std::map<std::string, lua_CFunction> own;  // in place of Lua's
};

// Pushes a table of the allowed members of a library.
void push_members(lua_State *L, const Library &library) {
    lua_newtable(L);
    luaL_requiref(L, library.name, library.open, 0);
    for (const char *member : library.allowed) {
        if (const auto own = library.own.find(member); own != library.own.end()) {
            lua_pushcfunction(L, own->second);
        } else {
            lua_getfield(L, -1, member);
        }
        if (std::string(library.name) == "table") {
            lua_pushstring(L, member);
            lua_pushcclosure(L, SandboxFunctions::table_function, 2);
        } else if (std::string(library.name) == "string") {
            lua_pushcclosure(L, SandboxFunctions::timed_function, 1);
        }
        lua_setfield(L, -3, member);
    }
    lua_pop(L, 1);
}

// Replaces the table of members on the top by an empty one that reads it: nothing can be written.
void freeze(lua_State *L, const char *library) {
    lua_newtable(L);
    lua_newtable(L);
    lua_pushvalue(L, -3);
    lua_pushstring(L, library);
    lua_pushcclosure(L, SandboxFunctions::member, 2);
    lua_setfield(L, -2, "__index");
    lua_pushstring(L, library);
    lua_pushcclosure(L, SandboxFunctions::new_member, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_remove(L, -2);
}

}  // namespace

void LuaHost::open_environment() {
    lua_State *L = L_;
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, "halyard.modules");
    lua_newtable(L);  // the environment
    luaL_requiref(L, "string", luaopen_string, 0);
    for (const char *name : {"format", "rep"}) {
        lua_getfield(L, -1, name);
        lua_setfield(L, LUA_REGISTRYINDEX, (std::string("halyard.string.") + name).c_str());
    }
    lua_pop(L, 1);
    const Library libraries[] = {
        {"string",
         luaopen_string,
         {"byte", "char", "format", "len", "lower", "rep", "reverse", "sub", "upper"},
         {{"format", SandboxFunctions::format}, {"rep", SandboxFunctions::repeat}}},
        {"table", luaopen_table, {"concat", "insert", "pack", "remove", "sort", "unpack"}, {{"sort", table_sort}}},
        {"math",
         luaopen_math,
         {"abs", "ceil", "floor", "fmod", "huge", "log", "max", "maxinteger", "min", "mininteger", "sqrt", "tointeger", "type", "ult"},
         {}},
    };
    for (const auto &library : libraries) {
        push_members(L, library);
        freeze(L, library.name);
        lua_setfield(L, -2, library.name);
    }
    luaL_requiref(L, "_G", luaopen_base, 0);
    for (const char *name : {"assert", "error", "ipairs", "select", "tonumber", "type"}) {
        lua_getfield(L, -1, name);
        lua_setfield(L, -3, name);
    }
    lua_pop(L, 1);
    const std::pair<const char *, lua_CFunction> own[] = {
        {"next", table_next},
        {"pairs", table_pairs},
        {"pcall", SandboxFunctions::pcall},
        {"print", SandboxFunctions::print},
        {"require", SandboxFunctions::require},
        {"setmetatable", SandboxFunctions::setmetatable},
        {"tostring", SandboxFunctions::tostring},
    };
    for (const auto &f : own) {
        lua_pushcfunction(L, f.second);
        lua_setfield(L, -2, f.first);
    }
    // Strings have methods: `("x"):rep(3)`. They must see the allowed functions only.
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_getfield(L, -3, "string");
    lua_setfield(L, -2, "__index");
    lua_pop(L, 2);
    // Scripts see an empty table that reads the environment.
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, "halyard.environment");
    lua_newtable(L);
    lua_newtable(L);
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, SandboxFunctions::unknown_global, 1);
    lua_setfield(L, -2, "__index");
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, SandboxFunctions::new_global, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}

void LuaHost::set_global(const char *name) {
    lua_getfield(L_, LUA_REGISTRYINDEX, "halyard.environment");
    lua_insert(L_, -2);
    lua_setfield(L_, -2, name);
    lua_pop(L_, 1);
}

}  // namespace halyard
