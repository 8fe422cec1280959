#include "lowering/host/mma_touched.h"

#include <utility>

#include "lowering/definitions.h"
#include "lowering/depends_on_data.h"
#include "lowering/host/cache_line.h"
#include "lowering/host/vector_operations.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Behind so many operations for each line that is stored, a miss of it is hidden, and a prefetch only keeps the operands of the
// product from coming. GELU has as many; behind a bias alone, prefetches pay.
constexpr int kHidesAMiss = 48;

// What the first loop of a statement writes and reads, of buffers that are the caller's and move with it.
class FindTouched : public VisitDefinitions {
public:
    explicit FindTouched(std::set<std::string> own) : own_(std::move(own)) {}

    TouchedRows touched;

    // A buffer that is not the caller's.
    void own(const std::string &buffer) {
        own_.insert(buffer);
    }

private:
    using VisitDefinitions::visit;

    void visit(const Allocate *op) override {
        own_.insert(op->name);
        VisitDefinitions::visit(op);
    }

    void visit(const For *op) override {
        if (row_.empty() && !done_) {
            row_ = op->name;
            first_row_ = op->min;
            rows_ = resolved(op->extent);
            op->body.accept(this);
            row_.clear();
            done_ = true;
            if (VectorOperations::of(op->body) * kCacheLine > kHidesAMiss * stored_bytes_) {
                touched.written = {};
            }
        } else if (!row_.empty()) {
            within(op->name, op->min, op->body);
        }
    }

    void visit(const Store *op) override {
        touch(touched.written, op->name, op->index, op->value.type());
        stored_bytes_ += op->value.type().bytes() * op->value.type().lanes();
        VisitDefinitions::visit(op);
    }

    void visit(const Load *op) override {
        touch(touched.read, op->name, op->index, op->type);
        VisitDefinitions::visit(op);
    }

    void touch(Touched &t, const std::string &buffer, const Expr &index, const Type &type) {
        if (row_.empty() || t.start.defined() || own_.count(buffer) || buffer == touched.written.buffer) {
            return;
        }
        Expr at = substitute_in_all_lets(index);
        while (at.as<Ramp>() || at.as<Broadcast>()) {
            at = at.as<Ramp>() ? at.as<Ramp>()->base : at.as<Broadcast>()->value;
        }
        if (!at.type().is_scalar() || !at.type().is_int()) {
            return;
        }
        at = resolved(at);
        const Expr stride = simplify(substitute(row_, Variable::make(Int(32), row_) + 1, at) - at);
        if (depends_on_data(at) || expr_uses_var(stride, row_) || is_const_zero(stride)) {
            return;
        }
        t = {buffer, simplify(substitute(row_, resolved(first_row_), at)), stride, rows_, type.bytes()};
    }

    std::set<std::string> own_;
    std::string row_;
    Expr first_row_, rows_;
    int stored_bytes_ = 0;
    bool done_ = false;
};

// Finds the consumer, and what is allocated on the way to it.
class Consumed : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Allocate *op) override {
        find.own(op->name);
        IRVisitor::visit(op);
    }

    void visit(const ProducerConsumer *op) override {
        if (!op->is_producer && op->name == func_) {
            op->body.accept(&find);
        } else {
            IRVisitor::visit(op);
        }
    }

    std::string func_;

public:
    Consumed(std::string func, const std::set<std::string> &own) : func_(std::move(func)), find(own) {}

    FindTouched find;
};

}  // namespace

TouchedRows touched_by_consumer(const std::string &func, const Stmt &body, const std::set<std::string> &own) {
    Consumed consumed(func, own);
    body.accept(&consumed);
    return consumed.find.touched;
}

}  // namespace halyard
