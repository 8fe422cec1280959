#ifndef HALYARD_LOWERING_VECTOR_OPERATIONS_H
#define HALYARD_LOWERING_VECTOR_OPERATIONS_H

#include <Halide.h>

namespace halyard {

/** How many operations of vectors a statement has, one that is used again once. */
class VectorOperations : public Halide::Internal::IRGraphVisitor {
public:
    static int of(const Halide::Internal::Stmt &s) {
        VectorOperations operations;
        s.accept(&operations);
        return operations.count_;
    }

private:
    using IRGraphVisitor::visit;

    void visit(const Halide::Internal::Add *op) override {
        one(op);
    }
    void visit(const Halide::Internal::Sub *op) override {
        one(op);
    }
    void visit(const Halide::Internal::Mul *op) override {
        one(op);
    }
    void visit(const Halide::Internal::Div *op) override {
        one(op);
    }
    void visit(const Halide::Internal::Min *op) override {
        one(op);
    }
    void visit(const Halide::Internal::Max *op) override {
        one(op);
    }
    void visit(const Halide::Internal::Select *op) override {
        one(op);
    }
    // Sums and products that are rounded by themselves.
    void visit(const Halide::Internal::Call *op) override {
        if (op->is_strict_float_intrinsic()) {
            one(op);
        } else {
            IRGraphVisitor::visit(op);
        }
    }

    template<typename T>
    void one(const T *op) {
        count_ += op->type.is_vector();
        IRGraphVisitor::visit(op);
    }

    int count_ = 0;
};

}  // namespace halyard

#endif
