#include "lowering/host/prefetch_ahead.h"

#include <algorithm>
#include <utility>

#include "lowering/definitions.h"
#include "lowering/depends_on_data.h"
#include "lowering/host/cache_line.h"
#include "lowering/host/finish_ir.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kMostLines = 16;
constexpr int kVector = 16;  // bytes; what is smaller is broadcast

// The elements from the first to the last lane of an index: where they begin, and how many.
std::pair<Expr, int> span(const Expr &index) {
    if (const auto *b = index.as<Broadcast>()) {
        return span(b->value);
    }
    if (const auto *r = index.as<Ramp>()) {
        const auto stride = as_const_int(r->stride);
        const auto [base, count] = span(r->base);
        return stride && *stride > 0 ? std::make_pair(base, int(*stride) * (r->lanes - 1) + count) : std::make_pair(Expr(), 0);
    }
    return index.type().is_scalar() ? std::make_pair(index, 1) : std::make_pair(Expr(), 0);
}

// What the loads of a buffer in a statement reach: a first place, and ranges of elements from there.
class FindReads : public VisitDefinitions {
    using VisitDefinitions::visit;

    void visit(const For *) override {
        // What an inner loop reads is too much for one iteration of this one.
    }

    void visit(const Load *op) override {
        if (op->name == buffer) {
            auto [begin, count] = span(op->index);
            if (begin.defined() && count * op->type.element_of().bytes() >= kVector) {
                add(begin, count);
            }
        }
        VisitDefinitions::visit(op);
    }

    void add(const Expr &index, int count) {
        const Expr begin = resolved(index);
        if (depends_on_data(begin)) {
            return;
        }
        if (!first.defined()) {
            first = simplify(begin);
        }
        if (const auto distance = as_const_int(simplify(begin - first))) {
            ranges.emplace_back(int(*distance), int(*distance) + count);
        }
    }

public:
    std::string buffer;
    Expr first;
    std::vector<std::pair<int, int>> ranges;
};

class Ahead : public IRMutator {
public:
    explicit Ahead(std::vector<AheadPrefetch> prefetches) : prefetches_(std::move(prefetches)) {}

private:
    using IRMutator::visit;

    Stmt visit(const For *op) override {
        Stmt body = mutate(op->body);
        for (const auto &p : prefetches_) {
            if (op->name == p.func + ".s" + std::to_string(p.stage) + "." + p.loop) {
                for (const Parameter &buffer : p.buffers) {
                    FindReads reads;
                    reads.buffer = buffer.name();
                    op->body.accept(&reads);
                    if (!reads.ranges.empty()) {
                        body = Block::make(lines(buffer, reads, p.bytes), body);
                    }
                }
            }
        }
        return body.same_as(op->body) ? Stmt(op)
                                      : For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, body);
    }

    static Stmt lines(const Parameter &buffer, FindReads &reads, int ahead) {
        const int size = buffer.type().bytes();
        std::sort(reads.ranges.begin(), reads.ranges.end());
        std::vector<Stmt> all;
        int next = reads.ranges.front().first * size;  // bytes before it are asked for
        for (const auto &[begin, end] : reads.ranges) {
            for (next = std::max(next, begin * size); next < end * size && all.size() < kMostLines; next += kCacheLine) {
                const Expr at = cast<int64_t>(reads.first) * size + Expr(int64_t(next + ahead));
                all.push_back(
                    Evaluate::make(Call::make(Int(32), kPrefetchRead, {Variable::make(Handle(), buffer.name()), at}, Call::Extern)));
            }
        }
        return Block::make(all);
    }

    std::vector<AheadPrefetch> prefetches_;
};

}  // namespace

std::unique_ptr<IRMutator> prefetch_ahead(std::vector<AheadPrefetch> prefetches) {
    return std::make_unique<Ahead>(std::move(prefetches));
}

}  // namespace halyard
