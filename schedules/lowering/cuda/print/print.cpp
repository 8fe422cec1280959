#include "lowering/cuda/print/print.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "lowering/cuda/print/print_expr.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Loops of a constant number of turns up to this many are unrolled, so that their indices into registers are
// constants. Not those in which threads wait for each other: they are long.
constexpr int kUnrolledTurns = 64;
// Where no index needs it, not those that would become more than so many values put into registers: compilers take minutes for
// them, and the code does not fit in the cache of instructions.
constexpr int64_t kUnrolledValues = 1024;

// What kernels that are more than their statements declare (tensor_cores/, tiles/).
const std::vector<std::string> kOwnWords = {
    "across",   "before",    "between", "c0",    "c1",     "c2",     "c3",       "c4",    "chunk", "clear", "compute_group",
    "counted",  "d",         "down",    "first", "group",  "i",      "in_group", "lane",  "last",  "later", "leave",
    "line",     "member",    "members", "next",  "none",   "others", "phase",    "piece", "place", "rank",  "slice",
    "slices",   "some",      "stage",   "steps", "thread", "tile",   "tiles",    "turn",  "valid", "warp",  "warp_of_block",
    "warp_row", "warpgroup", "warps",   "x"};

/** What of a loop decides whether it is unrolled. */
class LoopOverRegisters : public IRVisitor {
    using IRVisitor::visit;

    void visit_let(const std::string &name, const Expr &value) {
        if (uses_loop(value)) {
            of_loop_.insert(name);
        }
    }
    void visit(const Let *op) override {
        visit_let(op->name, op->value);
        IRVisitor::visit(op);
    }
    void visit(const LetStmt *op) override {
        visit_let(op->name, op->value);
        IRVisitor::visit(op);
    }
    void visit(const Load *op) override {
        visit_access(op->name, op->index);
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        visit_access(op->name, op->index);
        values += registers_.count(op->name) ? op->value.type().lanes() : 0;
        IRVisitor::visit(op);
    }
    void visit(const For *op) override {
        const int64_t outside = values;
        values = 0;
        IRVisitor::visit(op);
        values = outside + values * as_const_int(op->extent).value_or(1);
    }
    void visit(const Call *op) override {
        waits = waits || op->is_intrinsic(Call::gpu_thread_barrier);
        IRVisitor::visit(op);
    }

    void visit_access(const std::string &array, const Expr &index) {
        if (registers_.count(array)) {
            reads = true;
            in_index = in_index || uses_loop(index);
        }
    }

    bool uses_loop(const Expr &e) const {
        return std::any_of(of_loop_.begin(), of_loop_.end(), [&](const std::string &name) { return expr_uses_var(e, name); });
    }

    const std::set<std::string> &registers_;
    std::set<std::string> of_loop_;

public:
    LoopOverRegisters(const For *loop, const std::set<std::string> &registers) : registers_(registers), of_loop_{loop->name} {
        loop->body.accept(this);
    }

    bool reads = false, in_index = false, waits = false;
    int64_t values = 0;  // that are put into registers, in one turn
};

}  // namespace

class KernelPrinter::Statements : public IRVisitor {
public:
    Statements(const Kernel &kernel, const PrintOptions &options, bool own_words)
        : kernel_(kernel), options_(options),
          expr_(
              names_, [this](const std::string &array) { return memory_of(array); }, [this](const std::string &l) { line(l); }) {
        if (own_words) {
            names_.reserve(kOwnWords);
        }
        for (const auto &a : kernel.arguments) {
            names_.of(a.name);
        }
        for (const char *t : kThreadNames) {
            names_.of(t);
        }
    }

