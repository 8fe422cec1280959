#ifndef HALYARD_EXPLORE_LEVELS_H
#define HALYARD_EXPLORE_LEVELS_H

/** \file
 * The loops of a plan in the making in which a Func may be computed, and how much of it that takes at once.
 */

#include <optional>
#include <tuple>

#include "explore/space/draft.h"

namespace halyard::explore {

/** A loop of a nest. */
struct At {
    std::string nest;
    size_t level = 0;
};

using Region = std::map<std::string, double>;                  // by dimension: how much of it
using Drivers = std::map<std::string, std::set<std::string>>;  // by dimension: the loops of a nest that move it

class Levels {
public:
    explicit Levels(const Draft &draft)
        : draft_(draft), d_(draft.description), plan_(draft.plan), products_(draft.products), hosts_(draft.hosts), graph_(draft.graph) {}

    /** The innermost loop that is around all that reads a Func, and moves what is read; none where there is no such. */
    std::optional<At> common_level(const Func &f) const;

    /** The loop that the nest of another is computed in. */
    std::optional<At> outwards(const At &a) const;

    /** The loops of a nest that move each dimension of a Func, through what is computed in the nest. */
    const Drivers &drivers_from(const std::string &func, const std::string &nest) const;

    /** Elements computed over elements there are: also those that neighbouring tasks both need. */
    double recomputed(const Func &f, const At &at) const;

    /** Of each dimension: how much is computed at once there. */
    const Region &region_at(const Func &f, const At &at) const;

private:
    std::optional<At> level_of_reader(const Reader &r) const;
    size_t index_of(const Placed &p) const;
    std::optional<At> join(At a, At b) const;
    std::optional<At> move_out(const Func &f, At at) const;
    bool needs_all(const Func &f, const At &at) const;
    Drivers drivers(const std::string &func, const std::string &nest) const;
    Region region(const Func &f, const At &at) const;
    bool joined(const std::string &func, const std::string &nest) const;

    const Draft &draft_;
    const Description &d_;
    const Plan &plan_;
    const std::map<std::string, Product> &products_;
    const std::set<std::string> &hosts_;
    const std::unique_ptr<Graph> &graph_;
    // What was found, without which every path through the readers would be walked again. It holds until there is another
    // nest, which may be an output that joins one.
    struct Found {
        std::map<std::pair<std::string, std::string>, Drivers> drivers;          // by Func and nest
        std::map<std::tuple<std::string, std::string, size_t>, Region> regions;  // by Func, nest and level
        size_t nests = 0;
    };
    Found &found() const;
    mutable Found found_;
};

}  // namespace halyard::explore

#endif
