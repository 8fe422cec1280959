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
    std::vector<Read> through(const std::vector<Read> &reads);
    const std::vector<Read> &through_inlined(const Func &f);

    const Description &description_;
    const std::set<std::string> inlined_;
    std::map<std::string, std::vector<Read>> through_;  // of inlined Funcs: what they read that is stored
    mutable std::map<std::string, double> costs_;       // of inlined Funcs
    std::map<std::pair<std::string, int>, std::vector<Read>> reads_;
    std::map<std::string, std::vector<Reader>> readers_;
    std::vector<const Func *> order_;
};

/** What inlining a Func takes. Asked in the order of Graph, it follows a set that grows: what reads a Func is decided before it. */
class Uses {
public:
    Uses(const Description &description, const std::set<std::string> &inlined);

    /** How often the elements of a Func are computed where it is inlined, over how often if it is stored. */
    double times(const std::string &func);

    /** How often its text stands in what is compiled, where it is inlined: grows with every Func that is inlined above it. */
    double copies(const std::string &func);

private:
    struct User {
        std::string func;
        double reads = 0, iterations = 0;
    };
    struct Count {
        double evaluations = 0, copies = 0;
    };
    const Count &count(const std::string &func);

    const Description &description_;
    const std::set<std::string> &inlined_;
    std::map<std::string, std::vector<User>> users_;
    std::map<std::string, Count> counts_;
};

}  // namespace halyard::explore

#endif
