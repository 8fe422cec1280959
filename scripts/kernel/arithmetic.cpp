#include "kernel/arithmetic.h"

#include <memory>

#include <fmt/format.h>
#include <lauxlib.h>
#include <lua.h>

#include "kernel/failure.h"

namespace halyard {

namespace {

// An unknown name is noted, and the evaluation ends.
int unknown_name(lua_State *L) {
    lua_pushboolean(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "halyard.unknown");
    return luaL_error(L, "unknown name");
}

}  // namespace

std::optional<double> evaluate(const std::string &expression, const Dims &dims) {
    const std::unique_ptr<lua_State, void (*)(lua_State *)> owner(luaL_newstate(), lua_close);
    lua_State *L = owner.get();
    // The chunk's environment is a table of the dimensions and nothing else: no library is open.
    const std::string chunk = "return " + expression;
    if (luaL_loadbufferx(L, chunk.data(), chunk.size(), "=registry", "t") != LUA_OK) {
        throw Failure(fmt::format("\"{}\" is no arithmetic: {}", expression, lua_tostring(L, -1)));
    }
    lua_newtable(L);
    for (const auto &d : dims) {
        lua_pushinteger(L, d.second);
        lua_setfield(L, -2, d.first.c_str());
    }
    lua_newtable(L);
    lua_pushcfunction(L, unknown_name);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_setupvalue(L, -2, 1);
    if (lua_pcall(L, 0, 1, 0) != LUA_OK) {
        const std::string message = lua_tostring(L, -1);
        if (lua_getfield(L, LUA_REGISTRYINDEX, "halyard.unknown") != LUA_TNIL) {
            return std::nullopt;
        }
        throw Failure(fmt::format("\"{}\" cannot be computed: {}", expression, message));
    }
    if (lua_type(L, -1) != LUA_TNUMBER) {
        throw Failure(fmt::format("\"{}\" is not a number", expression));
    }
    return lua_tonumber(L, -1);
}

}  // namespace halyard