    void head(Works works) {
        int threads = 1;
        for (int d = 0; d < 3; d++) {
            threads *= kernel_.constant_threads(d);
        }
        const std::string bounds =
            threads > 0 ? "__launch_bounds__(" + std::to_string(threads) + kernel_.blocks_per_multiprocessor + ") " : "";
        const std::string cluster = kernel_.cluster > 1 ? "__cluster_dims__(" + std::to_string(kernel_.cluster) + ", 1, 1) " : "";
        const std::string start = "extern \"C\" __global__ void " + cluster + bounds + kernel_.name + "(";
        std::string row = start;
        for (size_t i = 0; i < kernel_.arguments.size(); i++) {
            const auto &a = kernel_.arguments[i];
            const std::string type = a.tensor.defined()   ? "const __grid_constant__ tensor_map"
                                     : a.type.is_handle() ? "global<int>"  // a counter
                                                          : type_text(a.type);
            const std::string text =
                (a.is_buffer ? (a.is_in_order ? "global_in_order<" : "global<") + std::string(a.is_written ? "" : "const ") + type + ">"
                             : type) +
                " " + names_.of(a.name) + (i + 1 < kernel_.arguments.size() ? "," : ") {");
            if (i > 0 && Names::unmarked(row).size() + Names::unmarked(text).size() + 1 > 120) {
                text_ += row + "\n";
                row = "    " + text;
            } else {
                row += (i > 0 ? " " : "") + text;
            }
        }
        text_ += row + (kernel_.arguments.empty() ? ") {\n" : "\n");
        depth_ = 1;
        if (works == Works::kAfterLast) {
            line("wait_for_last();");
        }
        if (works != Works::kWhereItSays) {
            line("start_next();");
        }
    }

    std::string foot() {
        std::string parameters;
        for (const auto &a : kernel_.arguments) {
            parameters += (parameters.empty() ? "" : ", ") + names_.of(a.name);
        }
        text_ += kernel_.cluster > 1 ? "}\nHALYARD_KERNEL_OF_CLUSTER(" + std::to_string(kernel_.cluster) + ", " + kernel_.name
                                     : "}\nHALYARD_KERNEL(" + kernel_.name;
        text_ += ", \"" + parameters + "\")\n";
        return Names::unmarked(text_);
    }

    void thread_coordinates() {
        for (int d = 0; d < 3; d++) {
            if (stmt_uses_var(kernel_.body, kThreadNames[d])) {
                line("const int " + names_.of(kThreadNames[d]) + " = threadIdx." + "xyz"[d] + ";");
            }
        }
    }

    void line(const std::string &s) {
        text_ += std::string(size_t(depth_) * 4, ' ') + s + "\n";
    }

    Memory memory_of(const std::string &array) const {
        return scalars_.count(array)     ? Memory::kScalar
               : registers_.count(array) ? Memory::kRegisters
               : shared_.count(array)    ? Memory::kShared
                                         : Memory::kDevice;
    }

    void block(const Stmt &body) {
        depth_++;
        declared_.emplace_back();
        body.accept(this);
        declared_.pop_back();
        depth_--;
    }

    void declare_registers(const std::string &name, const std::string &type, int size) {
        registers_.insert(name);
        if (size == 1) {
            scalars_.insert(name);
            line(type + " " + names_.of(name) + ";");
        } else {
            const bool bytes = type == "uint8_t" || type == "int8_t";
            line((bytes ? "alignas(4) " : "") + type + " " + names_.of(name) + "[" + std::to_string(size) + "];");
        }
    }

    void declare_sums(const std::string &name, const std::string &type, int size) {
        registers_.insert(name);
        line("sums<" + std::to_string(size) + (type == "float" ? "" : ", " + type) + "> " + names_.of(name) + ";");
    }

    using IRVisitor::visit;

    void visit(const LetStmt *op) override {
        // A let ends with its statement in Halide's IR, and with the braces around it here.
        if (!declared_.back().insert(op->name).second) {
            const std::string name = unique_name(op->name);
            LetStmt::make(name, op->value, substitute(op->name, Variable::make(op->value.type(), name), op->body)).accept(this);
            return;
        }
        line("const " + type_text(op->value.type()) + " " + names_.of(op->name) + " = " + expr_.print(op->value) + ";");
        lets_[op->name] = op->value;
        op->body.accept(this);
    }

    void visit(const ProducerConsumer *op) override {
        const std::string note = op->is_producer ? options_.note(op->name) : "";
        if (!note.empty()) {
            line("// " + note);
        }
        op->body.accept(this);
    }

