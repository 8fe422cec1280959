#ifndef HALYARD_COMMAND_BENCH_TABLE_H
#define HALYARD_COMMAND_BENCH_TABLE_H

/** \file
 * The results of a benchmark, for people and for programs.
 */

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernel/measure.h"

namespace halyard {

struct BenchRow {
    std::string op, shape, type, target, schedule;
    int threads = 1;
    double bytes = 0, flops = 0;
    Timing warm, cold;
    std::string warm_verdict, cold_verdict;  // against the first of its schedules; "" for that one
    double warm_noise = 0, cold_noise = 0;
    bool warm_tie = false, cold_tie = false;
    double warm_times = 1, cold_times = 1;  // how many times as fast as the first it is
    std::string busy;
    double warm_floor = 0, cold_floor = 0;  // seconds that the machine needs at least
    bool arithmetic_bound = false;          // the rate is shown in GFLOP/s instead of GB/s
};

/** Two records a row: op, shape, type, target, schedule, threads, seconds (median), floor_seconds,
 * middle_half, samples, roof_fraction, peer, peer_seconds, ratio (null where there is no peer), cache, and against the first
 * schedule of its op and size: times (how many times as fast it is), tie, noise; and busy, a sentence or "". */
nlohmann::json table_json(const std::vector<BenchRow> &rows);

void print_table(const std::vector<BenchRow> &rows);

}  // namespace halyard

#endif
