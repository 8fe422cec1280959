#ifndef HALYARD_TABLE_ORDER_H
#define HALYARD_TABLE_ORDER_H

/** \file
 * pairs, next and table.sort of a schedule script, in an order that is the same in every run. Lua's own depend on a random seed, on
 * addresses and on the clock.
 */

struct lua_State;

namespace halyard {

/** Booleans, then numbers, then strings, each sorted. Keys of other types are an error where there is more than one of them. */
int table_pairs(lua_State *L);

/** In the order of pairs(). Each call looks at the whole table. */
int table_next(lua_State *L);

/** Elements of which none is less than the other keep their order. */
int table_sort(lua_State *L);

}  // namespace halyard

#endif
