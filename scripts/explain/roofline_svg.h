#ifndef HALYARD_COMMAND_ROOFLINE_SVG_H
#define HALYARD_COMMAND_ROOFLINE_SVG_H

/** \file
 * The roofline: speed over flops per byte that moves, under bandwidths and the peaks of arithmetic.
 */

#include <string>

#include "explain/explain.h"

namespace halyard {

struct RooflinePoint {
    std::string name, kind;  // "sum_sq", "stage sum_sq of rms_norm"
    size_t schedule = 0;
    int stage = -1;        // its number in the schedule; -1 for the whole op, which is drawn large
    double intensity = 0;  // flops per byte
    double predicted = 0;  // flops a second
    std::optional<double> measured;
};

struct Roofline {
    struct Roof {
        std::string name;
        double rate;  // bytes or flops a second
    };
    std::vector<Roof> bandwidths, peaks;  // the lowest peak first
    std::vector<RooflinePoint> points;
    std::string axis;   // what the bytes are of
    std::string about;  // a sentence for those who do not see it
    bool tera = false;  // TFLOP/s rather than GFLOP/s
};

/** Every stage and the whole op, with the data in the cache. */
Roofline host_roofline(const std::vector<Explained> &all, const Machine &machine);

/** An <svg> that takes its colours from classes of the page. */
std::string roofline_svg(const Roofline &roofline);

/** Below it: what the numbers of the points mean, a line a schedule; `small` says what small points are. */
std::string roofline_key(const Roofline &roofline, const std::vector<Explained> &all, const std::string &small);

/** The number of a point in the picture; 0 where a stage has none, since it computes nothing. */
int point_number(const Roofline &roofline, size_t schedule, int stage);

}  // namespace halyard

#endif
