// A picture of each pass over CUDA kernels: passes/PASS.txt has a small kernel before it and after it. Who changes a pass sees here
// what that did, and who reads one sees what it does.

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <sstream>

#include "lowering/cuda/offload.h"
#include "tests/language/support.h"

using namespace Halide;

namespace {

const std::string kPictures = HALYARD_SOURCE "/tests/lowering/passes/";

Var c("c"), r("r"), block("block"), thread("thread"), vec("vec"), turn("turn");

struct Small {
    ImageParam a{Float(32), 2, "a"};
    Func y{"y"};
    halyard::CudaSchedule schedule;

    // A row in blocks of 32 threads that have four columns each.
    void place_on_blocks(TailStrategy tail) {
        y.split(c, block, thread, 128, tail).split(thread, thread, vec, 4).vectorize(vec);
        y.gpu_blocks(block, r).gpu_threads(thread);
    }
};

void scale(Small &s) {
    s.y(c, r) = s.a(c, r) * 2.0f;
    s.place_on_blocks(TailStrategy::GuardWithIf);
}

void last_vector(Small &s) {
    s.y(c, r) = s.a(c, r) * 2.0f;
    s.place_on_blocks(TailStrategy::ShiftInwards);
}

void beside_edge(Small &s) {
    s.y(c, r) = s.a(clamp(c + 1, 0, s.a.dim(0).extent() - 1), r);
    s.place_on_blocks(TailStrategy::GuardWithIf);
}

// Vectors that stop at the last column of the input.
void repeated_edge(Small &s) {
    s.y(c, r) = s.a(min(c, s.a.dim(0).extent() - 1), r);
    s.place_on_blocks(TailStrategy::RoundUp);
}

void reshaped(Small &s) {
    const Expr columns = s.a.dim(0).extent();
    s.y(c, r) = s.a(c % columns, c / columns);
    s.place_on_blocks(TailStrategy::GuardWithIf);
}

// The sum of a row, a part in each thread.
void row_sum(Small &s) {
    RDom k(0, s.a.dim(0).extent(), "k");
    Func sum("sum");
    sum(r) += s.a(k, r);
    RVar step("step"), lane("lane");
    s.y(c, r) = s.a(c, r) - sum(r);
    sum.update(0).split(k, step, lane, 32, TailStrategy::GuardWithIf);
    Func part = sum.update(0).rfactor(lane, thread);
    s.y.split(c, turn, thread, 32, TailStrategy::GuardWithIf).gpu_blocks(r).gpu_threads(thread);
    sum.compute_at(s.y, r).store_in(MemoryType::Register);
    part.compute_at(s.y, r).store_in(MemoryType::Register).gpu_threads(thread);
    part.update(0).gpu_threads(thread);
}

// The sum of all rows, each of which is copied into shared memory while the one before is added.
void copied_ahead(Small &s) {
    RDom k(0, s.a.dim(1).extent(), "k");
    Func copy("copy"), sum("sum");
    copy(c, r) = s.a(c, r);
    sum(c) += copy(c, k);
    s.y(c) = sum(c);
    const auto over_threads = [](Stage stage) {
        return stage.split(c, thread, vec, 4, TailStrategy::RoundUp).vectorize(vec).gpu_threads(thread);
    };
    s.y.split(c, block, c, 128, TailStrategy::RoundUp).gpu_blocks(block);
    over_threads(s.y);
    sum.compute_at(s.y, block).store_in(MemoryType::Register);
    over_threads(sum);
    over_threads(sum.update(0)).reorder(vec, thread, k);
    copy.compute_at(sum, k).hoist_storage(s.y, block).ring_buffer(2).store_in(MemoryType::GPUShared);
    over_threads(copy);
    s.schedule.fetched["copy"] = 1;
}

// The sum of rows in steps of four, of which the last may have fewer.
void sum_in_steps(Small &s) {
    RDom k(0, s.a.dim(1).extent(), "k");
    RVar step("step"), row("row");
    Func copy("copy"), sum("sum");
    copy(c, r) = s.a(c, r);
    sum(c) += copy(c, k);
    s.y(c) = sum(c);
    s.y.split(c, block, thread, 128, TailStrategy::RoundUp).split(thread, thread, vec, 4).vectorize(vec);
    s.y.gpu_blocks(block).gpu_threads(thread);
    sum.compute_at(s.y, thread).vectorize(c, 4);
    sum.update(0).split(k, step, row, 4, TailStrategy::GuardWithIf).reorder(c, row, step).never_partition_all();
    copy.compute_at(sum, step).store_in(MemoryType::Register).bound_extent(r, 4).vectorize(c, 4);
}

// Vectors of all rows in one loop.
void fused_rows(Small &s) {
    Var all("all");
    s.y(c, r) = s.a(c, r) * 2.0f;
    s.y.split(c, c, vec, 4, TailStrategy::GuardWithIf).vectorize(vec).fuse(c, r, all);
    s.y.split(all, block, thread, 32, TailStrategy::GuardWithIf).gpu_blocks(block).gpu_threads(thread);
}

// The sum of four columns of the rows that another kernel marks.
void marked_rows(Small &s) {
    Func mark("mark"), sum("sum");
    RDom k({{0, 4}, {0, s.a.dim(1).extent()}}, "k");
    mark(r) = s.a(0, r);
    k.where(mark(k.y) > 0.0f);
    sum(c) += s.a(c + k.x, k.y);
    s.y(c) = sum(c);
    s.y.split(c, block, thread, 32, TailStrategy::RoundUp).gpu_blocks(block).gpu_threads(thread);
    sum.compute_at(s.y, thread).store_in(MemoryType::Register);
    mark.compute_root().gpu_blocks(r);
}

using Runs = std::vector<halyard::PassRun>;

Runs passes_over_or_throw(const std::function<void(Small &)> &make) {
    Small s;
    make(s);
    s.y.output_buffer().dim(0).set_stride(1);
    Runs runs;
    halyard::CudaOptions options;
    options.name = "small";
    options.emulated = true;
    options.schedule = s.schedule;
    options.schedule.note = [](const std::string &) { return std::string(); };
    options.fail = [](const std::string &func, const std::string &message) { throw CompileError(func + " " + message); };
    options.observe = [&](const halyard::PassRun &run) { runs.push_back(run); };
    Pipeline p(s.y);
    p.add_custom_lowering_pass(halyard::offload_to_cuda(options).release());
    p.compile_to_module(p.infer_arguments(), "small", Target("x86-64-linux-sse41-cuda-cuda_capability_80-no_runtime"));
    return runs;
}

Runs passes_over(const std::function<void(Small &)> &make) {
    try {
        return passes_over_or_throw(make);
    } catch (const Halide::Error &e) {
        FAIL(e.what());
    }
    return {};
}

struct Picture {
    std::string before, after;

