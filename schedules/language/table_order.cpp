#include "language/table_order.h"

#include <algorithm>

#include "language/lua_host.h"

namespace halyard {

namespace {

// Of the values at two places of the stack. Each looks at the clock: comparisons of long strings are slow.
using Less = bool (*)(lua_State *L, int a, int b);

bool value_less(lua_State *L, int a, int b) {
    LuaHost::of(L).check_limits();
    return lua_compare(L, a, b, LUA_OPLT) != 0;
}

// By the function that table.sort was given.
bool script_less(lua_State *L, int a, int b) {
    LuaHost::of(L).check_limits();
    lua_pushvalue(L, 2);
    lua_pushvalue(L, a);
    lua_pushvalue(L, b);
    lua_call(L, 2, 1);
    const bool less = lua_toboolean(L, -1) != 0;
    lua_pop(L, 1);
    return less;
}

bool key_less(lua_State *L, int a, int b) {
    const int type = lua_type(L, a), other = lua_type(L, b);
    if (type != other) {
        return type < other;
    }
    if (type == LUA_TNUMBER || type == LUA_TSTRING) {
        return value_less(L, a, b);
    }
    if (type == LUA_TBOOLEAN) {
        return !lua_toboolean(L, a) && lua_toboolean(L, b);
    }
    if (lua_topointer(L, a) != lua_topointer(L, b)) {
        luaL_error(L, "keys of type %s have no order that is the same in every run; use a list of pairs", luaL_typename(L, a));
    }
    return false;
}

// Sorts the n elements of a list, whatever `less` says: a script's may contradict itself.
void merge_sort(lua_State *L, int list, lua_Integer n, Less less) {
    lua_newtable(L);
    const int merged = lua_gettop(L);
    for (lua_Integer width = 1; width < n; width *= 2) {
        for (lua_Integer begin = 1; begin <= n; begin += 2 * width) {
            const lua_Integer middle = std::min(begin + width, n + 1), end = std::min(middle + width, n + 1);
            lua_Integer first = begin, second = middle;
            for (lua_Integer i = begin; i < end; i++) {
                bool take_second = first == middle;
                if (first < middle && second < end) {
                    lua_rawgeti(L, list, second);
                    lua_rawgeti(L, list, first);
                    take_second = less(L, merged + 1, merged + 2);
                    lua_pop(L, 2);
                }
                lua_rawgeti(L, list, take_second ? second++ : first++);
                lua_rawseti(L, merged, i);
            }
        }
        for (lua_Integer i = 1; i <= n; i++) {
            lua_rawgeti(L, merged, i);
            lua_rawseti(L, list, i);
        }
    }
    lua_pop(L, 1);
}

// Upvalues: the keys, how many were given, the table.
int next_of_keys(lua_State *L) {
    const lua_Integer i = lua_tointeger(L, lua_upvalueindex(2)) + 1;
    lua_pushinteger(L, i);
    lua_replace(L, lua_upvalueindex(2));
    lua_rawgeti(L, lua_upvalueindex(1), i);
    lua_pushvalue(L, -1);
    if (!lua_isnil(L, -1)) {
        lua_gettable(L, lua_upvalueindex(3));
    }
    return lua_isnil(L, -2) ? 1 : 2;
}

}  // namespace

int table_pairs(lua_State *L) {
    LuaHost::of(L).check_limits();
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_newtable(L);  // 2: the keys
    lua_Integer n = 0;
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_rawseti(L, 2, ++n);
    }
    merge_sort(L, 2, n, key_less);
    lua_pushinteger(L, 0);
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, next_of_keys, 3);
    return 1;
}

int table_next(lua_State *L) {
    LuaHost::of(L).check_limits();
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    lua_pushnil(L);  // 3: the least so far of those behind the one given
    lua_pushnil(L);  // 4: each key
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        if ((lua_isnil(L, 2) || key_less(L, 2, 4)) && (lua_isnil(L, 3) || key_less(L, 4, 3))) {
            lua_copy(L, 4, 3);
        }
    }
    if (lua_isnil(L, 3)) {
        return 1;
    }
    lua_pushvalue(L, 3);
    lua_rawget(L, 1);
    return 2;
}

int table_sort(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_isnoneornil(L, 2)) {
        luaL_checktype(L, 2, LUA_TFUNCTION);
    }
    lua_settop(L, 2);
    merge_sort(L, 1, lua_Integer(lua_rawlen(L, 1)), lua_isnil(L, 2) ? value_less : script_less);
    return 0;
}

}  // namespace halyard
