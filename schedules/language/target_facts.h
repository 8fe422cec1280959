#ifndef HALYARD_TARGET_FACTS_H
#define HALYARD_TARGET_FACTS_H

/** \file
 * What a schedule may know of the machine that the code is for: `target` in Lua.
 *
 * Everything follows from the target string and from the facts given on the command line, never
 * from the machine that builds, so that a build gives the same bytes everywhere.
 */

#include <map>
#include <string>
#include <vector>

#include "language/lua_host.h"
#include "lowering/multiprocessor.h"

namespace halyard {

struct TargetFacts {
    std::string name;                   // the Halide target string
    std::vector<std::string> features;  // "avx2", "avx512_skylake", ...
    int vector_bytes = 16;
    int vector_registers = 16;
    int processors = 2;
    // Per core for l1 and l2, shared for l3, in bytes. The defaults are the smallest of current
    // server cores, so that a tile chosen by them fits everywhere.
    int64_t l1 = 32 << 10, l2 = 1 << 20, l3 = 32 << 20;
    // Of a block on sm_90a, the largest device that there is code for.
    int64_t shared_bytes = multiprocessor(90).shared_of_block();
    int multiprocessors = 132;  // of an H100 or H200 (SXM)

    bool has(const std::string &feature) const;
};

/** Reads a Halide target string; `facts` overrides l1, l2, l3 (bytes; K and M suffixes), processors, multiprocessors.
 * Throws std::invalid_argument on an unknown fact or an illegal value. */
TargetFacts target_facts(const std::string &target, const std::map<std::string, std::string> &facts);

/** Bytes of an element type: "f32", "f16", "bf16", "f64", "i8".."i64", "u8".."u64"; 0 if unknown. */
int element_bytes(const std::string &type);

/** Pushes the Lua object `target`: target:lanes "f32", target:has "avx2", target.l2, ... */
void push_target(LuaHost &host, const TargetFacts &facts);

}  // namespace halyard

#endif
