#ifndef HALYARD_EXPLORE_DESCRIPTION_H
#define HALYARD_EXPLORE_DESCRIPTION_H

/** \file
 * What there is to schedule: the Funcs of a generator at one size, as the plugin describes them
 * (schedules/language/describe.h).
 */

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace halyard::explore {

/** An index of a read as a sum of loops; of what is none, the loops that it depends on. */
struct Index {
    std::map<std::string, int64_t> loops;  // with their factors
    std::optional<int64_t> offset = 0;
    bool exact = true, clamped = false;
    int64_t div = 0, mod = 0;
    /** Of what is not exact: so many values are promised, which it takes by the loops of `vague`; 0: anything. */
    int64_t within = 0;
    std::set<std::string> vague;

    bool uses(const std::string &loop) const {
        return loops.count(loop) > 0;
    }
    /** The loop itself, and nothing else. */
    bool is(const std::string &loop) const;
};

struct Read {
    std::string func;
    std::vector<Index> index;

    bool uses(const std::string &loop) const;
};

struct Loop {
    std::string name;
    bool rvar = false;
    double extent = 1;
};

struct Stage {
    std::vector<Loop> loops;  // innermost first
    std::vector<Read> reads;
    std::vector<Index> stored;  // of an update: where it writes
    bool associative = false;
    std::vector<std::vector<size_t>> factors;  // of an update acc += a * b: the reads in a and in b
    bool plain = false;                        // its value, or each factor, is one read, converted or as it is
    double elements = 0;                       // stored, if nothing is computed twice
    double instructions = 0, flops = 0;

    const Loop *loop(const std::string &name) const;
    bool reduces() const;
    /** Instructions for an element. */
    double cost() const {
        return elements > 0 ? instructions / elements : 0;
    }
};

/** What a given script makes of a stage: its splits in their order, and the loops that are left. */
struct FixedStage {
    struct Split {
        enum Kind { kSplit, kFuse, kRename } kind = kSplit;
        std::string old, outer, inner;
        int64_t factor = 1;
    };
    struct Loop {
        std::string name, kind;  // "serial", "parallel", "vectorized", "unrolled", "other"
    };
    std::vector<Split> splits;
    std::vector<Loop> loops;  // innermost first
};

/** A Func whose schedule a given script has. */
struct Fixed {
    std::string place;     // "inlined", "root", "at"
    std::string in, loop;  // at
    std::vector<FixedStage> stages;
};

struct Func {
    std::string name;
    bool output = false;
    int bytes = 4;  // of an element
    std::vector<std::string> types;
    std::vector<std::string> dims;  // innermost first
    std::vector<Stage> stages;
    bool permuted = false;  // dims are in another order than the generator has them
    std::string wraps;      // a copy of that Func for its readers, which the schedule makes
    std::optional<Fixed> fixed;

    const Stage &pure() const {
        return stages.front();
    }
    bool reduction() const {
        return stages.size() > 1;
    }
    /** Whether a value of it needs those before it, in an order that no other gives. */
    bool recurrence() const;
    /** Whether each update runs over all of a dimension, one by one. */
    bool free(size_t dim) const;
    double extent(const std::string &dim) const;
    double size() const;  // bytes
};

struct Buffer {
    std::string name, type;
    int bytes = 4;
    std::vector<int64_t> extents;
};

/** The place in a given script that the rest is left open in. */
struct OpenPlace {
    int line = 0;
    bool target = false;  // a variable `target` is known there
};

struct Description {
    std::map<std::string, Func> funcs;
    std::map<std::string, Buffer> buffers;
    std::map<std::string, std::vector<int64_t>> sizes;  // of buffers and integers, for which all this holds
    int vector_bytes = 64, vector_registers = 32;
    std::string target;
    std::string algorithm;          // a hash of what is computed, and of the sizes that are estimated for it
    std::optional<OpenPlace> open;  // of a given script, if it leaves anything

    /** A Func, or nullptr for an input. */
    const Func *func(const std::string &name) const;
    int lanes() const {
        return vector_bytes / 4;
    }
    bool has(const std::string &feature) const {
        return target.find(feature) != std::string::npos;
    }
    /** Whether the target has instructions for tiles (AMX). */
    bool has_tiles() const {
        return has("avx512_sapphirerapids");
    }
    /** Whether multiplying pairs of bf16 in one instruction is faster than in f32: not with Intel (lib/processor.lua). */
    bool has_fast_bf16() const {
        return has("avx512_zen4") && (has("avx512_zen5") || !has("avxvnni"));
    }
};

/** Throws Failure for what the plugin cannot have written. */
Description read_description(const nlohmann::json &json);

}  // namespace halyard::explore

#endif
