#ifndef HALYARD_LOOPS_AROUND_H
#define HALYARD_LOOPS_AROUND_H

/** \file
 * The loops around a place of a lowered statement: values of expressions at single iterations and over all of them.
 */

#include <functional>

#include "language/index_value.h"

namespace halyard {

/** A loop around the current statement. A fused loop is several of them: the variable is min + the sum of
 * their steps. */
struct Around {
    std::string variable;
    int number = 0;                // of the Node
    int64_t step = 1, extent = 1;  // of the variable; iterations
    int64_t now = 0;               // the iteration that stands for all
};

class LoopsAround {
public:
    /** Iterations of some loops, which are numbered as in all(). */
    using Iterations = std::vector<std::pair<size_t, int64_t>>;

    /** The mean of an expression over the loops around; where it is not the same everywhere, also the
     * iterations at which it is positive, and at which it is not. */
    struct Mean {
        double value = 0;
        Iterations yes, no;
        bool of_two = false;  // it depends on more than two loops, and is the mean over two of them
    };

    explicit LoopsAround(BufferSizes sizes) : value(std::move(sizes)) {}

    IndexValue value;  // with the loops as they stand now

    /** A variable begins at `min`; the loops that make it up follow. */
    void push_variable(const std::string &name, int64_t min);
    void pop_variable(const std::string &name);
    void push(const Around &loop);
    void pop();
    const std::vector<Around> &all() const {
        return around_;
    }

    /** f with a loop at an iteration, and then back. */
    int64_t at(size_t loop, int64_t iteration, const std::function<int64_t()> &f);
    /** The same for some loops at once. */
    void at_iterations(const Iterations &where, const std::function<void()> &f);

    /** Nothing where the expression comes out of memory. */
    std::optional<Mean> mean(const Halide::Expr &e);

private:
    void place(const std::string &variable);

    std::vector<Around> around_;
    std::map<std::string, std::vector<int64_t>> mins_;
};

}  // namespace halyard

#endif