    void visit(const For *op) override {
        if (op->for_type == ForType::GPULane) {
            ExprPrinter::unsupported(
                "a loop of gpu_lanes is not the outermost of the threads here, as something else is computed between it "
                "and the blocks, or beside it; say gpu_threads");
        }
        if (op->for_type != ForType::Serial && op->for_type != ForType::Unrolled) {
            ExprPrinter::unsupported("the loop " + op->name +
                                     " is inside a kernel and neither serial, unrolled, nor over blocks or threads");
        }
        const Names::Scoped name(names_, op->name);
        const std::string min = expr_.print(op->min);
        const Expr end = simplify(op->min + op->extent);
        const LoopOverRegisters loop(op, registers_);
        const auto turns = as_const_int(op->extent);
        if (turns && *turns <= kUnrolledTurns && loop.reads && !loop.waits) {
            const bool is_short = loop.in_index || *turns * loop.values <= kUnrolledValues;
            line(is_short ? "#pragma unroll" : "#pragma unroll 1");
        }
        const std::string v = name.text();
        const std::string within = expr_.print(LT::make(Variable::make(Int(32), op->name), end));
        line("for (int " + v + " = " + min + "; " + within + "; " + v + "++) {");
        block(op->body);
        line("}");
    }

    void visit(const IfThenElse *op) override {
        line("if (" + expr_.print(op->condition) + ") {");
        block(op->then_case);
        if (op->else_case.defined()) {
            line("} else {");
            block(op->else_case);
        }
        line("}");
    }

    void visit(const Store *op) override {
        line(expr_.print_store(op, options_.streamed.count(op->name) > 0));
    }

    void visit(const Allocate *op) override {
        const std::string type = type_text(op->type.element_of()), name = names_.of(op->name);
        if (op->memory_type == MemoryType::GPUShared) {
            Expr elements = 1;
            for (const auto &e : op->extents) {
                elements *= e;
            }
            elements = simplify(elements);
            shared_.insert(op->name);
            const auto *other = op->new_expr.as<Variable>();
            const Expr offset = other ? shared_offsets_.at(other->name) : shared_bytes_;
            line("const shared<" + type + "> " + name + " = shared_array<" + type + ">(" + expr_.print(offset) + ", " +
                 expr_.print(elements) + ");");
            if (!other) {
                shared_offsets_[op->name] = shared_bytes_;
                shared_bytes_ = simplify(shared_bytes_ + (elements * op->type.bytes() + 15) / 16 * 16);
            }
        } else if (op->memory_type == MemoryType::Register || op->memory_type == MemoryType::Stack || op->memory_type == MemoryType::Auto) {
            const int size = op->constant_allocation_size() + op->padding;
            if (op->constant_allocation_size() == 0) {
                ExprPrinter::unsupported("the size of " + op->name + " is not known when the kernel is compiled; bound its extents");
            }
            declare_registers(op->name, type, size);
        } else {
            ExprPrinter::unsupported("a kernel has registers and shared memory, and " + op->name + " is to be stored elsewhere");
        }
        op->body.accept(this);
    }

    // Halide checks here what it could not show before, as that an extent that was promised is enough.
    void visit(const AssertStmt *op) override {
        line("expect(" + expr_.print(op->condition) + ");");
    }

    void visit(const Free *) override {}

    void visit(const Evaluate *op) override {
        const auto *call = op->value.as<Call>();
        if (call && call->is_intrinsic(Call::gpu_thread_barrier)) {
            line("__syncthreads();");
        } else if (!is_const(op->value)) {
            line(expr_.print(op->value) + ";");
        }
    }

    void visit(const Atomic *op) override {
        // What is in registers no other thread writes.
        Stmt inner = op->body;
        while (const auto *let = inner.as<LetStmt>()) {
            inner = let->body;
        }
        const auto *store = inner.as<Store>();
        if (store && registers_.count(store->name)) {
            op->body.accept(this);
        } else {
            atomic(op->body);
        }
    }

