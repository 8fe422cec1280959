#ifndef HALYARD_LOWERING_CUDA_EXPR_VISITOR_H
#define HALYARD_LOWERING_CUDA_EXPR_VISITOR_H

/** \file
 * How ExprPrinter goes through an expression: values in print_expr.cpp, calls and intrinsics in print_call.cpp.
 */

#include <string>
#include <vector>

#include <Halide.h>

#include "lowering/cuda/print/print_expr.h"

namespace halyard {

/** Of C++, tightest first; an operand binds at least as tightly as its operator. */
enum Precedence { kPrimary, kUnary, kMultiply, kAdd, kShift, kCompare, kEqual, kBitAnd, kBitXor, kBitOr, kAnd, kOr, kConditional };

class ExprPrinter::Visitor : public Halide::Internal::IRVisitor {
    using Expr = Halide::Expr;

public:
    /** With `lines_before` a Let is a line of its own before the expression, and else its value stands where it is read. */
    Visitor(ExprPrinter &printer, bool lines_before) : p_(printer), lines_before_(lines_before) {}

    /** The expression, in parentheses if its operator binds less tightly. */
    std::string print(const Expr &e, Precedence at_least);
    std::string argument(const Expr &e);

    /** `p[i]`, or `p` for an array of one element. */
    std::string element(const std::string &array, const Expr &index);

    /** Its first element's address. Of one element in a register it has no name of its own. */
    std::string address(const std::string &array) const;

    /** `p + i`. */
    std::string pointer(const std::string &array, const Expr &base);

    /** Whether an access may be made whole: registers have no addresses worth the name. */
    bool whole(const std::string &array, const Halide::Type &type, const Halide::Internal::ModulusRemainder &alignment) const;

private:
    using IRVisitor::visit;

    // What was printed last.
    std::string text;
    Precedence precedence = kPrimary;
    void set(std::string t, Precedence p);

    // print_expr.cpp

    void call(const std::string &function, const std::vector<Expr> &args);
    // Whether it is of 16-bit floats, several of which are one word.
    bool of_halves(const Expr &e);
    // A vector of bytes in words.
    std::string byte_words(const Expr &e);
    // `a op b`; half types compute in float.
    void binary(const Expr &a, const char *op, const Expr &b, Precedence p);
    // A function of the elements, over scalars or vectors.
    void elementwise(const std::string &function, const std::vector<Expr> &args);
    void half_or_call(const char *function, const Expr &a, const Expr &b);

    void visit(const Halide::Internal::IntImm *op) override;
    void visit(const Halide::Internal::UIntImm *op) override;
    void visit(const Halide::Internal::FloatImm *op) override;
    void visit(const Halide::Internal::StringImm *op) override;
    void visit(const Halide::Internal::Variable *op) override;
    void visit(const Halide::Internal::Cast *op) override;
    void visit(const Halide::Internal::Reinterpret *op) override;
    void visit(const Halide::Internal::Add *op) override;
    void visit(const Halide::Internal::Sub *op) override;
    void visit(const Halide::Internal::Mul *op) override;
    void visit(const Halide::Internal::Div *op) override;
    void visit(const Halide::Internal::Mod *op) override;
    void visit(const Halide::Internal::Min *op) override;
    void visit(const Halide::Internal::Max *op) override;
    void visit(const Halide::Internal::EQ *op) override;
    void visit(const Halide::Internal::NE *op) override;
    void visit(const Halide::Internal::LT *op) override;
    void visit(const Halide::Internal::LE *op) override;
    void visit(const Halide::Internal::GT *op) override;
    void visit(const Halide::Internal::GE *op) override;
    void visit(const Halide::Internal::And *op) override;
    void visit(const Halide::Internal::Or *op) override;
    void visit(const Halide::Internal::Not *op) override;
    void visit(const Halide::Internal::Select *op) override;
    void visit(const Halide::Internal::Ramp *op) override;
    void visit(const Halide::Internal::Broadcast *op) override;
    void visit(const Halide::Internal::Load *op) override;
    void visit(const Halide::Internal::Let *op) override;
    void visit(const Halide::Internal::VectorReduce *op) override;
    void visit(const Halide::Internal::Shuffle *op) override;

    // print_call.cpp

    void visit(const Halide::Internal::Call *op) override;
    void print_as(const Expr &e);
    // Of numbers of 32 bits, which are what instructions have.
    bool masked_or(const Expr &masked, const Expr &more);
    // CUDA's arithmetic is IEEE 754's unless told otherwise.
    bool strict(const Halide::Internal::Call *op);
    void shift(const char *op, const Halide::Internal::Call *call);
    void absolute(const Halide::Internal::Call *op);
    bool math(const Halide::Internal::Call *op);
    std::string pointer_of(const Halide::Internal::Load *op);
    void reduce_threads(const Halide::Internal::Call *op);
    // Halide's fixed-point intrinsics have a form in plain arithmetic.
    void other(const Halide::Internal::Call *op);

    ExprPrinter &p_;
    bool lines_before_;
};

}  // namespace halyard

#endif
