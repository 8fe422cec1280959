#include "lowering/cuda/extract/kernel.h"

#include <cstring>
#include <map>
#include <sstream>

#include "lowering/accesses.h"
#include "lowering/cuda/extract/no_threads.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

const std::array<const char *, 3> kThreadNames = {"thread_x", "thread_y", "thread_z"};

namespace {

const char *const kBlockNames[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};

// Halide rounds shared arrays up one by one; 16 bytes is what the widest access wants.
constexpr int kSharedAlignment = 16;

// Loops of the launch become definitions, and what they say about it goes into the kernel.
class TakeLaunchLoops : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const For *op) override {
        if (op->for_type == ForType::GPUBlock) {
            const int d = gpu_dimension(op->name);
            kernel.blocks[d] = op->extent;
            return LetStmt::make(op->name, Variable::make(Int(32), kBlockNames[d]), mutate(op->body));
        }
        if (op->for_type == ForType::GPUThread) {
            const int d = gpu_dimension(op->name);
            kernel.threads[d] = op->extent;
            return substitute(op->name, Variable::make(Int(32), kThreadNames[d]), mutate(op->body));
        }
        return IRMutator::visit(op);
    }

    // What Halide knows of alignment is about an index in an array as it was, and the first element of a caller's array, or of one of
    // several that share an allocation, may be anywhere. mark_aligned_vectors() finds out what is so.
    Expr visit(const Load *op) override {
        const std::string name = name_of(op->name, op->type);
        return Load::make(op->type, name, mutate(op->index), op->image, op->param, mutate(op->predicate), ModulusRemainder());
    }

    Stmt visit(const Store *op) override {
        const std::string name = name_of(op->name, op->value.type());
        return Store::make(name, mutate(op->value), mutate(op->index), op->param, mutate(op->predicate), ModulusRemainder());
    }

    // Halide makes a strided load of memory that is padded one of all that lies between, and takes some of that.
    Expr visit(const Shuffle *op) override {
        const auto *all = op->is_slice() && op->vectors.size() == 1 ? op->vectors[0].as<Load>() : nullptr;
        const auto *dense = all && is_const_one(all->predicate) ? all->index.as<Ramp>() : nullptr;
        if (!dense || !is_const_one(dense->stride) || op->slice_stride() <= 1 || !padded.count(all->name)) {
            return IRMutator::visit(op);
        }
        const int lanes = op->type.lanes();
        const Expr index = Ramp::make(simplify(dense->base + op->slice_begin()), op->slice_stride(), lanes);
        return mutate(Load::make(op->type, all->name, index, all->image, all->param, const_true(lanes), ModulusRemainder()));
    }

    // Of an array, or of what lies in it as elements of another type.
    std::string name_of(const std::string &array, const Type &accessed) {
        const auto it = shared.find(array);
        const Type t = accessed.element_of();
        if (it == shared.end() || it->second == t) {
            return array;
        }
        const std::string alias = alias_of(array, t);
        aliases[array].insert({alias, t});
        return alias;
    }

    Stmt visit(const Allocate *op) override {
        if (op->memory_type != MemoryType::GPUShared) {
            return IRMutator::visit(op);
        }
        shared[op->name] = op->type;
        if (op->padding > 0) {
            padded.insert(op->name);
        }
        Expr elements = 1;
        for (const auto &e : op->extents) {
            elements *= e;
        }
        const Expr bytes = elements * op->type.bytes();
        kernel.shared_bytes = simplify(kernel.shared_bytes + (bytes + (kSharedAlignment - 1)) / kSharedAlignment * kSharedAlignment);
        Stmt body = mutate(op->body);
        for (const auto &[name, type] : aliases[op->name]) {
            body = Allocate::make(name, type, MemoryType::GPUShared, {simplify(bytes / type.bytes())}, const_true(), body,
                                  Variable::make(Handle(), op->name));
        }
        return Allocate::make(op->name, op->type, op->memory_type, op->extents, op->condition, body);
    }

    // Halide puts arrays together, whatever their types, where one is no longer needed when another is.
    std::map<std::string, Type> shared;
    std::map<std::string, std::map<std::string, Type>> aliases;
    std::set<std::string> padded;

public:
    explicit TakeLaunchLoops(std::set<std::string> padded) : padded(std::move(padded)) {}
    Kernel kernel;
};

// Scalars that an expression of the host is made of become arguments.
class AddArguments : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Variable *op) override {
        for (const auto &a : kernel.arguments) {
            if (a.name == op->name) {
                return;
            }
        }
        kernel.arguments.push_back({op->name, false, false, op->type, Expr(), Expr()});
    }

    Kernel &kernel;

