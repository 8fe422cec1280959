#include "lowering/host/prefetch.h"

#include <algorithm>
#include <utility>

#include "lowering/definitions.h"
#include "lowering/depends_on_data.h"
#include "lowering/extern_call.h"
#include "lowering/host/cache_line.h"
#include "lowering/host/finish_ir.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// The index of the first lane.
Expr first_lane(const Expr &index) {
    if (const auto *ramp = index.as<Ramp>()) {
        return first_lane(ramp->base);
    }
    if (const auto *broadcast = index.as<Broadcast>()) {
        return first_lane(broadcast->value);
    }
    return index.type().is_scalar() ? index : extract_lane(index, 0);
}

// Visits accesses with what is known of the names in their indices.
class VisitIndices : public VisitDefinitions {
protected:
    using VisitDefinitions::visit;

    void visit(const Load *op) override {
        accessed(op->name, op->index);
        IRVisitor::visit(op);
    }

    void visit(const Store *op) override {
        accessed(op->name, op->index);
        IRVisitor::visit(op);
    }

    virtual void accessed(const std::string &buffer, const Expr &index) = 0;
};

// The first access of a buffer, in the first iterations of the loops in the statement.
class FindFirst : public VisitIndices {
    using VisitIndices::visit;

    void visit(const For *op) override {
        within(op->name, op->min, op->body);
    }

    void accessed(const std::string &name, const Expr &index) override {
        if (!first.defined() && name == buffer) {
            first = resolved(first_lane(index));
        }
        const std::string suffix = kStreamedSuffix;
        streams = streams || (name.size() > suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0);
    }

public:
    std::string buffer;
    Expr first;
    bool streams = false;
};

// How many elements an iteration of a loop goes on by: the most of its accesses with a constant number.
class FindStep : public VisitIndices {
    void accessed(const std::string &, const Expr &index) override {
        const Expr at = resolved(first_lane(index));
        const auto known = as_const_int(simplify(substitute(loop, Variable::make(Int(32), loop) + 1, at) - at));
        step = std::max(step, known ? int(*known) : 0);
    }

public:
    std::string loop;
    int step = 0;
};

class Spread : public IRMutator {
public:
    explicit Spread(std::vector<SpreadPrefetch> prefetches) : prefetches_(std::move(prefetches)) {
        for (auto &p : prefetches_) {
            p.ahead.lock();
        }
    }

private:
    using IRMutator::visit;

    struct Started {
        const SpreadPrefetch *prefetch;
        Expr first;  // the index of what is prefetched first
    };

    Stmt visit(const For *op) override {
        const size_t outer = started_.size();
        for (const auto &p : prefetches_) {
            if (p.ahead.match(op->name)) {
                FindFirst find;
                find.buffer = p.buffer;
                op->body.accept(&find);
                if (find.first.defined() && !depends_on_data(find.first) && (find.streams || !p.only_streamed)) {
                    const Expr later = Variable::make(Int(32), op->name) + p.offset;
                    started_.push_back({&p, simplify(substitute(op->name, later, find.first))});
                }
            }
        }
        Stmt body = mutate(op->body);
        for (const auto &s : started_) {
            const SpreadPrefetch &p = *s.prefetch;
            if (op->name == p.func.name() + ".s" + std::to_string(p.stage) + "." + p.loop) {
                FindStep step;
                step.loop = op->name;
                op->body.accept(&step);
                if (step.step > 0) {
                    body = Block::make(fetches(s, (Variable::make(Int(32), op->name) - op->min) * step.step, step.step), body);
                }
            }
        }
        started_.resize(outer);
        return body.same_as(op->body) ? Stmt(op)
                                      : For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, body);
    }

    // Of `count` elements, the lines.
    static Stmt fetches(const Started &s, const Expr &begin, int count) {
        const SpreadPrefetch &p = *s.prefetch;
        const Expr bytes = cast<int64_t>(s.first + begin) * p.type.bytes();
        std::vector<Stmt> all;
        for (int64_t line = 0; line < int64_t(count) * p.type.bytes(); line += kCacheLine) {
            all.push_back(call_of(p.for_write ? kPrefetchWrite : kPrefetchRead,
                                  {Variable::make(Handle(), p.buffer), bytes + make_const(Int(64), line)}));
        }
        return Block::make(all);
    }

    std::vector<SpreadPrefetch> prefetches_;
    std::vector<Started> started_;
};

}  // namespace

std::unique_ptr<IRMutator> spread_prefetches(std::vector<SpreadPrefetch> prefetches) {
    return std::make_unique<Spread>(std::move(prefetches));
}

}  // namespace halyard
