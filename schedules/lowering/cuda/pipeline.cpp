#include "lowering/cuda/pipeline.h"

#include <algorithm>
#include <chrono>

#include "lowering/cuda/simt/alignment.h"
#include "lowering/cuda/simt/collapsed_dimensions.h"
#include "lowering/cuda/simt/hoisted_uniforms.h"
#include "lowering/cuda/simt/invariant_conditions.h"
#include "lowering/cuda/simt/launch_wait.h"
#include "lowering/cuda/simt/predicate.h"
#include "lowering/cuda/simt/register_reuse.h"
#include "lowering/cuda/simt/shifted_loads.h"
#include "lowering/cuda/simt/unswitched_blocks.h"
#include "lowering/cuda/simt/unswitched_loops.h"
#include "lowering/cuda/simt/zero_mins.h"
#include "lowering/multiprocessor.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

enum FormBits : unsigned { kElements = 1, kVectors = 2, kDense = 4, kMoving = kVectors | kDense, kAll = kElements | kMoving };

// A form of a kernel that passes go over.
struct Form {
    unsigned bit;
    const char *name;
    Kernel kernel;
    Expr usable = const_true();
    bool possible = true;
    bool moves_vectors = false;  // mark_aligned_vectors found some
    bool usual = true;           // for most calls
};

// A second copy of a kernel's loops spills where a schedule leaves a thread few registers.
bool has_registers_for_two(const Kernel &kernel) {
    constexpr int kEnough = 40;
    int threads = kernel.resident;
    for (int d = 0; d < 3; d++) {
        threads *= std::max(kernel.constant_threads(d), 1);
    }
    return threads * kEnough <= Multiprocessor::kRegisters;
}

struct Pass {
    const char *name;
    unsigned forms;   // that it goes over
    bool of_vectors;  // only where mark_aligned_vectors found some
    void (*run)(Form &, const SimtOptions &);
    const char *why;  // it stands here
};

const Pass kPasses[] = {
    {"number_blocks", kAll, false,
     [](Form &f, const SimtOptions &) {
         number_blocks(f.kernel);
         f.kernel.body = simplify(branch_at_stores(f.kernel.body));
     },
     "first: all others see a grid of one dimension, no names of block loops, and no condition of one store"},
    {"ask_invariant_conditions_once", kAll, false,
     [](Form &f, const SimtOptions &) { f.kernel.body = ask_invariant_conditions_once(f.kernel.body); },
     "before loops are changed: what is computed for the store alone stands beside it in one loop"},
    {"keep_in_registers", kAll, false, [](Form &f, const SimtOptions &o) { keep_in_registers(f.kernel, o.places, o.lets, o.fail); },
     "before anything looks at indices: arrays of a block become the threads' own, and loops over threads shuffles"},
    {"assume_zero_mins", kMoving, false, [](Form &f, const SimtOptions &o) { f.usable = assume_zero_mins(f.kernel, o.lets); },
     "before indices are compared: without first coordinates those of several stages are the same"},
    {"collapse_dimensions", kDense, false,
     [](Form &f, const SimtOptions &) {
         const Expr dense = collapse_dimensions(f.kernel);
         f.possible = dense.defined();
         f.usable = f.possible ? f.usable && dense : f.usable;
     },
     "before vectors are looked for: of one long dimension more of them are aligned"},
    {"shift_clamped_loads", kMoving, false, [](Form &f, const SimtOptions &) { f.kernel.body = shift_clamped_loads(f.kernel.body); },
     "before vectors are looked for: a vector that stops at the last element becomes one that is loaded before it"},
    {"mark_aligned_vectors", kMoving, false,
     [](Form &f, const SimtOptions &) {
         const Expr aligned = mark_aligned_vectors(f.kernel);
         f.moves_vectors = aligned.defined();
         f.usable = f.moves_vectors ? f.usable && aligned : f.usable;
         f.possible = f.possible && (f.moves_vectors || f.bit == kDense);
     },
     "the passes behind it move whole vectors"},
    {"fetch_ahead", kMoving, true, [](Form &f, const SimtOptions &o) { fetch_ahead(f.kernel, o.fetched, o.fail); },
     "before loads are moved: a copy into shared memory is recognised as a load and a store beside each other"},
    {"predicate_loads", kMoving, true, [](Form &f, const SimtOptions &) { f.kernel.body = predicate_loads(f.kernel.body); },
     "before loads are kept: only a load without a branch around it can be kept for later stages"},
    {"reuse_in_registers", kMoving, true, [](Form &f, const SimtOptions &) { reuse_in_registers(f.kernel); },
     "before loops and blocks get copies: what is loaded once is loaded once in each copy"},
    {"unswitch_loops", kMoving, true, [](Form &f, const SimtOptions &) { unswitch_loops(f.kernel); },
     "behind reuse_in_registers, whose loops it copies"},
    {"unswitch_blocks", kMoving, true,
     [](Form &f, const SimtOptions &) {
         if (f.usual && has_registers_for_two(f.kernel)) {
             unswitch_blocks(f.kernel);
         }
     },
     "behind unswitch_loops: conditions that are left are those of a block"},
    {"divide_by_sizes", kAll, false,
     [](Form &f, const SimtOptions &) {
         Expr positive;
         divide_by_sizes(f.kernel, f.bit == kElements ? nullptr : &positive);
         f.usable = positive.defined() ? f.usable && positive : f.usable;
     },
     "behind all that look at indices: they know what a division by a size is, and not what it is made of"},
    {"wait_for_last", kAll, false, [](Form &f, const SimtOptions &o) { wait_for_last(f.kernel, o.before_wait); },
     "last: what stands before the wait are the loads that are left"},
};

