#include "lowering/cuda/simt/fetch.h"

#include <set>
#include <vector>

#include "lowering/accesses.h"
#include "lowering/cuda/simt/alignment.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

const char *const kCopyAsync = "halyard_copy_async", *const kCopyCommit = "halyard_copy_async_commit",
                  *const kCopyWait = "halyard_copy_async_wait";

namespace {

using Fail = std::function<void(const std::string &, const std::string &)>;
using BufferNames = std::set<std::string>;

Stmt call(const char *name, const std::vector<Expr> &args) {
    return Evaluate::make(Call::make(Int(32), name, args, Call::Intrinsic));
}

Stmt barrier() {
    return Evaluate::make(Call::make(Int(32), Call::gpu_thread_barrier, {int(CodeGen_GPU_Dev::MemoryFenceType::Shared)}, Call::Intrinsic));
}

bool is_barrier(const Stmt &s) {
    const auto *evaluate = s.as<Evaluate>();
    const auto *c = evaluate ? evaluate->value.as<Call>() : nullptr;
    return c && c->is_intrinsic(Call::gpu_thread_barrier);
}

bool is_nothing(const Stmt &s) {
    const auto *evaluate = s.as<Evaluate>();
    return evaluate && is_const(evaluate->value);
}

Stmt nothing() {
    return Evaluate::make(0);
}

// One after the other, without those that do nothing.
Stmt sequence(const Stmt &a, const Stmt &b) {
    return is_nothing(a) ? b : is_nothing(b) ? a : Block::make(a, b);
}

// The stores of a stage that is nothing but a copy, as asynchronous ones.
class CopyAsync : public IRMutator {
    using IRMutator::visit;

    static bool whole(const ModulusRemainder &alignment, int n) {
        return alignment.modulus % n == 0 && alignment.remainder % n == 0;
    }

    Stmt visit(const Store *op) override {
        // A vector that may stop at the last element (shifted_loads.h): each element for itself where it does.
        const auto *either = op->value.as<Call>();
        const auto *clamped =
            either && either->is_intrinsic(Call::if_then_else) && either->args.size() == 3 ? either->args[2].as<Load>() : nullptr;
        const auto *inside = clamped ? either->args[1].as<Load>() : nullptr;
        if (inside && clamped->type.bytes() == 4 && op->index.type().lanes() == clamped->type.lanes()) {
            const Expr all = Load::make(inside->type, inside->name, inside->index, inside->image, inside->param,
                                        const_true(inside->type.lanes()), inside->alignment);
            const Stmt whole = mutate(Store::make(op->name, all, op->index, op->param, op->predicate, op->alignment));
            std::vector<Stmt> elements;
            for (int i = 0; i < clamped->type.lanes(); i++) {
                const Expr element = Load::make(clamped->type.element_of(), clamped->name, extract_lane(clamped->index, i), clamped->image,
                                                clamped->param, const_true(), ModulusRemainder());
                elements.push_back(
                    mutate(Store::make(op->name, element, extract_lane(op->index, i), op->param, const_true(), ModulusRemainder())));
            }
            return IfThenElse::make(either->args[0], whole, Block::make(elements));
        }
        // What is not there is 0.
        const auto *choice = op->value.as<Select>();
        const auto *same = choice ? choice->condition.as<Broadcast>() : nullptr;
        const Expr condition = same ? same->value : choice ? choice->condition : const_true();
        const auto *load = (choice && is_const_zero(choice->false_value) ? choice->true_value : op->value).as<Load>();
        const bool from_input = load && inputs.count(load->name) && is_const_one(load->predicate);
        if (!from_input || !condition.type().is_scalar() || !is_const_one(op->predicate)) {
            copies = false;
            return op;
        }
        const int n = load->type.lanes(), bytes = n * load->type.bytes();
        const auto *to = op->index.as<Ramp>(), *from = load->index.as<Ramp>();
        const bool neighbours = n == 1 || (to && from && is_const_one(to->stride) && is_const_one(from->stride) &&
                                           whole(op->alignment, n) && whole(load->alignment, n) && vector_elements(load->type) == n);
        can = can && neighbours && (bytes == 4 || bytes == 8 || bytes == 16);
        const Expr place =
            Load::make(op->value.type(), op->name, op->index, Buffer<>(), Parameter(), const_true(op->value.type().lanes()), op->alignment);
        return call(kCopyAsync, {place, Expr(load), condition});
    }

    const BufferNames &inputs;

public:
    explicit CopyAsync(const BufferNames &inputs) : inputs(inputs) {}
    bool copies = true;  // is nothing but a copy
    bool can = true;     // of what cp.async takes
};

// What stands in a turn of a loop, without the turns of inner ones: the stages that fetch.
class FindStages : public IRVisitor {
    using IRVisitor::visit;

