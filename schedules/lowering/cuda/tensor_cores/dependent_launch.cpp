#include "lowering/cuda/tensor_cores/dependent_launch.h"

#include <set>
#include <string>

#include "lowering/accesses.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class FindKernels : public IRVisitor {
    using IRVisitor::visit;

    void visit(const For *op) override {
        if (op->for_type == ForType::GPUBlock) {
            note(op);
            return;
        }
        const Accesses before = running;
        inside(op->body);
        running.add(before);
    }

    void visit(const IfThenElse *op) override {
        const Accesses before = running;
        inside(op->then_case);
        Accesses after = running;
        running = before;
        if (op->else_case.defined()) {
            inside(op->else_case);
        }
        running.add(after);
    }

    // What stands in a branch or a loop: what comes before it there, or behind it, is not known.
    void inside(const Stmt &s) {
        const For *const before = last;
        const size_t kernels = found.size();
        last = nullptr;
        s.accept(this);
        last = found.size() == kernels ? before : nullptr;
    }

    void visit(const Allocate *op) override {
        allocated.insert(op->name);
        IRVisitor::visit(op);
    }

    void note(const For *kernel) {
        const Accesses now = accesses_of(Stmt(kernel));
        const bool needs = meet(now.loaded, running.stored) || meet(now.stored, running.stored) || meet(now.stored, running.loaded) ||
                           meet(now.stored, allocated);
        DependentLaunch &t = found[kernel];
        t.beside_last = last && !needs;
        if (!t.beside_last) {
            running = {};
        }
        running.add(now);
        last = kernel;
    }

    const For *last = nullptr;
    Accesses running;  // of kernels that may still run
    std::set<std::string> allocated;

public:
    std::map<const For *, DependentLaunch> found;
};

}  // namespace

std::map<const For *, DependentLaunch> find_dependent_launches(const Stmt &s) {
    FindKernels find;
    s.accept(&find);
    return find.found;
}

}  // namespace halyard
