#include "lowering/host/stream.h"

#include <map>
#include <set>

#include "lowering/extern_call.h"
#include "lowering/host/buffer_bytes.h"
#include "lowering/host/cache_line.h"
#include "lowering/host/finish_ir.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// How many loads and stores of some buffers there are, and whether stores stand in a parallel loop.
class CountAccesses : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Load *op) override {
        count += names.count(op->name);
        IRVisitor::visit(op);
    }

    void visit(const Store *op) override {
        count += names.count(op->name);
        IRVisitor::visit(op);
    }

    const std::set<std::string> &names;

public:
    explicit CountAccesses(const std::set<std::string> &names) : names(names) {}
    size_t count = 0;
};

size_t accesses(const Stmt &s, const std::set<std::string> &names) {
    CountAccesses c(names);
    s.accept(&c);
    return c.count;
}

Stmt fenced(const Stmt &s) {
    return Block::make(s, call_of(kStreamFence, {}));
}

// The other name for every access, loads as well: LLVM takes buffers of different names for disjoint.
// A task ends with a fence, as non-temporal stores are not ordered with what tells others of its end.
class StreamAccesses : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Load *op) override {
        if (!names.count(op->name)) {
            return IRMutator::visit(op);
        }
        return Load::make(op->type, op->name + kStreamedSuffix, mutate(op->index), op->image, op->param, mutate(op->predicate),
                          op->alignment);
    }

    Stmt visit(const Store *op) override {
        if (!names.count(op->name)) {
            return IRMutator::visit(op);
        }
        return Store::make(op->name + kStreamedSuffix, mutate(op->value), mutate(op->index), op->param, mutate(op->predicate),
                           op->alignment);
    }

    Stmt visit(const For *op) override {
        const bool task = op->for_type == ForType::Parallel && accesses(op->body, names) > 0;
        const Stmt s = IRMutator::visit(op);
        if (!task) {
            return s;
        }
        const auto *loop = s.as<For>();
        return For::make(loop->name, loop->min, loop->extent, loop->for_type, loop->partition_policy, loop->device_api, fenced(loop->body));
    }

    const std::set<std::string> &names;

public:
    explicit StreamAccesses(const std::set<std::string> &names) : names(names) {}
};

class MarkStreamedStores : public IRMutator {
public:
    explicit MarkStreamedStores(std::vector<Streamed> streamed) : streamed_(std::move(streamed)) {
        for (const auto &s : streamed_) {
            for (size_t i = 0; i < s.func.output_types().size(); i++) {
                const std::string name = s.func.name() + (s.func.outputs() > 1 ? "." + std::to_string(i) : "");
                names_.insert(name);
                const Expr bytes = buffer_bytes(name, s.func.output_types()[i].bytes(), s.func.dimensions());
                const Expr streams = bytes > make_const(Int(64), s.above) && has_long_rows(name, s.func.output_types()[i]);
                large_ = large_.defined() ? large_ || streams : streams;
            }
        }
    }

    using IRMutator::mutate;

    // Descends to the outermost loop with all the accesses in it.
    Stmt mutate(const Stmt &s) override {
        if (all_ == 0) {
            all_ = accesses(s, names_);
        }
        if (done_ || all_ == 0 || !s.defined() || accesses(s, names_) < all_) {
            return s;
        }
        const bool opens = s.as<LetStmt>() || s.as<ProducerConsumer>() || s.as<Block>() || s.as<Allocate>();
        if (opens) {
            Stmt inner = IRMutator::mutate(s);
            if (done_) {
                return inner;
            }
        }
        done_ = true;
        StreamAccesses stream(names_);
        Stmt both = IfThenElse::make(Variable::make(Bool(), "halyard.streams"), fenced(stream.mutate(s)), s);
        for (const auto &name : names_) {
            both = LetStmt::make(name + kStreamedSuffix, Variable::make(Handle(), name), both);
        }
        return LetStmt::make("halyard.streams", large_, both);
    }

private:
    // Where short rows are no whole lines, plain stores and streamed ones meet in a line, which takes many times as long.
    static Expr has_long_rows(const std::string &buffer, const Type &type) {
        constexpr int kLong = 16384;  // bytes
        const Expr row = buffer_bytes(buffer, type.bytes(), 1);
        return row % kCacheLine == 0 || row >= kLong;
    }

    std::vector<Streamed> streamed_;
    std::set<std::string> names_;
    Expr large_;
    size_t all_ = 0;
    bool done_ = false;
};

}  // namespace

std::unique_ptr<IRMutator> mark_streamed_stores(std::vector<Streamed> streamed) {
    return std::make_unique<MarkStreamedStores>(std::move(streamed));
}

}  // namespace halyard
