#include "lowering/cuda/offload.h"

#include <algorithm>
#include <map>

#include "lowering/depends_on_data.h"
#include "lowering/host/unread_inputs.h"
#include "lowering/host/verbose_calls.h"
#include "lowering/cuda/devices_of_library.h"
#include "lowering/cuda/extract/allocations.h"
#include "lowering/cuda/extract/host_vectors.h"
#include "lowering/cuda/simt/barriers.h"
#include "lowering/cuda/tensor_cores/fused_kernel.h"
#include "lowering/cuda/tensor_cores/fused_parts.h"
#include "lowering/cuda/print/compile.h"
#include "lowering/cuda/print/images.h"
#include "lowering/cuda/extract/kernel.h"
#include "lowering/cuda/host_buffers.h"
#include "lowering/cuda/launch_call.h"
#include "lowering/cuda/launch_numbers.h"
#include "lowering/cuda/pipeline.h"
#include "lowering/cuda/print/print.h"
#include "lowering/cuda/simt/strided_reads.h"
#include "lowering/cuda/simt/warp_products.h"
#include "lowering/cuda/tensor_cores/dependent_launch.h"
#include "lowering/cuda/tensor_cores/gathered_launches.h"
#include "lowering/cuda/tensor_cores/joined_kernels.h"
#include "lowering/cuda/tiles/block_kernel.h"
#include "lowering/cuda/tiles/kernel_shape.h"
#include "lowering/cuda/tiles/passes.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class OffloadToCuda : public IRMutator {
public:
    explicit OffloadToCuda(CudaOptions options) : options_(std::move(options)), devices_(options_.architectures) {
        strides_.lets = &all_lets_;
    }

    using IRMutator::mutate;

    Stmt mutate(const Stmt &s) override {
        if (inside_) {
            return IRMutator::mutate(s);
        }
        inside_ = true;
        images_.clear();
        used_.clear();
        const Stmt last = leave_kernels_unread(s, options_.outputs);
        is_last_ = true;
        Stmt host = told(IRMutator::mutate(begin(last, options_.schedule)), options_.text);
        is_last_ = false;
        for (auto v = options_.versions.rbegin(); v != options_.versions.rend(); v++) {
            const Stmt version = leave_kernels_unread(v->lowered(), options_.outputs);
            const Stmt taken = told(IRMutator::mutate(begin(version, v->schedule)), v->text);
            host = IfThenElse::make(of_arguments(v->condition) && devices_.choose(fits_hopper_, fits_others_), taken, host);
        }
        if (!options_.versions.empty()) {
            host = devices_.ask_once(host);
        }
        inside_ = false;
        return images_.empty() ? host
                               : images_.put_into(allocate_together(host), options_.name, options_.architectures, options_.emulated,
                                                  options_.source_file);
    }