    size_t size() const {
        return before.size() + after.size();
    }
};

std::string text(const Internal::Stmt &s) {
    std::ostringstream out;
    out << s;
    return std::regex_replace(out.str(), std::regex("\\$[0-9]+"), "");
}

}  // namespace

TEST_CASE("passes over CUDA kernels", "[passes]") {
    std::map<std::string, Picture> pictures;
    for (const auto &make :
         {scale, last_vector, beside_edge, repeated_edge, reshaped, row_sum, copied_ahead, sum_in_steps, fused_rows, marked_rows}) {
        std::map<std::string, std::string> before;  // of a form
        for (const auto &run : passes_over(make)) {
            if (run.kernel == "small_mark") {
                continue;  // whose pictures would show nothing
            }
            const Picture now = {before[before.count(run.form) ? run.form : run.form == "dense" ? "vectors" : "elements"], text(run.after)};
            before[run.form] = now.after;
            Picture &smallest = pictures[run.pass];
            if (run.pass != halyard::kExtracted && now.before != now.after && (smallest.size() == 0 || now.size() < smallest.size())) {
                smallest = now;
            }
        }
    }
    for (const auto &pass : halyard::simt_passes()) {
        INFO(pass.name);
        REQUIRE(pictures.count(pass.name));
        const Picture &shown = pictures[pass.name];
        CHECK(shown.size() > 0);
        const std::string file = kPictures + pass.name + ".txt",
                          picture = counted_anew("# Before\n\n" + shown.before + "\n# After\n\n" + shown.after);
        if (std::getenv("HALYARD_UPDATE_GOLDEN")) {
            std::ofstream(file) << picture;
        }
        INFO("tests/lowering/passes/" << pass.name << ".txt; if the change is meant: HALYARD_UPDATE_GOLDEN=1 lowering_test \"[passes]\"");
        CHECK(picture == read_file(file));
    }
}