    void visit(const ProducerConsumer *op) override {
        const auto it = op->is_producer ? fetched.find(op->name) : fetched.end();
        if (it == fetched.end()) {
            IRVisitor::visit(op);
            return;
        }
        CopyAsync copy(inputs);
        copy.mutate(op->body);
        if (!copy.copies) {
            fail(op->name, "is fetched, and is more than a copy of what the kernel is given; fetch a wrapper (in_) of that");
        }
        if (!copy.can) {
            return;
        }
        if (!names.empty() && ahead != it->second) {
            fail(op->name, "is fetched " + std::to_string(it->second) + " turns ahead in a loop in which another is " +
                               std::to_string(ahead) + "; say the same of both");
        }
        ahead = it->second;
        names.insert(op->name);
    }

    void visit(const For *) override {}

    const BufferNames &inputs;
    const Fetched &fetched;
    const Fail &fail;

public:
    FindStages(const BufferNames &inputs, const Fetched &fetched, const Fail &fail) : inputs(inputs), fetched(fetched), fail(fail) {}
    BufferNames names;
    int ahead = 0;
};

// Of a turn nothing but the stages that fetch, with what stands around them.
class OnlyCopies : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const ProducerConsumer *op) override {
        return op->is_producer && names.count(op->name) ? ProducerConsumer::make_produce(op->name, CopyAsync(inputs).mutate(op->body))
                                                        : mutate(op->body);
    }
    Stmt visit(const Block *op) override {
        return sequence(mutate(op->first), mutate(op->rest));
    }
    Stmt visit(const LetStmt *op) override {
        // It stands twice from now on.
        const std::string name = unique_name(op->name);
        const Stmt body = mutate(substitute(op->name, Variable::make(op->value.type(), name), op->body));
        return is_nothing(body) ? body : LetStmt::make(name, op->value, body);
    }
    Stmt visit(const IfThenElse *op) override {
        const Stmt then = mutate(op->then_case), otherwise = op->else_case.defined() ? mutate(op->else_case) : nothing();
        return is_nothing(then) && is_nothing(otherwise) ? nothing()
               : is_nothing(otherwise)                   ? IfThenElse::make(op->condition, then)
                                                         : IfThenElse::make(op->condition, then, otherwise);
    }
    Stmt visit(const Allocate *op) override {
        return mutate(op->body);
    }
    Stmt visit(const For *) override {
        return nothing();
    }
    Stmt visit(const Store *) override {
        return nothing();
    }
    Stmt visit(const Atomic *) override {
        return nothing();
    }
    Stmt visit(const Evaluate *) override {
        return nothing();
    }
    Stmt visit(const AssertStmt *) override {
        return nothing();
    }
    Stmt visit(const Free *) override {
        return nothing();
    }

    const BufferNames &names, &inputs;

public:
    OnlyCopies(const BufferNames &names, const BufferNames &inputs) : names(names), inputs(inputs) {}
};

// The arrays that are read to know what is copied, and where to.
class FindReads : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Call *op) override {
        if (op->name == kCopyAsync) {
            op->args[0].as<Load>()->index.accept(this);
            op->args[1].accept(this);
            op->args[2].accept(this);
        } else {
            IRVisitor::visit(op);
        }
    }
    void visit(const Load *op) override {
        names.insert(array_of(op->name));
        IRVisitor::visit(op);
    }

public:
    BufferNames names;
};

// A turn without the stages that fetch, and without the barrier behind each.
class WithoutCopies : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const ProducerConsumer *op) override {
        if (op->is_producer && names.count(op->name)) {
            ends_with_stage = true;
            return nothing();
        }
        const Stmt body = mutate(op->body);
        return is_nothing(body) ? body : Stmt(ProducerConsumer::make(op->name, op->is_producer, body));
    }
    Stmt visit(const Block *op) override {
        const Stmt first = mutate(op->first);
        return sequence(first, mutate(op->rest));
    }
    Stmt visit(const Evaluate *op) override {
        if (is_barrier(op) && ends_with_stage) {
            ends_with_stage = false;
            return nothing();
        }
        return op;
    }
    Stmt visit(const For *op) override {
        ends_with_stage = false;
        return op;
    }
    Stmt visit(const Store *op) override {
        ends_with_stage = false;
        return op;
    }

    const BufferNames &names;
    bool ends_with_stage = false;

public:
    explicit WithoutCopies(const BufferNames &names) : names(names) {}
};

// What a turn reads of shared memory that it also stores.
class FindExchange : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Allocate *op) override {
        if (op->memory_type != MemoryType::GPUShared) {
            own.insert(op->name);
        }
        IRVisitor::visit(op);
    }
    void visit(const Load *op) override {
        read.insert(array_of(op->name));
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        stored.insert(array_of(op->name));
        IRVisitor::visit(op);
    }

    BufferNames own, read, stored;