private:
    using IRMutator::visit;

    static Stmt told(const Stmt &version, const std::string &text) {
        return text.empty() ? version : Block::make(version, tell_version(text));
    }

    // Of a version of the pipeline, with its products next to each other where they may run together.
    Stmt begin(const Stmt &version, const CudaSchedule &schedule) {
        fits_hopper_ = fits_others_ = const_true();
        images_.begin_version(options_.emulated);
        schedule_ = schedule;
        const Lets *const lets = strides_.lets;
        const Stmt s = gather_launches(version, [&](const For *kernel) { return !products_of(kernel->body).empty(); });
        strides_ = strides_of_generator(s);
        strides_.lets = lets;
        together_ = find_dependent_launches(s);
        schedule_.before_wait.next_at_once &=
            std::none_of(together_.begin(), together_.end(), [](const auto &k) { return k.second.beside_last; });
        strided_reads_ = find_strided_reads(s);
        return s;
    }

    std::vector<TensorCores> products_of(const Stmt &kernel) const {
        std::vector<TensorCores> products;
        for (const auto &p : schedule_.products) {
            if (has_product(kernel, p)) {
                products.push_back(p);
            }
        }
        return products;
    }

    Stmt visit(const For *op) override {
        if (op->for_type != ForType::GPUBlock) {
            if (op->for_type == ForType::GPUThread || op->for_type == ForType::GPULane) {
                options_.fail(func_of(op->name), "has threads but no blocks; run one of its loops as gpu_blocks");
            }
            host_loops_++;
            const Stmt loop = IRMutator::visit(op);
            host_loops_--;
            return loop;
        }
        const std::string func = func_of(op->name);
        Kernel kernel = extracted(op, func);
        const std::vector<TensorCores> products = products_of(kernel.body);
        if (!products.empty()) {
            return chosen(with_tensor_cores({kernel, products, func, together_[op], strides_}));
        }
        kernel.name = name_for(func);
        if (const auto it = schedule_.resident.find(func); it != schedule_.resident.end()) {
            kernel.blocks_per_multiprocessor = ", " + std::to_string(it->second);
            kernel.resident = it->second;
        }
        SimtForms forms =
            make_simt_forms(kernel, {schedule_.fetched, schedule_.before_wait, schedule_.places, lets_, options_.fail, options_.observe});
        if (!forms.vectors) {
            add_printed(forms.elements, func);
            return launch(forms.elements);
        }
        add_printed(forms.vectors->kernel, func);
        forms.elements.name += "_elements";
        add_printed(forms.elements, func);
        const Stmt call = IfThenElse::make(forms.vectors->usable, launch(forms.vectors->kernel), launch(forms.elements));
        if (!forms.dense) {
            return call;
        }
        forms.dense->kernel.name += "_dense";
        add_printed(forms.dense->kernel, func);
        return IfThenElse::make(forms.dense->usable, launch(forms.dense->kernel), call);
    }

    // Kernels next to each other that may run together: what products they have on the tensor cores is one kernel, where that can be.
    Stmt visit(const Block *op) override {
        std::vector<const For *> kernels;
        Stmt rest = op;
        for (const Block *b = op; b; b = rest.as<Block>()) {
            kernels.push_back(b->first.as<For>());
            rest = b->rest;
        }
        kernels.push_back(rest.as<For>());
        const auto alone = [&](const For *k) {
            return !k || k->for_type != ForType::GPUBlock || (k != kernels[0] && !together_[k].beside_last);
        };
        if (std::any_of(kernels.begin(), kernels.end(), alone)) {
            return IRMutator::visit(op);
        }
        std::vector<KernelWithProducts> all;
        for (const For *k : kernels) {
            const std::string func = func_of(k->name);
            const Kernel kernel = extracted(k, func);
            all.push_back({kernel, products_of(kernel.body), func, together_[k], strides_});
        }
        return std::all_of(all.begin(), all.end(), [](const auto &k) { return is_tile_program(k); }) ? joined(all) : IRMutator::visit(op);
    }

    // Those that are launched together store what the caller gets, so that each may be taken out before the first is made.
    Kernel extracted(const For *op, const std::string &func) {
        note_partly_stored(op);
        const Stmt whole = with_host_vectors(
            op, [&](const std::string &why) { options_.fail(func, why); }, vectors_);
        Kernel kernel = extract_kernel(whole.as<For>(), padded_);
        check_block(func, kernel);
        for (auto &a : kernel.arguments) {
            const auto it = strided_reads_.find(a.name);
            a.strided_reads = a.is_buffer && it != strided_reads_.end() ? it->second : 1;
        }
        return kernel;
    }

    // As far as it is known now; the rest is known when the library runs.
    void check_block(const std::string &func, const Kernel &kernel) const {
        constexpr int kMostThreads = 1024, kMostAlongZ = 64;
        const int x = std::max(kernel.constant_threads(0), 1), y = std::max(kernel.constant_threads(1), 1),
                  z = std::max(kernel.constant_threads(2), 1);
        if (int64_t(x) * y * z > kMostThreads || z > kMostAlongZ) {
            options_.fail(func, "has blocks of " + std::to_string(x) + " x " + std::to_string(y) + " x " + std::to_string(z) +
                                    " threads; a device takes " + std::to_string(kMostThreads) + ", and " + std::to_string(kMostAlongZ) +
                                    " along the third dimension");
        }
    }

    void add_printed(const Kernel &kernel, const std::string &func) {
        const std::string text = printed(kernel, func);
        if (has_warp_products(kernel.body)) {
            images_.add({}, text, "");
        } else {
            images_.add(text);
        }
    }

    std::string printed(const Kernel &kernel, const std::string &func) const {
        check_barriers(kernel, options_.fail);
        std::string why;
        try {
            return "\n" + print_kernel(kernel, PrintOptions{schedule_.streamed, schedule_.note});
        } catch (const Halide::CompileError &e) {
            why = e.what();
        }
        options_.fail(func, "cannot be a kernel: " + why);
        return "";
    }

    struct KernelWithProducts {
        Kernel kernel;
        std::vector<TensorCores> products;
        std::string func;
        DependentLaunch together;
        Strides strides;  // what is stored in part is another for each kernel
    };

    // How it is called on sm_90a, and on others.
    struct Calls {
        Stmt hopper, others;
    };

    Stmt chosen(const Calls &c) const {
        return devices_.choose(c.hopper, c.others);
    }

    static bool is_tile_program(const KernelWithProducts &k) {
        return !k.products.empty() && !shape_of(k.kernel, k.products).is_block_program() && !has_fused_products(k.kernel, k.products);
    }

    PrintOptions print_options() const {
        return {schedule_.streamed, schedule_.note};
    }

    Calls with_tensor_cores(KernelWithProducts k) {
        const auto &[kernel, products, func, together, strides] = k;
        k.kernel.name = name_for(func);
        const PrintOptions print = print_options();
        const bool hopper = devices_.hopper(), others = devices_.others();
        Calls calls;
        if (shape_of(kernel, products).is_block_program()) {  // other kernels are made of templates
            const BlockProgram program = make_block_program(k.kernel, products, lets_, strides, options_.observe);
            if (hopper) {
                calls.hopper = launch_tiles(make_block_kernel(program, kernel, strides, print, true), Devices::kHopper);
            }
            if (others) {
                calls.others = launch_tiles(make_block_kernel(program, kernel, strides, print, false), Devices::kOthers);
            }
        } else if (has_fused_products(kernel, products)) {
            for (const auto &p : products) {
                if (p.cluster > 1) {
                    p.fail("stands in a loop with a second product, whose blocks share no steps; take split_k_cluster(1)");
                }
            }
            if (is_skinny(read_fused(kernel, products, lets_, strides))) {
                calls.hopper = calls.others = launch_tiles(make_mma_fused(kernel, products, lets_, strides, print), Devices::kAll);
                return calls;
            }
            if (hopper) {
                calls.hopper = launch_tiles(make_wgmma_fused(kernel, products, lets_, strides, print), Devices::kHopper);
            }
            if (others) {
                calls.others = launch_tiles(make_mma_fused(kernel, products, lets_, strides, print), Devices::kOthers);
            }
        } else {
            return calls_of(tile_program(k), together);
        }
        return calls;
    }

    TileProgram tile_program(const KernelWithProducts &k) const {
        for (const auto &p : k.products) {
            if (p.warps > 1) {
                p.fail("stands in no loop with a second product; take split_k_warps(1)");
            }
        }
        return read_tile_program(k.kernel, k.products, lets_, k.strides);
    }

    // `joined`: on sm_90a a kernel of several programs has the form of most calls.
    Calls calls_of(const TileProgram &program, const DependentLaunch &together, bool joined = false) {
        const PrintOptions print = print_options();
        const bool skinny = is_skinny(program);
        Calls calls;
        if (devices_.hopper()) {
            calls.hopper = launch_tiles(skinny ? make_skinny_kernel(program, print, true, together)
                                               : make_wgmma_kernel(program, print, together, !joined),
                                        Devices::kHopper, together.beside_last);
        }
        if (devices_.others()) {
            calls.others = launch_tiles(skinny ? make_skinny_kernel(program, print, false, together) : make_mma_kernel(program, print),
                                        Devices::kOthers, skinny && together.beside_last);
        }
        return calls;
    }

    Stmt joined(std::vector<KernelWithProducts> &all) {
        std::vector<TileProgram> programs;
        std::string funcs;
        for (auto &k : all) {
            k.kernel.name = name_for(k.func);
            funcs += (funcs.empty() ? "" : "_") + k.func;
            programs.push_back(tile_program(k));
        }
        const std::string name = name_for(funcs);
        const PrintOptions print = print_options();
        const auto skinny = std::count_if(programs.begin(), programs.end(), [](const TileProgram &p) { return is_skinny(p); });
        const bool all_skinny = skinny == std::ptrdiff_t(programs.size());
        std::optional<JoinedKernel> hopper, others;
        if (devices_.hopper() && (all_skinny || skinny == 0)) {
            hopper = all_skinny ? join_skinny_kernels(programs, print, name, true) : join_wgmma_kernels(programs, print, name);
        }
        if (devices_.others() && all_skinny) {
            others = join_skinny_kernels(programs, print, name + "_mma", false);
        }
        std::vector<Stmt> hopper_calls, other_calls;
        for (size_t i = 0; i < all.size(); i++) {
            const Calls calls = calls_of(programs[i], all[i].together, hopper.has_value());
            hopper_calls.push_back(calls.hopper);
            other_calls.push_back(calls.others);
        }
        return chosen({devices_.hopper() ? launch_joined(hopper, hopper_calls, Devices::kHopper) : Stmt(),
                       devices_.others() ? launch_joined(others, other_calls, Devices::kOthers) : Stmt()});
    }

    // `each`: the calls of its parts.
    Stmt launch_joined(const std::optional<JoinedKernel> &joined, const std::vector<Stmt> &each, Devices devices) {
        if (!joined) {
            return Block::make(each);
        }
        images_.add(joined->instructions, joined->text, devices_.macro(devices));
        return IfThenElse::make(joined->usable, launch(joined->kernel), Block::make(each));
    }

    Stmt launch_tiles(const TileKernel &tiles, Devices devices, bool beside = false) {
        // Which tensors are none is asked before a version is chosen: the last one alone has kernels that go by elements.
        const Expr tensors = tiles.fetches.defined() ? tiles.fetches : tiles.usable;
        const bool by_elements = is_last_ || !is_of_arguments(tensors);
        images_.add(tiles.instructions, tiles.text + (by_elements ? tiles.text_by_elements : ""), devices_.macro(devices));
        for (Expr *fits : {devices != Devices::kOthers ? &fits_hopper_ : nullptr, devices != Devices::kHopper ? &fits_others_ : nullptr}) {
            if (fits && !by_elements) {
                *fits = *fits && tensors;
            }
        }
        Stmt call = by_elements ? launch(tiles.by_elements, beside) : Stmt();
        const auto if_not = [&](const Expr &condition, const Kernel &kernel) {
            const Stmt first = launch(kernel, beside);
            call = call.defined() ? IfThenElse::make(condition, first, call) : first;
        };
        if (tiles.fetches.defined()) {
            if_not(tiles.fetches, tiles.fetching);
        }
        if (tiles.usable.defined()) {
            if_not(tiles.usable, tiles.whole);
        }
        return call;
    }

    // Whether it follows from the buffers of the caller alone, so that it is known before anything is computed.
    bool is_of_arguments(const Expr &e) const {
        FreeVariables free;
        e.accept(&free);
        return std::all_of(free.types.begin(), free.types.end(), [&](const auto &v) {
            const std::string end = ".buffer";
            const bool buffer = v.second.is_handle() && ends_with(v.first, end);
            return buffer && !strides_.allocated.count(v.first.substr(0, v.first.size() - end.size()));
        });
    }

    // What a block needs of an array of the device is computed by the host, in 32 bits.
    Stmt visit(const Store *op) override {
        const std::string end = ".shared_size";
        const Expr fits = ends_with(op->name, end) && op->value.type() == Int(32) ? has_no_overflow(op->value, all_lets_) : const_true();
        const Stmt store = IRMutator::visit(op);
        return is_const_one(fits) ? store : Block::make(AssertStmt::make(fits, too_large(op->name)), store);
    }

    Stmt visit(const Allocate *op) override {
        ScopedValue<std::set<std::string>> outer(padded_, padded_);
        if (op->padding > 0) {
            padded_.insert(op->name);
        }
        const Stmt allocation = IRMutator::visit(op);
        Expr fits = const_true();
        if (!options_.wide_indices && op->new_expr.defined() && ends_with(op->name, ".buffer")) {
            Expr elements = 1;
            const auto fields = dimensions_in(op->new_expr);
            for (size_t i = 1; i < fields.size(); i += 4) {
                elements = elements * fields[i];
            }
            fits = has_no_overflow(elements, all_lets_);
        }
        return is_const_one(fits) ? allocation : Block::make(AssertStmt::make(fits, too_large(op->name)), allocation);
    }

    static Expr too_large(const std::string &name) {
        return Call::make(Int(32), "halyard_cuda_too_large", {user_context(), StringImm::make(name.substr(0, name.find('.')))},
                          Call::Extern);
    }

    // Bounds that follow from splits may leave a Func that has no elements less than none along a dimension.
    Expr visit(const Call *op) override {
        const halide_handle_cplusplus_type *handle = op->type.handle_type;
        if (!op->is_intrinsic(Call::make_struct) || !handle || handle->inner_name.name != "halide_dimension_t") {
            return IRMutator::visit(op);
        }
        std::vector<Expr> fields = op->args;
        for (size_t i = 1; i < fields.size(); i += 4) {
            fields[i] = max(fields[i], 0);
        }
        return Call::make(op->type, op->name, fields, op->call_type);
    }

    void note_strides(const std::string &name, const Expr &value) {
        std::vector<Expr> strides, extents;
        const auto fields = dimensions_in(value);
        for (size_t i = 2; i < fields.size(); i += 4) {
            extents.push_back(fields[i - 1]);
            strides.push_back(fields[i]);
        }
        if (!strides.empty()) {
            strides_.known[name] = strides;
            strides_.extents[name] = extents;
            strides_.allocated.insert(name);
            host_loops_at_[name] = host_loops_;
        }
    }

    // An update may be over some of the elements, and so may a turn of a loop around which the array is kept.
    void note_partly_stored(const Stmt &kernel) {
        class FindUpdates : public IRVisitor {
            using IRVisitor::visit;
            void visit(const For *op) override {
                const size_t stage = op->name.find(".s");
                if (stage != std::string::npos && op->name.compare(stage, 4, ".s0.") != 0) {
                    updated.insert(func_of(op->name));
                }
                IRVisitor::visit(op);
            }

        public:
            std::set<std::string> updated;
        } find;
        kernel.accept(&find);
        strides_.partly_stored.clear();
        for (const auto &name : strides_.allocated) {
            if (find.updated.count(func_of(name)) > 0 || host_loops_at_[name] < host_loops_) {
                strides_.partly_stored.insert(name);
            }
        }
    }

    // Fields of buffers keep their names: they say what an index is made of.
    // What a call wants of its arrays is asked before anything is copied from or to a device.
    void check_required(const LetStmt *op) const {
        const std::string end = ".required";
        if (op->name.size() < end.size() || op->name.compare(op->name.size() - end.size(), end.size(), end) != 0) {
            return;
        }
        const std::string loaded = array_read_by(op->value);
        if (!loaded.empty()) {
            options_.fail(func_of(op->name), "is asked for where " + loaded +
                                                 " says, which the host cannot read on a device; have its coordinate depend on a variable "
                                                 "of a loop, and clamp it");
        }
    }

    Stmt visit(const LetStmt *op) override {
        check_required(op);
        const std::string end = ".buffer";
        if (op->name.size() > end.size() && op->name.compare(op->name.size() - end.size(), end.size(), end) == 0) {
            note_strides(op->name.substr(0, op->name.size() - end.size()), op->value);
        }
        const bool field = op->name.find(".stride.") != std::string::npos || op->name.find(".min.") != std::string::npos ||
                           op->name.find(".extent.") != std::string::npos || op->name.find(".extent_realized") != std::string::npos;
        const bool number = op->value.type().is_int() || op->value.type().is_bool();
        // What is asked of a buffer keeps its name, but not what a field is computed of.
        ScopedBinding<Expr> bind_all(number && !(field && op->value.as<Call>()), all_lets_, op->name, op->value);
        ScopedBinding<Expr> bind(number && !field && !asks_buffer(op->value), lets_, op->name, op->value);
        ScopedBinding<Expr> bind_vector(op->value.type().lanes() > 1, vectors_, op->name, op->value);
        return IRMutator::visit(op);
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

    // `beside`: together with the one before.
    Stmt launch(const Kernel &kernel, bool beside = false) const {
        return launch_call(kernel, images_.name(), all_lets_, beside, options_.fail);
    }

    CudaOptions options_;
    DevicesOfLibrary devices_;
    CudaSchedule schedule_;  // of the version at hand
    bool inside_ = false;
    bool is_last_ = false;            // the version that is for all calls
    Expr fits_hopper_, fits_others_;  // what a version's kernels want of the caller's tensors
    Images images_;
    std::set<std::string> used_;  // names of kernels
    Lets lets_, all_lets_;        // without and with those of fields of buffers
    Scope<Expr> vectors_;         // computed by the host, of several lanes
    Strides strides_;
    int host_loops_ = 0;                        // around what is looked at
    std::map<std::string, int> host_loops_at_;  // around what an array is allocated by
    std::set<std::string> padded_;              // arrays around
    std::map<const For *, DependentLaunch> together_;
    std::map<std::string, int> strided_reads_;
};

}  // namespace

std::unique_ptr<IRMutator> offload_to_cuda(CudaOptions options) {
    return std::make_unique<OffloadToCuda>(std::move(options));
}

}  // namespace halyard