public:
    explicit AddArguments(Kernel &kernel) : kernel(kernel) {}
};

// Halide puts arrays of a block into one, whatever their types. In shared memory that one has other names (above); an argument has one
// type.
class CheckTypes : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Load *op) override {
        check(op->name, op->type);
        IRVisitor::visit(op);
    }

    void visit(const Store *op) override {
        check(op->name, op->value.type());
        IRVisitor::visit(op);
    }

    void check(const std::string &array, const Type &accessed) const {
        const auto it = arrays.find(array);
        if (it != arrays.end() && it->second != accessed.element_of()) {
            std::ostringstream message;
            message << array << " would hold both " << it->second << " and " << accessed.element_of()
                    << ": Halide puts what a block keeps in device memory into one array. Keep one of them in shared memory or in "
                       "registers, or compute it at the root";
            throw CompileError(message.str());
        }
    }

    const std::map<std::string, Type> &arrays;

public:
    explicit CheckTypes(const std::map<std::string, Type> &arrays) : arrays(arrays) {}
};

// Halide 21's conditions of stages that may be skipped have a let inside of the same one, where they load something. Its simplifier refuses that.
class WithoutRepeatedLets : public IRMutator {
    using IRMutator::visit;
    Expr visit(const Let *op) override {
        if (around_.contains(op->name) && equal(around_.get(op->name), op->value)) {
            return mutate(op->body);
        }
        const Expr value = mutate(op->value);
        ScopedBinding<Expr> bind(around_, op->name, op->value);
        return Let::make(op->name, value, mutate(op->body));
    }
    Scope<Expr> around_;
};

}  // namespace

int gpu_dimension(const std::string &loop) {
    // FUNC.s0.LOOP.block_id_y, or that and $2 where Halide met the name before.
    const char end = loop[loop.rfind("_id_") + 4];
    return end - 'x';
}

int Kernel::constant_threads(int dimension) const {
    const auto n = as_const_int(threads[dimension]);
    return n ? int(*n) : 0;
}

Kernel extract_kernel(const For *loop, const std::set<std::string> &padded) {
    TakeLaunchLoops take(padded);
    take.kernel.blocks = take.kernel.threads = {1, 1, 1};
    take.kernel.shared_bytes = 0;
    take.kernel.body = WithoutRepeatedLets().mutate(take.mutate(Stmt(loop)));
    Kernel kernel = take.kernel;

    HostClosure closure;
    closure.include(Stmt(loop));
    std::map<std::string, Type> arrays;
    for (const auto &a : closure.arguments()) {
        kernel.arguments.push_back({a.name, a.is_buffer, a.write, a.type, Expr(), Expr()});
        if (a.is_buffer) {
            arrays[a.name] = a.type.element_of();
        }
    }
    CheckTypes check(arrays);
    kernel.body.accept(&check);
    AddArguments add(kernel);
    for (const Expr &threads : keep_one_thread(kernel)) {
        threads.accept(&add);
    }
    return kernel;
}

void number_blocks(Kernel &kernel) {
    const Expr x = kernel.blocks[0], y = kernel.blocks[1];
    const Expr number = Variable::make(Int(32), kBlockNames[0]);
    std::map<std::string, Expr> coordinates;
    if (!is_const_one(kernel.blocks[2])) {
        coordinates[kBlockNames[2]] = number / y / x;
    }
    if (!is_const_one(y)) {
        coordinates[kBlockNames[1]] = is_const_one(kernel.blocks[2]) ? number / x : number / x % y;
    }
    if (coordinates.empty()) {
        return;
    }
    coordinates[kBlockNames[0]] = number % x;
    for (const auto &c : coordinates) {
        const std::string name = unique_name(std::string("block") + c.first.substr(strlen("blockIdx")));
        kernel.body = LetStmt::make(name, c.second, substitute(c.first, Variable::make(Int(32), name), kernel.body));
    }
    AddArguments add(kernel);
    x.accept(&add);
    y.accept(&add);
    kernel.blocks = {simplify(x * y * kernel.blocks[2]), 1, 1};
}

bool has_only(const Expr &e, const std::set<std::string> &arguments) {
    class OnlyArguments : public IRVisitor {
        using IRVisitor::visit;
        void visit(const Variable *op) override {
            yes = yes && arguments.count(op->name) > 0;
        }
        void visit(const Load *) override {
            yes = false;
        }
        const std::set<std::string> &arguments;

    public:
        explicit OnlyArguments(const std::set<std::string> &arguments) : arguments(arguments) {}
        bool yes = true;
    };
    OnlyArguments only(arguments);
    e.accept(&only);
    return only.yes;
}

}  // namespace halyard