public:
    bool any(const BufferNames &registers) const {
        for (const auto &name : stored) {
            if (read.count(name) && !own.count(name) && !registers.count(name)) {
                return true;
            }
        }
        return false;
    }
};

// The barrier at the end of a turn, which other stages of it may not need.
Stmt without_last_barrier(const Stmt &s) {
    if (const auto *let = s.as<LetStmt>()) {
        return LetStmt::make(let->name, let->value, without_last_barrier(let->body));
    }
    if (const auto *block = s.as<Block>()) {
        return sequence(block->first, without_last_barrier(block->rest));
    }
    return is_barrier(s) ? nothing() : s;
}

class FetchAhead : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const Allocate *op) override {
        if (op->memory_type != MemoryType::GPUShared) {
            registers.insert(op->name);
        }
        return IRMutator::visit(op);
    }

    Stmt visit(const For *op) override {
        const Stmt body = mutate(op->body);
        const FindStages stages = stages_of(body);
        if (stages.names.empty()) {
            return body.same_as(op->body) ? Stmt(op) : with_body(op, op->min, op->extent, body);
        }
        if (stages.ahead == 0) {
            return with_body(op, op->min, op->extent, at_once(body, stages.names));
        }
        const Stmt copies = copies_of(body, stages.names);
        Stmt rest = WithoutCopies(stages.names).mutate(body);
        FindExchange exchange;
        rest.accept(&exchange);
        if (!exchange.any(registers)) {
            rest = without_last_barrier(rest);
        }
        const Expr turn = Variable::make(Int(32), op->name), ahead = stages.ahead;
        const Expr end = simplify(op->min + op->extent);
        const auto fetch = [&](const Expr &t) {
            return Block::make(IfThenElse::make(simplify(t < end), simplify(substitute(op->name, t, copies))), call(kCopyCommit, {}));
        };
        const Stmt first = with_body(op, op->min, ahead, fetch(turn));
        const Stmt next = Block::make({call(kCopyWait, {stages.ahead - 1}), barrier(), fetch(turn + ahead)});
        // What the slots lie in may have held something else, and may hold something else again.
        return Block::make({barrier(), first, with_body(op, op->min, op->extent, Block::make(next, rest)), barrier()});
    }

    static Stmt with_body(const For *op, const Expr &min, const Expr &extent, const Stmt &body) {
        return For::make(op->name, min, extent, op->for_type, op->partition_policy, op->device_api, body);
    }

    FindStages stages_of(const Stmt &turn) const {
        FindStages stages(inputs, fetched, fail);
        turn.accept(&stages);
        return stages;
    }

    Stmt copies_of(const Stmt &turn, const BufferNames &names) const {
        const Stmt copies = OnlyCopies(names, inputs).mutate(turn);
        FindReads reads;
        copies.accept(&reads);
        for (const auto &r : reads.names) {
            if (!inputs.count(r)) {
                fail(*names.begin(), "is fetched, but what is fetched depends on " + r + ", which its kernel computes");
            }
        }
        return copies;
    }

    Stmt at_once(const Stmt &turn, const BufferNames &names) const {
        return Block::make(
            {copies_of(turn, names), call(kCopyCommit, {}), call(kCopyWait, {0}), barrier(), WithoutCopies(names).mutate(turn)});
    }

    const BufferNames &inputs;
    const Fetched &fetched;
    const Fail &fail;
    BufferNames registers;

public:
    FetchAhead(const BufferNames &inputs, const Fetched &fetched, const Fail &fail) : inputs(inputs), fetched(fetched), fail(fail) {}

    // What is fetched once in a block: behind the coordinates and the arrays.
    Stmt once(const Stmt &s) const {
        if (const auto *let = s.as<LetStmt>()) {
            return LetStmt::make(let->name, let->value, once(let->body));
        }
        if (const auto *array = s.as<Allocate>()) {
            return Allocate::make(array->name, array->type, array->memory_type, array->extents, array->condition, once(array->body),
                                  array->new_expr, array->free_function, array->padding);
        }
        const FindStages stages = stages_of(s);
        if (stages.names.empty()) {
            return s;
        }
        if (stages.ahead > 0) {
            fail(*stages.names.begin(), "is fetched ahead, but in no loop of its block; compute it at a serial loop");
        }
        return at_once(s, stages.names);
    }
};

}  // namespace

void fetch_ahead(Kernel &kernel, const Fetched &fetched, const Fail &fail) {
    if (fetched.empty()) {
        return;
    }
    BufferNames inputs;
    for (const auto &a : kernel.arguments) {
        if (a.is_buffer && !a.is_written) {
            inputs.insert(a.name);
        }
    }
    FetchAhead fetch(inputs, fetched, fail);
    kernel.body = fetch.once(fetch.mutate(kernel.body));
}

}  // namespace halyard
