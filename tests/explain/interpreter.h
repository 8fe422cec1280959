#ifndef HALYARD_TESTS_EXPLAIN_INTERPRETER_H
#define HALYARD_TESTS_EXPLAIN_INTERPRETER_H

/** \file
 * Runs a lowered pipeline by hand, for its addresses alone, through a cache of so many lines: the
 * independent count that the analysis is held against. It shares no code with it.
 */

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <Halide.h>

/** Least recently used, fully associative, lines of 64 bytes, written back when they leave. */
class LruCache {
public:
    explicit LruCache(int64_t bytes) : lines_(size_t(bytes / 64)) {}
    void touch(int64_t line, bool write);
    /** Everything that is still dirty goes out. */
    void flush();

    int64_t read = 0, written = 0;  // bytes

private:
    struct Entry {
        std::list<int64_t>::iterator at;
        bool dirty;
    };
    const size_t lines_;
    std::list<int64_t> order_;  // the most recent one first
    std::unordered_map<int64_t, Entry> entries_;
};

struct Counted {
    int64_t read = 0, written = 0;         // bytes between the cache and what is beyond
    int64_t loaded = 0, stored = 0;        // elements of all loads and stores
    std::map<std::string, int64_t> lines;  // distinct ones of each array
};

/** Buffers by name with their extents, dense. Arrays that the pipeline allocates with no more than `small`
 * bytes count as registers. */
Counted interpret(const Halide::Internal::Stmt &s, const std::map<std::string, std::vector<int64_t>> &buffers, int64_t cache_bytes,
                  int64_t small = 0);

#endif
