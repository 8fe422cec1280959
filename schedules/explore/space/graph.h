#ifndef HALYARD_EXPLORE_GRAPH_H
#define HALYARD_EXPLORE_GRAPH_H

/** \file
 * Who reads whom once some Funcs are inlined: what is stored, and the reads of stored Funcs in loops of stored Funcs.
 */

#include <set>

#include "explore/space/description.h"

namespace halyard::explore {

/** A stage of a stored Func and what it reads, through Funcs that are inlined. */
struct Reader {
    const Func *func = nullptr;
    int stage = 0;
    Read read;

    const Stage &definition() const {
        return func->stages[size_t(stage)];
    }
};

class Graph {
public:
    Graph(const Description &description, std::set<std::string> inlined);

    bool stored(const std::string &func) const {
        return description_.func(func) && inlined_.count(func) == 0;
    }

    /** Stored Funcs and buffers that a stage reads. */
    const std::vector<Read> &reads(const std::string &func, int stage) const;

    /** The stages that read a stored Func. */
    const std::vector<Reader> &readers(const std::string &func) const;

    /** Stored Funcs, each after all that read it. */
    const std::vector<const Func *> &order() const {
        return order_;
    }

    /** Instructions for an element of a stage, those of inlined Funcs included. */
    double cost(const std::string &func, int stage) const;

private:
    std::vector<Read> through(const std::vector<Read> &reads) const;

    const Description &description_;
    const std::set<std::string> inlined_;
    std::map<std::pair<std::string, int>, std::vector<Read>> reads_;
    std::map<std::string, std::vector<Reader>> readers_;
    std::vector<const Func *> order_;
};

/** How often the elements of a Func are computed where it is inlined, over how often if it is stored: by Func. */
std::map<std::string, double> uses(const Description &description, const std::set<std::string> &inlined);

}  // namespace halyard::explore

#endif
