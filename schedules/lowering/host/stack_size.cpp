#include "lowering/host/stack_size.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Threads have 8 MiB as a rule, and one that waits for a loop runs jobs of others meanwhile.
constexpr int64_t kMostBytes = int64_t(1) << 20;

bool is_on_stack(const Allocate *op) {
    switch (op->memory_type) {
    case MemoryType::Auto:
    case MemoryType::Stack:
    case MemoryType::Register: return !op->new_expr.defined();
    default: return false;
    }
}

class BoundStack : public IRMutator {
public:
    using IRMutator::mutate;
    Stmt mutate(const Stmt &s) override {
        Find find;
        s.accept(&find);
        if (find.all > kMostBytes) {
            throw CompileError(find.name + " is on the stack with " + std::to_string(find.largest) + " bytes, of " +
                               std::to_string(find.all) + " of all arrays that are there: a call may take " +
                               std::to_string(kMostBytes >> 20) + " MiB of it. Say store_in \"heap\", or compute less of it at once");
        }
        return s;
    }

private:
    class Find : public IRVisitor {
        using IRVisitor::visit;
        void visit(const Allocate *op) override {
            const int64_t size = op->constant_allocation_size();
            // Halide puts what it may choose the place of, and is larger, on the heap.
            const bool chosen = op->memory_type == MemoryType::Auto && size * op->type.bytes() > kMostOfAuto;
            if (size > 0 && is_on_stack(op) && !chosen) {
                const int64_t bytes = size * op->type.bytes();
                all += bytes;
                if (bytes > largest) {
                    largest = bytes;
                    name = op->name;
                }
            }
            IRVisitor::visit(op);
        }
        static constexpr int64_t kMostOfAuto = 16 << 10;

    public:
        int64_t all = 0, largest = 0;
        std::string name;
    };
};

}  // namespace

std::unique_ptr<IRMutator> bound_stack() {
    return std::make_unique<BoundStack>();
}

}  // namespace halyard
