#include "language/script_words.h"

#include <algorithm>

namespace halyard {

namespace {

// schedule "op" { ... }
int schedule_word(lua_State *L) {
    const std::string op = luaL_checkstring(L, 1);
    if (lua_gettop(L) > 1) {
        return luaL_error(L, "write schedule \"%s\" { ... }", op.c_str());
    }
    lua_pushstring(L, op.c_str());
    lua_pushcclosure(
        L,
        [](lua_State *L) -> int {
            luaL_checktype(L, 1, LUA_TTABLE);
            lua_settop(L, 1);
            lua_newuserdatauv(L, 0, kScheduleValues);
            luaL_newmetatable(L, kScheduleType);
            lua_setmetatable(L, -2);
            lua_pushvalue(L, lua_upvalueindex(1));
            lua_setiuservalue(L, -2, kScheduleOp);
            std::string file;
            int line = 0;
            LuaHost::of(L).where(file, line);
            lua_pushinteger(L, line);
            lua_setiuservalue(L, -2, kScheduleLine);
            lua_pushvalue(L, 1);
            lua_setiuservalue(L, -2, kScheduleFields);
            return 1;
        },
        1);
    return 1;
}

// tune { 1, 4, 16, default = 4, search = true }
int tune_word(lua_State *L) {
    Diagnostic d;
    d.word = "tune";
    luaL_checktype(L, 1, LUA_TTABLE);
    LuaHost &host = LuaHost::of(L);
    if (lua_rawlen(L, 1) == 0) {
        d.message = "needs at least one choice";
        host.raise(d);
    }
    if (lua_rawlen(L, 1) > kMostEntries) {
        d.message = "has more than " + std::to_string(kMostEntries) + " choices";
        host.raise(d);
    }
    if (lua_getfield(L, 1, "default") == LUA_TNIL) {
        lua_pop(L, 1);
        lua_rawgeti(L, 1, 1);
        lua_pushvalue(L, -1);
        lua_setfield(L, 1, "default");
    }
    const std::string chosen = value_text(L, -1);
    bool found = false;
    for (lua_Integer i = 1; i <= lua_Integer(lua_rawlen(L, 1)); i++) {
        lua_rawgeti(L, 1, i);
        const std::string choice = value_text(L, -1);
        lua_pop(L, 1);
        if (choice.empty()) {
            d.message = "choice " + std::to_string(i) + " is not a number, string or boolean";
            host.raise(d);
        }
        found = found || choice == chosen;
    }
    if (!found) {
        d.message = "the default " + chosen + " is not among the choices";
        host.raise(d);
    }
    if (const int type = lua_getfield(L, 1, "search"); type != LUA_TNIL && type != LUA_TBOOLEAN) {
        d.message = "`search` is true or false";
        host.raise(d);
    }
    lua_pop(L, 1);
    lua_pushboolean(L, 1);
    lua_setfield(L, 1, "is_tune");
    lua_settop(L, 1);
    return 1;
}

}  // namespace

std::string value_text(lua_State *L, int index) {
    switch (lua_type(L, index)) {
    case LUA_TBOOLEAN: return lua_toboolean(L, index) ? "true" : "false";
    case LUA_TNUMBER:
    case LUA_TSTRING: {
        lua_pushvalue(L, index);
        size_t length = 0;
        const char *const text = lua_tolstring(L, -1, &length);
        std::string s(text, length);
        lua_pop(L, 1);
        if (length > kLongestValue) {
            luaL_error(L, "a value has more than %d characters", int(kLongestValue));
        }
        // It stands in tables, records and names of versions.
        if (std::any_of(s.begin(), s.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; })) {
            luaL_error(L, "a value is one line of text, without control characters");
        }
        return s;
    }
    default: return "";
    }
}

void add_script_words(LuaHost &host) {
    host.protect([&host](lua_State *L) {
        lua_pushcfunction(L, schedule_word);
        host.set_global("schedule");
        lua_pushcfunction(L, tune_word);
        host.set_global("tune");
    });
}

}  // namespace halyard
