// Words that map loops onto a GPU or another device, under Halide's names.

#include "language/word.h"

namespace halyard {

using namespace Halide;

namespace {

// Halide takes a kernel of the host for one, and for no kernel where it copies what that reads.
DeviceAPI device(const Call &c, size_t arg) {
    const DeviceAPI device = c.args[arg].present ? DeviceAPI(c.args[arg].integer) : DeviceAPI::Default_GPU;
    if (device == DeviceAPI::Host) {
        c.fail("makes blocks and threads, which the device \"host\" has not", "leave the device out, or say parallel");
    }
    return device;
}

void run_as_threads(Call &c, const std::vector<VarOrRVar> &l, DeviceAPI device) {
    switch (l.size()) {
    case 1: c.stage().gpu_threads(l[0], device); break;
    case 2: c.stage().gpu_threads(l[0], l[1], device); break;
    case 3: c.stage().gpu_threads(l[0], l[1], l[2], device); break;
    default: c.fail("takes one to three loops, innermost first");
    }
}

void run_as_blocks(Call &c, const std::vector<VarOrRVar> &l, DeviceAPI device) {
    switch (l.size()) {
    case 1: c.stage().gpu_blocks(l[0], device); break;
    case 2: c.stage().gpu_blocks(l[0], l[1], device); break;
    case 3: c.stage().gpu_blocks(l[0], l[1], l[2], device); break;
    default: c.fail("takes one to three loops, innermost first");
    }
}

void gpu_threads(Call &c) {
    run_as_threads(c, c.loops(0), device(c, 1));
}

void gpu_blocks(Call &c) {
    run_as_blocks(c, c.loops(0), device(c, 1));
}

void gpu(Call &c) {
    const auto b = c.loops(0), t = c.loops(1);
    if (b.size() != t.size() || b.empty() || b.size() > 3) {
        c.fail("takes one to three block loops and as many thread loops");
    }
    switch (b.size()) {
    case 1: c.stage().gpu(b[0], t[0], device(c, 2)); break;
    case 2: c.stage().gpu(b[0], b[1], t[0], t[1], device(c, 2)); break;
    default: c.stage().gpu(b[0], b[1], b[2], t[0], t[1], t[2], device(c, 2)); break;
    }
}

void gpu_tile(Call &c) {
    const auto &given = c.args[0].loops;
    const auto &sizes = c.args[1].exprs;
    const auto l = c.loops(0);
    if (l.size() != sizes.size() || l.empty() || l.size() > 3) {
        c.fail("takes one to three loops and as many sizes");
    }
    const auto tail = c.args[2].present ? TailStrategy(c.args[2].integer) : TailStrategy::Auto;
    std::vector<std::string> names;
    std::vector<VarOrRVar> blocks, threads;
    for (size_t i = 0; i < l.size(); i++) {
        names.push_back(c.new_loop(c.args.size(), given[i].name + "_block"));
        blocks.emplace_back(names.back(), given[i].is_rvar);
    }
    for (size_t i = 0; i < l.size(); i++) {
        names.push_back(c.new_loop(c.args.size(), given[i].name + "_thread"));
        threads.emplace_back(names.back(), given[i].is_rvar);
    }
    for (size_t i = 0; i < l.size(); i++) {
        c.stage().split(l[i], blocks[i], threads[i], sizes[i], tail);
    }
    std::vector<VarOrRVar> order = threads;
    order.insert(order.end(), blocks.begin(), blocks.end());
    c.reorder(order);
    run_as_blocks(c, blocks, device(c, 3));
    run_as_threads(c, threads, device(c, 3));
    for (const auto &n : names) {
        c.push_loop(n);
    }
}

}  // namespace

const std::vector<Word> kGpuWords = {
    {"gpu_blocks", Handle::kStage, "loops:loop_or_loops device:device?", "self",
     "Runs the loops as the blocks of a kernel: one loop, or a list of up to three, innermost first.", "for y", "blocks y", gpu_blocks},
    {"gpu_threads", Handle::kStage, "loops:loop_or_loops device:device?", "self",
     "Runs the loops as the threads of a block: one loop, or a list of up to three, innermost first.", "for x", "threads x", gpu_threads},
    {"gpu_lanes", Handle::kStage, "loop:loop device:device?", "self",
     "Runs the loop over the lanes of a warp; values may be exchanged between them by shuffles.", "for x in 0..32", "lanes x",
     [](Call &c) { c.stage().gpu_lanes(c.loop(0), device(c, 1)); }},
    {"gpu_single_thread", Handle::kStage, "device:device?", "self", "Runs the stage as a kernel of one thread.", "for x",
     "kernel<1, 1>: for x", [](Call &c) { c.stage().gpu_single_thread(device(c, 0)); }},
    {"gpu", Handle::kStage, "blocks:loop_or_loops threads:loop_or_loops device:device?", "self", "gpu_blocks and gpu_threads in one word.",
     "for y: for x", "blocks y: threads x", gpu},
    {"gpu_tile", Handle::kStage, "loops:loop_or_loops sizes:sizes[1..1024] tail:tail? device:device?", "blocks:Loop... threads:Loop...",
     "Tiles the loops; the outer ones become blocks, the inner ones threads.", "for y: for x", "blocks y, x: threads y, x", gpu_tile},
    {"hexagon", Handle::kStage, "loop:loop?", "self", "Runs the loop (or the whole stage) on a Hexagon DSP.", "for y", "hexagon: for y",
     [](Call &c) {
         if (c.args[0].present) {
             c.stage().hexagon(c.loop(0));
         } else {
             c.stage().hexagon();
         }
     }},
};

}  // namespace halyard