class Runner {
public:
    explicit Runner(const SimtOptions &options) : options_(options) {}

    // Passes from one to before another, of those that go over the form.
    void run(Form &form, const Pass *from, const Pass *to) const {
        for (const Pass *p = from; p < to && form.possible; p++) {
            if ((p->forms & form.bit) == 0 || (p->of_vectors && !form.moves_vectors)) {
                continue;
            }
            const auto begin = std::chrono::steady_clock::now();
            p->run(form, options_);
            const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
            if (options_.observe) {
                options_.observe({form.kernel.name, form.name, p->name, time.count(), form.kernel.body});
            }
        }
    }

private:
    const SimtOptions &options_;
};

}  // namespace

const char *const kExtracted = "extract";

SimtForms make_simt_forms(Kernel kernel, const SimtOptions &options) {
    const Runner runner(options);
    const Pass *const end = std::end(kPasses);
    // Forms are one as long as the passes are those of all.
    const auto first_not_of = [&](unsigned forms) {
        return std::find_if(std::begin(kPasses), end, [&](const Pass &p) { return (p.forms & forms) != forms; });
    };
    const Pass *const one = first_not_of(kAll), *const moving = first_not_of(kMoving);
    Form elements{kElements, "elements", std::move(kernel)};
    if (options.observe) {
        options.observe({elements.kernel.name, elements.name, kExtracted, 0, elements.kernel.body});
    }
    runner.run(elements, std::begin(kPasses), one);
    Form vectors{kVectors, "vectors", elements.kernel};
    runner.run(vectors, one, moving);
    Form dense{kDense, "dense", vectors.kernel, vectors.usable};
    runner.run(dense, moving, moving + 1);
    vectors.usual = !dense.possible;
    runner.run(vectors, moving, end);
    runner.run(elements, one, end);
    SimtForms forms;
    forget_alignment(elements.kernel, const_true());
    if (vectors.possible) {
        forget_alignment(vectors.kernel, vectors.usable);
        forms.vectors = SimtForm{vectors.kernel, vectors.usable};
        runner.run(dense, moving + 1, end);
        if (dense.possible) {
            forget_alignment(dense.kernel, dense.usable);
            forms.dense = SimtForm{dense.kernel, dense.usable};
        }
    }
    forms.elements = elements.kernel;
    return forms;
}

std::vector<PassText> simt_passes() {
    std::vector<PassText> texts;
    for (const Pass &p : kPasses) {
        texts.push_back({p.name, p.why});
    }
    return texts;
}

}  // namespace halyard
