// Words that Halide has not: they take effect in a pass after its lowering (schedules/lowering).

#include <algorithm>
#include <stdexcept>

#include "language/autoschedule.h"
#include "language/binding.h"
#include "language/reads.h"
#include "language/schedule_text.h"

namespace halyard {

using namespace Halide;

namespace {

void stream(Call &c) {
    const Internal::Function f = c.func().function();
    bool output = false;
    for (const auto &o : c.binding.view().outputs()) {
        output = output || o.same_as(f);
    }
    if (!output) {
        c.fail("is for what the pipeline writes for others, and " + c.self.func_name + " is read again by it", "stream an output");
    }
    if (f.has_update_definition()) {
        c.fail("is not for " + c.self.func_name + ": its update reads again what was stored",
               "give the output a definition of its own that reads the sum");
    }
    c.binding.stream(f, c.args[0].present ? c.args[0].integer : -1);
}

void prefetch_over(Call &c) {
    if (c.binding.target.has_feature(Target::CUDA)) {
        c.fail("is for the caches of a host", "on CUDA, pipeline() fetches ahead");
    }
    const Handle &what = c.args[1].handles[0];
    SpreadPrefetch p;
    p.func = c.func().function();
    p.stage = c.self.stage_index;
    p.loop = c.args[0].loops[0].halide;
    p.ahead = *c.args[2].level;
    p.offset = c.args[3].present ? int(c.args[3].integer) : 1;
    p.only_streamed = c.args[4].present && c.args[4].boolean;
    if (what.parameter.defined()) {
        p.buffer = what.parameter.name();
        p.type = what.parameter.type();
    } else {
        const Internal::Function f = what.func.function();
        p.buffer = f.name();
        p.type = f.output_types()[0];
        p.for_write = true;
        bool output = false;
        for (const auto &o : c.binding.view().outputs()) {
            output = output || o.same_as(f);
        }
        if (!output || f.outputs() > 1) {
            c.fail("is for inputs and outputs, and " + what.func_name + " is " + (output ? "several in one" : "neither"));
        }
    }
    c.binding.prefetch_over(std::move(p));
}

void prefetch_ahead(Call &c) {
    if (c.binding.target.has_feature(Target::CUDA)) {
        c.fail("is for the caches of a host", "on CUDA, pipeline() fetches ahead");
    }
    AheadPrefetch p{c.func().name(), c.self.stage_index, c.args[0].loops[0].halide, {}};
    for (const auto &f : c.binding.view().funcs()) {
        if (f.second.parameter.defined()) {
            p.buffers.push_back(f.second.parameter);
        }
    }
    p.bytes = c.args[1].present ? int(c.args[1].integer) : p.bytes;
    c.binding.prefetch_ahead(std::move(p));
}

void side_by_side(Call &c) {
    if (c.binding.target.has_feature(Target::CUDA)) {
        c.fail("is for the threads of a host", "leave it out: on CUDA, kernels of few rows that need nothing of each other run together");
    }
    std::vector<Internal::Function> funcs;
    std::vector<std::string> names;
    const auto add = [&](const Handle &h) {
        if (h.parameter.defined()) {
            c.fail("is for what is computed, and " + h.func_name + " is an input");
        }
        const Internal::Function f = Func(h.func).function();
        if (only_stage(f) == nullptr) {
            c.fail("is not for " + h.func_name + ": its stages follow each other", "give it a definition of its own that reads the sum");
        }
        for (size_t i = 0; i < funcs.size(); i++) {
            if (funcs[i].same_as(f)) {
                c.fail("has " + h.func_name + " twice");
            }
            const bool later = needs_of(f).count(funcs[i].name()) > 0;
            if (later || needs_of(funcs[i]).count(f.name()) > 0) {
                c.fail("is for Funcs that need nothing of each other, and " + (later ? h.func_name : names[i]) + " needs " +
                           (later ? names[i] : h.func_name),
                       "compute one after the other");
            }
        }
        funcs.push_back(f);
        names.push_back(h.func_name);
    };
    add(c.self);
    for (const Handle &h : c.args[0].handles) {
        add(h);
    }
    for (const auto &group : c.binding.side_by_side()) {
        for (size_t i = 0; i < funcs.size(); i++) {
            for (const auto &other : group.funcs) {
                if (other.same_as(funcs[i])) {
                    c.fail("was said of " + names[i] + " before", "name all Funcs of one loop in one place");
                }
            }
        }
    }
    c.binding.put_side_by_side(std::move(funcs), std::move(names));
}

void mma(Call &c) {
    if (c.self.stage_index == 0) {
        c.fail("is for an update that adds up products", "write k." + c.self.func_name + ":update(0):mma()");
    }
    c.binding.multiply_in_tiles(c.func().function(), c.self.stage_index);
}

void pipeline(Call &c) {
    const int64_t stages = c.args[0].integer, raster = c.args[1].present ? c.args[1].integer : 8;
    if (!c.binding.pipeline(c.func().function(), c.self.stage_index, int(stages), int(raster), c.args[2].present && c.args[2].boolean)) {
        c.fail("is for a product on the tensor cores", "write mma() before it");
    }
}

void split_k_cluster(Call &c) {
    const int64_t blocks = c.args[0].integer;
    if (!c.binding.split_k_cluster(c.func().function(), c.self.stage_index, int(blocks))) {
        c.fail("is for a product on the tensor cores", "write mma() before it");
    }
}

void split_k_warps(Call &c) {
    const int64_t warps = c.args[0].integer;
    if (!c.binding.split_k_warps(c.func().function(), c.self.stage_index, int(warps))) {
        c.fail("is for a product on the tensor cores", "write mma() before it");
    }
}

void fetch(Call &c) {
    const int64_t ahead = c.args[0].present ? c.args[0].integer : 0;
    if (c.func().has_update_definition()) {
        c.fail("is for a copy, and " + c.self.func_name + " has an update", "fetch a wrapper: k." + c.self.func_name + ":in_()");
    }
    c.binding.fetch(c.func().function(), int(ahead));
}

void prefetch_at_launch(Call &c) {
    if (!c.self.parameter.defined()) {
        c.fail("is for an input, and " + c.self.func_name + " is computed", "say it of the input that it is computed of");
    }
    c.binding.prefetch_at_launch(c.self.parameter.name(), c.args[0].present ? int(c.args[0].integer) : 4);
}

void resident(Call &c) {
    c.binding.resident(c.func().function(), int(c.args[0].integer));
}

void halide_autoscheduler(Call &c) {
    const auto &known = halide_autoschedulers();
    if (std::find(known.begin(), known.end(), c.args[0].text) == known.end()) {
        c.fail("there is no autoscheduler \"" + c.args[0].text + "\"", "there are " + quoted_list(known));
    }
    Translation t{c.args[0].text, c.args[1].text, c.args[2].present ? c.args[2].integer : 8, "", ""};
    const ScheduleText text(c.binding.view());
    std::string wrong;
    c.binding.host().excuse([&] {
        try {
            autoschedule(c.binding.view(), c.binding.target, t.scheduler, int(t.threads), parse_sizes(t.sizes));
        } catch (const std::invalid_argument &e) {
            wrong = e.what();
            return;
        }
        try {
            t.statements = text.statements();
        } catch (const std::runtime_error &e) {
            t.problem = e.what();
        }
    });
    if (!wrong.empty()) {
        c.fail(wrong);
    }
    c.binding.translation = std::move(t);
}

}  // namespace

const std::vector<Word> kLoweringWords = {
    {"stream", Handle::kFunc, "above:int[0..1125899906842624]?", "self",
     "Stores an output past the caches in calls where it has more than `above` bytes, in rows that are whole lines of 64 "
     "bytes or long (16 KiB); by default, what half the last-level cache of the target holds. Then its lines are not read before they are "
     "written, and nothing else "
     "is pushed out of the caches for them. Decided once a call, for all streamed outputs at once. Vectors of 16, "
     "32 or 64 bytes are streamed, those that start at a multiple of 16 bytes. Without `halyard build`, as in a "
     "stock Halide generator, it has no effect, and a note says so.",
     "for row: y[row][col] = ...",
     "if (bytes of y > above)\n  for row: y[row][col] = ... (non-temporal)\nelse\n"
     "  for row: y[row][col] = ...",
     stream},
    {"prefetch_over", Handle::kStage, "over:loop func:func ahead:level offset:int[0..65536]? streamed:bool?", "self",
     "Spreads over the iterations of `over` the prefetch, into L1, of what `func`, an input or output, has `offset` iterations "
     "of `ahead` later: each asks for as many elements as this stage computes in it, so that memory is busy while the loop "
     "computes. What is streamed is not prefetched; with `streamed`, nothing is but in the version of the loops that streams "
     "an output: calls in the cache are better off without it where the loop only moves data. Without `halyard build`, as in a stock "
     "Halide generator, it has no "
     "effect, and a note says so.",
     "for row: for col: f(col) = ...", "for row: for col: prefetch x(col, row + 1); f(col) = ...", prefetch_over},
    {"prefetch_ahead", Handle::kStage, "loop:loop bytes:int[1..16777216]?", "self",
     "Has each iteration of `loop` prefetch, into L1, the lines that lie `bytes`, by default 4096, behind the vectors of inputs "
     "that it reads. For what is read in the order of memory, as weights are: a processor's own prefetchers stop at the end "
     "of each page. Loops inside of it have to be vectorised or unrolled, and a vector whose place depends on data is passed "
     "over. Without `halyard build`, as in a stock Halide generator, it has no effect, and a note says so.",
     "for k: acc[0:16] += a[k] * b[k][0:16]", "for k: prefetch b[k][0:16] + 4096 bytes; acc[0:16] += a[k] * b[k][0:16]", prefetch_ahead},
    {"side_by_side", Handle::kFunc, "others:func...", "self",
     "Makes the parallel loops of this Func and of others one parallel loop over all their jobs: a horizontal fusion. Threads are "
     "called once, and none of them waits for the last job of one Func before it begins with the next. The outermost loop of each "
     "is parallel, as specialised as it likes; none reads what another computes, and none has stages that follow each other: no updates, "
     "but one "
     "of a Func that is undefined elsewhere, as of rows that an index names. Each job computes what it "
     "did, so that results are the same. A job costs 4 to 30 ns more.",
     "parallel job < n: q = ...\nparallel job < m: k = ...", "parallel job < n + m:\n  if (job < n) q = ...\n  else k = ... (of job - n)",
     side_by_side},
    {"mma", Handle::kStage, "", "self",
     "Has an update that adds up products of bf16, of 8-bit integers or of float32 done in tiles by AMX. Its loops stay "
     "serial: over rows, columns, groups of k, and the members of a group (2 of bf16, 4 of 8 bits; float32 has none), b in packed "
     "weights. Numbers of float32 are multiplied as three of bf16 each, in six products, which is as exact as a chain of "
     "float32; a task makes the parts of its operands once. Loops around these, as over the window of a convolution, make a call each "
     "turn. Any extents will do; "
     "multiples of 32 rows and columns and of 16 groups are best. Tiles are configured once for the body of a parallel loop, "
     "and what the loop over rows behind the product writes and reads is prefetched meanwhile. On a processor without AMX "
     "plain loops compute the same, slowly: choose it by `target:has \"avx512_sapphirerapids\"`. "
     "Without `halyard build` the loops stay, and a note says so. On CUDA: the tensor cores, with sums in registers and "
     "tiles fetched into shared memory, by TMA for sm_90a, by the threads for others from sm_80 on: float16 or "
     "bfloat16 summed up in float32; where both have neighbours along k also float32 that is cut to TF32, and 8-bit integers, "
     "signed or not, in int32. Of float16 and bfloat16 there may be any number of products in loops of any depth, with what is computed of "
     "their sums between them, and operands may be computed on the way in (docs/guide/cuda.md, Products in any pipeline).",
     "for group: for row: for col: for member\n  acc[row][col] += a[row][group][member] * b[group][col][member]",
     "halyard_mma_bf16(acc, a, b, rows, cols, groups)", mma},
    {"pipeline", Handle::kStage, "stages:int[2..16] raster:int[1..65536]? ping_pong:bool?", "self",
     "On CUDA, of a product said to be mma: its operands are fetched into shared memory so many steps ahead, on sm_90a by "
     "a warp that does nothing else, on others as far as 99 KiB go. Blocks take tiles in groups of `raster` rows of tiles, "
     "8 by default, so that what neighbours read is in the cache. Where a second product multiplies what is made of this "
     "one, as in attention, others than sm_90a fetch each operand while the other is multiplied; on sm_90a `ping_pong` has one "
     "half of a block multiply while the other computes. Where there is no second product, each half then has a tile of its "
     "own, of 64 rows: one stores its tile while the other multiplies, which pays where k is short.",
     "for step: fetch; multiply", "fetch | fetch | fetch | fetch\n                    multiply | multiply ...", pipeline, nullptr,
     Effect::kCuda},
    {"split_k_cluster", Handle::kStage, "blocks:int[1..8]", "self",
     "On CUDA, of a product said to be mma, for sm_90a: so many blocks, up to 8, share the steps of a tile, and the first of "
     "them adds up their sums, in the same order each time, out of their shared memory. For few and long tiles, which would "
     "leave most of the device without work: few rows, and all of the weights to be read. On other devices it has no effect.",
     "blocks tile: for step: acc += a * b",
     "blocks tile, part: for step of part: acc += a * b\nblocks tile: acc of part 0 += acc of the others", split_k_cluster, nullptr,
     Effect::kCuda},
    {"split_k_warps", Handle::kStage, "warps:int[1..16]", "self",
     "On CUDA, of a product that is said to be mma: so many warps, up to 16, share the steps of a tile, and in the end put together "
     "what they have, in the order of the warps. More of them are under way for as many splits. In a loop with a second product, as "
     "in attention of a query, with tiles of 16 rows, each warp fetches its own steps, `pipeline` stages of them. Where operands are "
     "computed on the way in, or several products are added up, groups of warps with a whole tile each take turns with the steps. "
     "For few rows: a group computes its operand while others wait for theirs.",
     "blocks tile: for step: fetch; acc = f(acc, step)",
     "blocks tile, warps w: for step of w: fetch; acc = f(acc, step)\nblocks tile: acc = f(acc of warp 0, acc of the others)",
     split_k_warps, nullptr, Effect::kCuda},
    {"fetch", Handle::kFunc, "ahead:int[0..15]?", "self",
     "On CUDA, of a copy in shared memory: threads do not wait for what they load (cp.async), but when it is needed. "
     "`ahead`: that is so many turns later of the serial loop where the Func is computed; it then has ahead + 1 buffers "
     "(ring_buffer), for which hoist_storage says the loop outside of that one. By default 0: all that a block, or a turn, "
     "fetches is under way together, and then waited for. Vectors of 4, 8 or 16 bytes are fetched so; where they are not "
     "aligned, the copy is made as if nothing was said.",
     "for t: f = x; consume f", "fetch f of turn 0 .. ahead - 1\nfor t: fetch f of turn t + ahead; consume f of turn t", fetch, nullptr,
     Effect::kCuda},
    {"resident", Handle::kFunc, "blocks:int[1..32]", "self",
     "On CUDA, of a Func with blocks of its own: threads get no more registers than leave room for so many blocks on a "
     "multiprocessor, so that one can compute while another waits. CUDA has it as the second argument of __launch_bounds__.",
     "blocks", "blocks, so many at once", resident, nullptr, Effect::kCuda},
    {"prefetch_at_launch", Handle::kFunc, "turns:int[1..64]?", "self",
     "On CUDA, of an input: what kernels without tensor cores load of it is asked for from memory into the L2 cache when they begin, which "
     "on sm_90 is before they wait for the last kernel of the stream. Results are the same whoever writes the input, and when. "
     "Of loops around such loads the first `turns` turns are, by default 4. Loads whose place or condition is computed of data are not.",
     "wait for the last kernel\nfor t: s += w[t] * x[t]", "for t < turns: prefetch w[t]\nwait for the last kernel\nfor t: s += w[t] * x[t]",
     prefetch_at_launch, nullptr, Effect::kCuda},
    {"autoschedule", Handle::kFunc, "scheduler:string sizes:string parallelism:int[1..65536]?", "self",
     "Hands the whole pipeline to one of Halide's own autoschedulers: Mullapudi2016, Adams2019, Li2018 or, for GPUs, "
     "Anderson2021. `sizes` are the estimates that it works from, for every buffer and every integer of the kernel: "
     "\"x:4096x64,weight:4096,y:4096x64\". To compare with; nothing else should be said in such a script. "
     "`halyard explore --translate` writes what it made in words.",
     "for row: for col: y = ...", "(what the autoscheduler makes of it)", halide_autoscheduler},
};

}  // namespace halyard
