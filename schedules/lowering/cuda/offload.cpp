#include "offload.h"

#include <cstring>
#include <fstream>
#include <map>

#include "alignment.h"
#include "compile.h"
#include "kernel.h"
#include "print.h"
#include "registers.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

const char *const kImage = "halyard_kernels";

// A letter for each parameter of a kernel: how wide it is, and whether it is a buffer (runtime's cuda_launch.cpp).
char kind_of(const KernelArgument &a) {
    if (a.is_buffer) {
        return 'b';
    }
    switch (a.type.bytes()) {
    case 1: return 'c';
    case 2: return 's';
    case 4: return 'i';
    default: return 'l';
    }
}

Expr handle(const std::string &name) {
    return Variable::make(type_of<halide_buffer_t *>(), name);
}

// One element at a time, whatever the address.
class WithoutAlignment : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Load *op) override {
        return Load::make(op->type, op->name, mutate(op->index), op->image, op->param, mutate(op->predicate), ModulusRemainder());
    }
    Stmt visit(const Store *op) override {
        return Store::make(op->name, mutate(op->value), mutate(op->index), op->param, mutate(op->predicate), ModulusRemainder());
    }
};

class OffloadToCuda : public IRMutator {
public:
    explicit OffloadToCuda(CudaOptions options)
        : options_(std::move(options)) {
    }

    using IRMutator::mutate;

    Stmt mutate(const Stmt &s) override {
        if (inside_) {
            return IRMutator::mutate(s);
        }
        inside_ = true;
        source_.clear();
        used_.clear();
        Stmt host = IRMutator::mutate(s);
        inside_ = false;
        return source_.empty() ? host : with_image(host);
    }

private:
    using IRMutator::visit;

    Stmt visit(const For *op) override {
        if (op->for_type != ForType::GPUBlock) {
            if (op->for_type == ForType::GPUThread || op->for_type == ForType::GPULane) {
                options_.fail(func_of(op->name), "has threads but no blocks; run one of its loops as gpu_blocks");
            }
            return IRMutator::visit(op);
        }
        const std::string func = func_of(op->name);
        Kernel kernel = extract_kernel(op);
        kernel.body = simplify(kernel.body);
        keep_in_registers(kernel, options_.fail);
        kernel.name = name_for(func);
        const Expr aligned = mark_aligned_vectors(kernel);
        const PrintOptions print{options_.streamed, options_.note};
        source_ += "\n" + print_kernel(kernel, print);
        if (!aligned.defined()) {
            return launch(kernel);
        }
        Kernel elements = kernel;
        elements.name += "_elements";
        elements.body = WithoutAlignment().mutate(kernel.body);
        source_ += "\n" + print_kernel(elements, print);
        return IfThenElse::make(aligned, launch(kernel), launch(elements));
    }

    static std::string func_of(const std::string &loop) {
        return loop.substr(0, loop.find('.'));
    }

    std::string name_for(const std::string &func) {
        std::string plain = options_.name + "_" + func;
        for (char &c : plain) {
            c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
        }
        std::string name = plain;
        for (int i = 2; !used_.insert(name).second; i++) {
            name = plain + "_" + std::to_string(i);
        }
        return name;
    }

    Stmt launch(const Kernel &kernel) const {
        std::string kinds;
        std::vector<Expr> values;
        for (const auto &a : kernel.arguments) {
            kinds += kind_of(a);
            values.push_back(a.is_buffer ? handle(a.name + ".buffer") : Expr(Variable::make(a.type, a.name)));
        }
        const Expr nowhere = reinterpret(Handle(), make_zero(UInt(64)));
        const Expr arguments = values.empty() ? nowhere : Call::make(Handle(), Call::make_struct, values, Call::Intrinsic);
        std::vector<Expr> args = {Call::make(Handle(), Call::get_user_context, {}, Call::PureIntrinsic),
                                  handle(std::string(kImage) + ".buffer"), StringImm::make(kernel.name)};
        args.insert(args.end(), kernel.blocks.begin(), kernel.blocks.end());
        args.insert(args.end(), kernel.threads.begin(), kernel.threads.end());
        args.insert(args.end(), {kernel.shared_bytes, StringImm::make(kinds), arguments});
        const std::string result = unique_name("halyard_cuda_launch_result");
        const Expr code = Variable::make(Int(32), result);
        return LetStmt::make(result, Call::make(Int(32), "halyard_cuda_launch", args, Call::Extern),
                             AssertStmt::make(code == 0, code));
    }

    Stmt with_image(const Stmt &host) const {
        const std::string text = "// Kernels of " + options_.name + ", printed from its schedule.\nusing namespace halyard;\n" + source_;
        if (!options_.source_file.empty()) {
            std::ofstream(options_.source_file) << text;
        }
        const std::string code = options_.emulated ? compile_for_emulator(text) : compile_to_fatbin(text, options_.architectures);
        Buffer<uint8_t> image(int(code.size()), kImage);
        std::memcpy(image.data(), code.data(), code.size());
        const Expr buffer = Variable::make(type_of<halide_buffer_t *>(), std::string(kImage) + ".buffer", Buffer<>(image));
        return substitute(std::string(kImage) + ".buffer", buffer, host);
    }

    CudaOptions options_;
    bool inside_ = false;
    std::string source_;
    std::set<std::string> used_;
};

}  // namespace

std::unique_ptr<IRMutator> offload_to_cuda(CudaOptions options) {
    return std::make_unique<OffloadToCuda>(std::move(options));
}

}  // namespace halyard