namespace {

// A product of numbers, of which the schedule or the caller says something.
void product_of_numbers(Small &s) {
    ImageParam w(Float(32), 1, "w");
    Func w_f("w_f"), sum("sum");
    RDom k(0, 4, "k");
    w_f(c) = w(c) * 2.0f;
    sum(r) += w_f(k) * s.a(k, r);
    s.y(r) = sum(r);
    s.y.split(r, block, thread, 32, TailStrategy::RoundUp).gpu_blocks(block).gpu_threads(thread);
    w_f.compute_at(s.y, thread).store_in(MemoryType::Register).unroll(c);
    sum.compute_at(s.y, thread).store_in(MemoryType::Register);
}

std::string with_wait(const halyard::BeforeWait &inputs, const std::function<void(Small &)> &make) {
    const Runs runs = passes_over([&](Small &s) {
        make(s);
        s.schedule.before_wait = inputs;
    });
    const auto last = std::find_if(runs.begin(), runs.end(), [](const auto &r) { return r.pass == "wait_for_last"; });
    REQUIRE(last != runs.end());
    return text(last->after);
}

// Whether these stand in the text in that order, and each for the first time there.
bool in_order(const std::string &text, const std::vector<std::string> &parts) {
    size_t before = 0;
    for (const auto &part : parts) {
        const size_t at = text.find(part);
        if (at == std::string::npos || at < before) {
            return false;
        }
        before = at;
    }
    return true;
}

}  // namespace

TEST_CASE("what a kernel does before it waits for the last one", "[passes]") {
    const std::string wait = "halyard_wait_for_last()";
    const std::string plain = with_wait({}, product_of_numbers);
    INFO(plain);
    CHECK(in_order(plain, {wait, "halyard_start_next()", "w["}));
    CHECK(in_order(plain, {wait, "a["}));

    const std::string constant = with_wait({{}, {"w"}}, product_of_numbers);
    INFO(constant);
    CHECK(in_order(constant, {"w[", wait, "a["}));

    CHECK(in_order(constant, {"halyard_start_next()", "w[", wait}));
    const std::string behind = with_wait({{}, {"w"}, false}, product_of_numbers);
    INFO(behind);
    CHECK(in_order(behind, {"w[", wait, "halyard_start_next()", "a["}));

    const std::string all = with_wait({{}, {"w", "a"}}, product_of_numbers);
    INFO(all);
    CHECK(in_order(all, {"w[", "a[", wait, "y["}));  // what others may read is stored behind it

    const std::string prefetched = with_wait({{{"a", 2}}, {}}, product_of_numbers);
    INFO(prefetched);
    CHECK(in_order(prefetched, {"halyard_prefetch_l2((float32)a[", wait, "w["}));
    CHECK(prefetched.find("halyard_prefetch_l2((float32)w[") == std::string::npos);
}