    // Whether two indices are the same, of which a part of one may have become a let.
    bool same_index(Expr a, Expr b) const {
        for (bool changed = true; changed && !equal(a, b);) {
            const Expr next_a = substitute_in_all_lets(substitute(lets_, a)), next_b = substitute_in_all_lets(substitute(lets_, b));
            changed = !next_a.same_as(a) || !next_b.same_as(b);
            a = next_a;
            b = next_b;
        }
        return equal(a, b);
    }

    // One read-modify-write of an element.
    void atomic(const Stmt &body) {
        if (const auto *let = body.as<LetStmt>()) {
            lets_[let->name] = let->value;
            line("const " + type_text(let->value.type()) + " " + names_.of(let->name) + " = " + expr_.print(let->value) + ";");
            atomic(let->body);
            return;
        }
        const auto *store = body.as<Store>();
        const char *function = nullptr;
        Expr operand;
        if (store && store->value.type().is_scalar()) {
            const auto pick = [&](const Expr &a, const Expr &b, const char *name) {
                for (const auto &[old, other] : {std::pair(a, b), std::pair(b, a)}) {
                    const auto *load = old.as<Load>();
                    if (load && load->name == store->name && same_index(load->index, store->index)) {
                        operand = other;
                        function = name;
                    }
                }
            };
            if (const auto *add = store->value.as<Add>()) {
                pick(add->a, add->b, "atomicAdd");
            } else if (const auto *mx = store->value.as<Max>()) {
                pick(mx->a, mx->b, "atomicMax");
            } else if (const auto *mn = store->value.as<Min>()) {
                pick(mn->a, mn->b, "atomicMin");
            }
        }
        if (!function) {
            ExprPrinter::unsupported("the CUDA backend does a sum, a minimum or a maximum of one element atomically, and nothing else; "
                                     "keep the accumulator in registers, or reduce in another order");
        }
        line(std::string(function) + "(" + names_.of(store->name) + " + " + expr_.print(store->index) + ", " + expr_.print(operand) + ");");
    }

    const Kernel &kernel_;
    const PrintOptions &options_;
    Names names_;
    std::vector<std::set<std::string>> declared_ = {{}};  // of each scope around
    std::map<std::string, Expr> lets_;
    std::set<std::string> registers_, scalars_, shared_;  // scalars_: those registers that are no arrays
    Expr shared_bytes_ = 0;
    std::map<std::string, Expr> shared_offsets_;
    std::string text_;
    int depth_ = 0;
    ExprPrinter expr_;
};

KernelPrinter::KernelPrinter(const Kernel &kernel, const PrintOptions &options, Works works)
    : KernelPrinter(kernel, options, works, true) {}

KernelPrinter::KernelPrinter(const Kernel &kernel, const PrintOptions &options, Works works, bool own_words)
    : statements_(std::make_unique<Statements>(kernel, options, own_words)) {
    statements_->head(works);
}

KernelPrinter::~KernelPrinter() = default;

void KernelPrinter::line(const std::string &text) {
    statements_->line(text);
}

void KernelPrinter::open(const std::string &text) {
    statements_->line(text);
    statements_->depth_++;
}

void KernelPrinter::close(const std::string &text) {
    statements_->depth_--;
    statements_->line(text);
}

void KernelPrinter::otherwise() {
    close("} else {");
    statements_->depth_++;
}

void KernelPrinter::print(const Stmt &s) {
    s.accept(statements_.get());
}

std::string KernelPrinter::expr(const Expr &e) {
    return statements_->expr_.print(e);
}

std::string KernelPrinter::name(const std::string &halide_name) {
    return statements_->names_.of(halide_name);
}

void KernelPrinter::declare_registers(const std::string &halide_name, const std::string &type, int elements) {
    statements_->declare_registers(halide_name, type, elements);
}

void KernelPrinter::declare_sums(const std::string &halide_name, const std::string &type, int elements) {
    statements_->declare_sums(halide_name, type, elements);
}

std::string KernelPrinter::finish() {
    return statements_->foot();
}

std::string print_kernel(const Kernel &kernel, const PrintOptions &options) {
    KernelPrinter printer(kernel, options, Works::kWhereItSays, false);
    printer.statements_->thread_coordinates();
    printer.print(kernel.body);
    return printer.finish();
}

}  // namespace halyard
