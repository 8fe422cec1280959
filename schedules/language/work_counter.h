#ifndef HALYARD_WORK_COUNTER_H
#define HALYARD_WORK_COUNTER_H

/** \file
 * Counts the arithmetic of expressions, as operations and as a target's instructions.
 */

#include <Halide.h>

#include "language/loop_tree.h"

namespace halyard {

class WorkCounter : public Halide::Internal::IRVisitor {
protected:
    explicit WorkCounter(int vector_bytes) : vector_bytes_(vector_bytes) {}

    /** Where the arithmetic that is visited now is added. */
    virtual Work &work() = 0;

    /** Around the expressions of a statement: a multiplication whose result is added is one instruction with
     * its addition. */
    void begin_statement();
    void end_statement();

    void visit(const Halide::Internal::Add *op) override;
    void visit(const Halide::Internal::Sub *op) override;
    void visit(const Halide::Internal::Mul *op) override;
    void visit(const Halide::Internal::Div *op) override;
    void visit(const Halide::Internal::Min *op) override;
    void visit(const Halide::Internal::Max *op) override;
    void visit(const Halide::Internal::Select *op) override;
    void visit(const Halide::Internal::Cast *op) override;
    void visit(const Halide::Internal::VectorReduce *op) override;
    void visit(const Halide::Internal::Call *op) override;
    using IRVisitor::visit;

private:
    double vectors(const Halide::Type &t) const;
    void arithmetic(const Halide::Type &t, double instructions = 1);

    const int vector_bytes_;
    double additions_ = 0, multiplications_ = 0;  // of floats in a statement, in vectors
};

}  // namespace halyard

#endif
