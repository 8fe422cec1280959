#ifndef HALYARD_PARALLEL_LOOPS_H
#define HALYARD_PARALLEL_LOOPS_H

/** \file
 * Whether a statement is done by several threads.
 */

#include <Halide.h>

namespace halyard {

/** Whether the statement has a parallel loop, or a thread of its own for a part. */
inline bool has_parallel_loop(const Halide::Internal::Stmt &s) {
    class Find : public Halide::Internal::IRVisitor {
        using IRVisitor::visit;
        void visit(const Halide::Internal::For *op) override {
            found = found || op->is_parallel();
            IRVisitor::visit(op);
        }
        void visit(const Halide::Internal::Fork *) override {
            found = true;
        }

    public:
        bool found = false;
    } find;
    s.accept(&find);
    return find.found;
}

}  // namespace halyard

#endif
