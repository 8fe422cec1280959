// Barriers where the threads of a block may not all come by: loops are not cut there, and what is left of it is an error.

#include <catch2/catch.hpp>

#include "lowering/cuda/simt/barriers.h"
#include "tests/language/support.h"

using namespace Halide;
using namespace Halide::Internal;

namespace {

const Expr thread = Variable::make(Int(32), "thread_x"), n = Variable::make(Int(32), "n");

Stmt barrier() {
    return Evaluate::make(Call::make(Int(32), Call::gpu_thread_barrier, {0}, Call::Intrinsic));
}

Stmt loop(const std::string &name, const Expr &min, const Expr &extent, const Stmt &body) {
    return For::make(name, min, extent, ForType::Serial, Partition::Auto, DeviceAPI::None, body);
}

Stmt store(const std::string &name, const Expr &value, const Expr &index = 0) {
    return Store::make(name, value, index, Parameter(), const_true(), ModulusRemainder());
}

Expr load(const std::string &name, const Expr &index = 0) {
    return Load::make(Int(32), name, index, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
}

Stmt allocate(const std::string &name, MemoryType where, const Stmt &body) {
    return Allocate::make(name, Int(32), where, {4}, const_true(), body);
}

// What is wrong with a kernel of 64 threads, or of one; "" for nothing.
std::string wrong_with(const Stmt &body, int threads = 64) {
    halyard::Kernel kernel;
    kernel.threads = {threads, 1, 1};
    kernel.body = body;
    std::string message;
    try {
        halyard::check_barriers(kernel,
                                [](const std::string &func, const std::string &what) { throw std::runtime_error(func + " " + what); });
    } catch (const std::runtime_error &e) {
        message = e.what();
    }
    return message;
}

bool hangs(const Stmt &body) {
    return !wrong_with(body).empty();
}

}  // namespace

TEST_CASE("barriers in loops whose turns differ by thread", "[barriers]") {
    CHECK(wrong_with(loop("f.s0.x.tile$1", 0, n - thread, barrier())) ==
          "f has the threads of a block wait for each other in the loop tile, whose bounds depend on the thread: a device would "
          "hang. Say never_partition for that loop, or have it end alike in all threads, by a split that guards or rounds up");
    CHECK(hangs(loop("f.s0.x", thread, n, barrier())));
    CHECK(wrong_with(loop("f.s0.x", 0, n - thread, barrier()), 1) == "");
    CHECK_FALSE(hangs(loop("f.s0.x", 0, n, barrier())));
    // Around a loop with a barrier, and inside of it; a loop without one may end where it likes.
    CHECK(hangs(loop("f.s0.x", 0, thread, loop("f.s0.y", 0, n, barrier()))));
    CHECK(hangs(loop("f.s0.x", thread, n, loop("f.s0.y", 0, Variable::make(Int(32), "f.s0.x"), barrier()))));
    CHECK_FALSE(hangs(Block::make(loop("f.s0.x", 0, thread, store("y", 1, thread)), barrier())));
}

TEST_CASE("barriers under conditions that differ by thread", "[barriers]") {
    const std::string wrong = wrong_with(ProducerConsumer::make("f", true, IfThenElse::make(thread < n, barrier())));
    CHECK(wrong.find("f has the threads of a block wait for each other under a condition that depends on the thread (") == 0);
    CHECK(wrong.find("thread_x < n") != std::string::npos);
    CHECK(hangs(IfThenElse::make(thread < n, store("y", 1, thread), barrier())));
    CHECK_FALSE(hangs(IfThenElse::make(n < 3, barrier())));
}

TEST_CASE("what a condition is made of", "[barriers]") {
    const Expr v = Variable::make(Int(32), "v");
    const Stmt waits = IfThenElse::make(v < n, barrier());
    CHECK(hangs(LetStmt::make("v", thread / 32, waits)));
    CHECK_FALSE(hangs(LetStmt::make("v", n / 32, waits)));
    // From memory: what is at one place is the same for all.
    CHECK(hangs(LetStmt::make("v", load("lengths", thread), waits)));
    CHECK_FALSE(hangs(LetStmt::make("v", load("lengths", n), waits)));
    // Registers: what a thread has stored there, also in the turn before, or where others have not.
    const auto in_register = [&](const Stmt &body) { return allocate("r", MemoryType::Register, body); };
    const Stmt reads = LetStmt::make("v", load("r"), waits);
    CHECK(hangs(in_register(Block::make(store("r", thread), reads))));
    CHECK_FALSE(hangs(in_register(Block::make(store("r", load("lengths", n)), reads))));
    CHECK(hangs(in_register(loop("f.s0.x", 0, n, Block::make(reads, store("r", thread))))));
    CHECK(hangs(in_register(Block::make(IfThenElse::make(thread == 0, store("r", n)), reads))));
    CHECK_FALSE(hangs(allocate("r", MemoryType::GPUShared, Block::make(IfThenElse::make(thread == 0, store("r", n)), reads))));
}

// The tiles of the head are guarded by thread: Halide would cut the loop over them elsewhere for each.
TEST_CASE("loops around barriers are not cut", "[barriers]") {
    const TempDir dir;
    const std::string shipped = read_file(HALYARD_SOURCE "/schedules/cuda/decode_attention.lua"), end = "  end,\n}\n";
    const auto build = [&](const std::string &policy) {
        std::string text = shipped;
        text.replace(text.find(end), 0, "    if p.rescaled == 0 then k.acc_partial_in:partition('tile', '" + policy + "') end\n");
        return run_program({HALYARD_COMMAND, "build", "decode_attention", "--quiet", "--target", "cuda", "--devices", "emulator",
                            "--schedule", dir.write(policy + ".lua", text), "-o", dir.path() + "/" + policy});
    };
    REQUIRE(shipped.find(end) != std::string::npos);
    const Finished left_to_halide = build("auto"), forced = build("always");
    CHECK(left_to_halide.err == "");
    CHECK(left_to_halide.exit_code == 0);
    CHECK(forced.exit_code == 1);
    INFO(forced.err);
    CHECK(forced.err.find("has the threads of a block wait for each other in the loop tile, whose bounds depend on the thread") !=
          std::string::npos);
}