// The compiler moves loads of arrays that are said to be nobody else's over the wait, to either side.
TEST_CASE("a kernel that waits in its midst has loads in order", "[passes]") {
    using namespace Internal;
    const auto arrays_in_order = [](const std::set<std::string> &constant, const Type &of_w) {
        const auto load = [](const Type &type, const std::string &name) {
            return Load::make(type, name, 0, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
        };
        halyard::Kernel kernel;
        for (const char *name : {"w", "a", "y"}) {
            kernel.arguments.emplace_back();
            kernel.arguments.back().name = name;
            kernel.arguments.back().is_buffer = true;
            kernel.arguments.back().is_written = name == std::string("y");
            kernel.arguments.back().type = name == std::string("w") ? of_w : Float(32);
        }
        const Expr product = cast<float>(Variable::make(of_w, "x")) * load(Float(32), "a");
        kernel.body = LetStmt::make("x", load(of_w, "w"), Store::make("y", product, 0, Parameter(), const_true(), ModulusRemainder()));
        halyard::wait_for_last(kernel, {{}, constant});
        return std::count_if(kernel.arguments.begin(), kernel.arguments.end(), [](const auto &a) { return a.is_in_order; });
    };
    CHECK(arrays_in_order({}, UInt(8)) == 0);
    CHECK(arrays_in_order({"w"}, UInt(8)) == 2);    // all but w, which nobody writes meanwhile
    CHECK(arrays_in_order({"w"}, Float(32)) == 3);  // and which y may be
}

TEST_CASE("what is placed by data is not asked for before the wait", "[passes]") {
    const auto gathered = [](Small &s) {
        ImageParam at(Int(32), 1, "at");
        s.y(r) = s.a(clamp(at(r), 0, 10), 0);
        s.y.split(r, block, thread, 32, TailStrategy::RoundUp).gpu_blocks(block).gpu_threads(thread);
    };
    const std::string s = with_wait({{{"a", 2}, {"at", 2}}, {}}, gathered);
    INFO(s);
    CHECK(in_order(s, {"halyard_prefetch_l2((int32)at[", "halyard_wait_for_last()"}));
    CHECK(s.find("halyard_prefetch_l2((float32)a[") == std::string::npos);
}

TEST_CASE("shared memory is not read before the wait", "[passes]") {
    const auto shared = [](Small &s) {
        Func copy("copy");
        copy(c, r) = s.a(c, r);
        s.y(c, r) = copy(c, r) + copy(c + 1, r);
        s.y.split(c, block, thread, 32, TailStrategy::RoundUp).gpu_blocks(block, r).gpu_threads(thread);
        copy.compute_at(s.y, block).store_in(MemoryType::GPUShared).gpu_threads(c);
    };
    const std::string s = with_wait({{}, {"a"}}, shared);
    INFO(s);
    CHECK(in_order(s, {"halyard_wait_for_last()", "a["}));
}

namespace {

// Sums of 16 columns by 8 rows over a depth of 16, of what threads (group, column / 2) and (group, row) have.
void warp_product(Small &s, int near_rows) {
    Var column("column"), lanes("lanes"), near("near"), rows("rows"), near_row("near_row"), group("group"), member("member");
    Func w("w"), x("x"), sum("sum");
    RDom k({{0, 4}, {0, 4}}, "k");
    w(member, group, column) = cast<bfloat16_t>(s.a(4 * group + member, column));
    x(member, group, r) = cast<bfloat16_t>(s.a(4 * group + member, r + 16));
    sum(r, column) += cast<float>(w(k.x, k.y, column)) * cast<float>(x(k.x, k.y, r));
    s.y(r, column, block) = sum(r, column);
    const auto of_sums = [&](Stage stage) {
        stage.split(r, rows, near_row, near_rows).split(column, lanes, near, 2);
        return stage.reorder(near_row, near, rows, lanes).gpu_threads(rows, lanes);
    };
    s.y.bound(r, 0, 8).bound(column, 0, 16).gpu_blocks(block);
    of_sums(s.y).unroll(near_row).unroll(near);
    sum.compute_at(s.y, block).store_in(MemoryType::Register);
    of_sums(sum);
    of_sums(sum.update(0)).reorder(k.x, near_row, near, k.y, rows, lanes);
    w.compute_at(s.y, block).store_in(MemoryType::Register).split(column, lanes, near, 2).reorder(member, near, group, lanes);
    w.reorder_storage(member, column, group).vectorize(member, 4).gpu_threads(group, lanes);
    x.compute_at(s.y, block).store_in(MemoryType::Register).reorder(member, group, r).vectorize(member, 4);
    x.reorder_storage(member, r, group).gpu_threads(group, r);
}

std::string after(const char *pass, const std::function<void(Small &)> &make) {
    const Runs runs = passes_over(make);
    const auto last = std::find_if(runs.begin(), runs.end(), [&](const auto &r) { return r.pass == std::string(pass); });
    REQUIRE(last != runs.end());
    return text(last->after);
}

}  // namespace

TEST_CASE("a sum of products over other threads' registers is one of the tensor cores", "[passes]") {
    const std::string products = after("keep_in_registers", [](Small &s) { warp_product(s, 2); });
    INFO(products);
    CHECK(products.find("halyard_multiply_in_warp") != std::string::npos);
    // Four rows a thread are not what the instruction gives it.
    std::string message;
    try {
        passes_over_or_throw([](Small &s) { warp_product(s, 4); });
    } catch (const Halide::Error &e) {
        message = e.what();
    }
    INFO(message);
    CHECK(message.find("split its loops as its consumer") != std::string::npos);
}

TEST_CASE("where a block of threads has all of its turns, clamps go with the conditions", "[passes]") {
    const std::string switched = after("unswitch_blocks", [](Small &s) {
        Func part("part");
        const Expr rows = s.a.dim(1).extent();
        RDom k({{0, 2}, {0, (rows + 63) / 64}}, "k");
        const Expr row = (k.y * 2 + k.x) * 32 + r;
        k.where(row < rows);
        part(c, r) += s.a(c, min(row, rows - 1));
        s.y(c, r, block) = part(c, r);
        s.y.bound(c, 0, 4).bound(r, 0, 32).vectorize(c).gpu_blocks(block).gpu_threads(r);
        part.compute_at(s.y, r).store_in(MemoryType::Register).vectorize(c, 4).update(0).vectorize(c, 4).unroll(k.x).never_partition_all();
    });
    INFO(switched);
    const size_t all = switched.find("if ("), others = switched.find("} else {");
    REQUIRE(others != std::string::npos);
    CHECK(switched.substr(all, others - all).find("min(") == std::string::npos);
    CHECK(switched.find("min(", others) != std::string::npos);
}

TEST_CASE("a loop with all of its turns has no conditions where rows are too few", "[passes]") {
    const std::string switched = after("unswitch_blocks", [](Small &s) {
        Func part("part");
        const Expr depth = s.a.dim(1).extent();
        RDom k({{0, 2}, {0, (depth + 15) / 16}}, "k");
        const Expr number = (k.y * 2 + k.x) * 8 + r % 8;
        k.where(number < depth);
        part(c, r) += s.a(c, min(number, depth - 1));
        s.y(c, r, block) = part(c, r);
        Var strip("strip"), row("row");
        s.y.bound(c, 0, 4).vectorize(c).split(r, strip, row, 32, TailStrategy::GuardWithIf).gpu_blocks(strip, block).gpu_threads(row);
        s.y.never_partition_all();
        part.compute_at(s.y, row)
            .store_in(MemoryType::Register)
            .vectorize(c, 4)
            .update(0)
            .vectorize(c, 4)
            .unroll(k.x)
            .never_partition_all();
    });
    INFO(switched);
    const size_t rows_too_few = switched.find("} else");
    REQUIRE(rows_too_few != std::string::npos);
    const size_t loop = switched.find("for (", rows_too_few), other_loop = switched.find("for (", loop + 1);
    REQUIRE(other_loop != std::string::npos);
    CHECK(switched.substr(loop, other_loop - loop).find("min(") == std::string::npos);
    CHECK(switched.find("min(", other_loop) != std::string::npos);
}
