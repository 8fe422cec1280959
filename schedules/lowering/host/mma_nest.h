#ifndef HALYARD_LOWERING_MMA_NEST_H
#define HALYARD_LOWERING_MMA_NEST_H

/** \file
 * The loops of a product, and the call that takes their place.
 */

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <Halide.h>

#include "lowering/host/mma_task.h"
#include "lowering/host/mma_touched.h"

namespace halyard {

class TileNest {
public:
    /** Of the outermost of the loops. Throws by `fail` where they are none of a product that tiles can do. */
    TileNest(const Halide::Internal::Stmt &s, const std::function<void(const std::string &)> &fail);

    /** Whether one call makes all of a sum. */
    bool sums_at_once() const;

    /** Has the call take the loop around it, where that goes from line to line of rows, as over the rows of an image. What lies
     * between two lines of sums may then be overwritten. */
    void take_lines();

    /** The call, with the loops that stay around it. `fresh`: sums begin at 0. */
    Halide::Internal::Stmt call(bool fresh, const TouchedRows &touched, const TileTask &task) const;

    /** The same in parts, so that the next product can be begun before it is called (runtime/mma_ahead.h). `memory` is of the task. */
    struct Ahead {
        std::string name;                 ///< of the product's functions
        std::vector<Halide::Expr> shape;  ///< for NAME_open, known where the task begins
        Halide::Internal::Stmt take;
        Halide::Internal::Stmt begin_next;  ///< needs nothing that only their producer knows
    };
    /** The buffers that it multiplies. */
    std::set<std::string> operands() const {
        return {a_.load->name, b_.load->name};
    }
    /** Nothing: it is not one call by an instruction that is there, or its shape changes. `pairs` of tiles: for so many a turn of the loops
     * that use the sums has time. */
    std::optional<Ahead> ahead(const TouchedRows &touched, const TileTask &task, const std::string &memory, int pairs) const;

private:
    using Expr = Halide::Expr;

    struct Loop {
        Halide::Internal::Stmt whole;
        std::string name;
        Expr min, extent;
    };

    // One access of the nest: a buffer, and an index that is affine in the loops.
    struct Access {
        const Halide::Internal::Load *load = nullptr;
        Expr index;
    };

    [[noreturn]] void fail(const std::string &message) const;
    void descend(Halide::Internal::Stmt s);
    void read_store();
    void classify();

    // A loop of the sum around the groups that goes on where they end, as over blocks of keys, is one with them.
    void join_groups();

    // Loops of the sum that the call takes as they are, as over the window of a convolution: two at most.
    void take_taps();

    // Whether loops from that one on have bounds that a loop around them moves.
    bool bounds_depend_on(const Loop &l, size_t first) const;

    // What the loops inside of those around are. If one is nothing, or what a loop around it is already, there are more
    // around.
    bool find_roles(int group);

    // How much an index grows by a step of a loop; undefined where that is not the same at every step.
    Expr step(const Expr &index, const Loop &loop) const;
    bool steps(const Expr &index, const Loop &loop, int by) const;
    bool moves(const Expr &index, const Loop &loop) const;
    Expr at_start(Expr index) const;
    std::vector<Expr> touched_rows(const TouchedRows &touched) const;
    std::vector<Expr> taps() const;
    std::vector<Expr> lines() const;
    Expr stride(const Expr &index, const std::optional<size_t> &loop) const;
    Expr extent(const std::optional<size_t> &loop) const;

    const std::function<void(const std::string &)> &fail_;
    Halide::Internal::Stmt body_;  // the store, kept
    const Halide::Internal::Store *store_ = nullptr;
    std::vector<Loop> loops_;      // outermost first
    size_t around_ = 0;            // of them are around the call
    size_t lines_ = 0, taps_ = 0;  // next to those, of the call
    size_t none_ = 0;              // the last that was found to be no loop of the product inside of those
    Expr c_index_, value_;
    Access a_, b_;
    Expr group_extent_;
    std::optional<size_t> row_, col_, groups_, member_;  // numbers of loops
};

}  // namespace halyard

#endif
