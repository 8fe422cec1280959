// Parallel loops that become one: results, the number of loops and of their jobs, when memory is given back, and what is refused.

#include <catch2/catch.hpp>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <sstream>
#include <vector>

#include "kernel/kernel.h"
#include "lowering/host/parallel_jobs.h"
#include "lowering/host/side_by_side.h"
#include "tests/language/support.h"

using namespace Halide;
using namespace halyard;

namespace {

const Var col("col"), row("row"), job("job"), row_in_job("row_in_job");

std::vector<int> loops;  // how many jobs each parallel loop had

int count_jobs(JITUserContext *context, int (*task)(JITUserContext *, int, uint8_t *), int min, int size, uint8_t *closure) {
    loops.push_back(size);
    for (int i = min; i < min + size; i++) {
        if (const int result = task(context, i, closure)) {
            return result;
        }
    }
    return 0;
}

constexpr size_t kHead = 128;
std::map<void *, size_t> sizes;

void *allocate(JITUserContext *, size_t size) {
    void *memory = std::aligned_alloc(kHead, (size + kHead - 1) / kHead * kHead);
    sizes[memory] = size;
    return memory;
}

// Whoever reads it afterwards sees what he does; it is never really free.
void spoil(JITUserContext *, void *memory) {
    std::memset(memory, 0x77, sizes[memory]);
}

void in_jobs(Func &f, int rows) {
    f.split(row, job, row_in_job, rows, TailStrategy::GuardWithIf).parallel(job);
}

// Three outputs of one input. Some of what they need is computed before: `first` for a alone, `both` for a and c, `last` for c alone.
struct Outputs {
    ImageParam x{Int(32), 2, "x"};
    Func first{"first"}, both{"both"}, last{"last"}, a{"a"}, b{"b"}, c{"c"}, between{"between"}, d{"d"};

    Outputs() {
        first(col, row) = x(col, row) + 1;
        both(col, row) = x(col, row) * 3;
        last(col, row) = x(col, row) - 5;
        a(col, row) = first(col, row) * both(col, row);
        b(col, row) = x(col, row) + 2;
        c(col, row) = both(col, row) - last(col, row);
        between(col, row) = a(col, row) * 7;
        d(col, row) = between(col, row) + last(col, row);
    }

    void schedule() {
        for (Func *f : {&first, &both, &last}) {
            f->compute_root();
        }
        Func many = a;
        Stage wide = many.specialize(a.output_buffer().dim(1).extent() >= 8);
        wide.split(row, job, row_in_job, 4, TailStrategy::GuardWithIf).parallel(job);
        Stage even = many.specialize(a.output_buffer().dim(1).extent() % 2 == 0);
        even.split(row, job, row_in_job, 2, TailStrategy::GuardWithIf).parallel(job);
        a.parallel(row);
        in_jobs(b, 3);
        in_jobs(c, 5);
    }

    SideBySide group(const std::vector<Func> &funcs = {}) const {
        SideBySide g;
        for (const Func &f : funcs.empty() ? std::vector<Func>{a, b, c} : funcs) {
            g.funcs.push_back(f.function());
            g.names.push_back(f.name().substr(0, f.name().find('$')));
        }
        g.fail = [](const std::string &message) { throw std::runtime_error(message); };
        return g;
    }
};

// What is wrong with the schedule; "" for nothing.
std::string refused(const std::function<std::vector<Func>(Outputs &)> &change, bool with_d = false) {
    Outputs o;
    o.schedule();
    const std::vector<Func> funcs = change(o);
    std::vector<Func> outputs = {o.a, o.b, o.c};
    if (with_d) {
        outputs.push_back(o.d);
    }
    Pipeline p(outputs);
    p.add_custom_lowering_pass(put_side_by_side(o.group(funcs)).release());
    std::string message;
    try {
        p.compile_to_module({o.x}, "side_by_side", get_host_target());
    } catch (const std::runtime_error &e) {
        message = e.what();
    } catch (const Error &e) {
        message = e.what();
    }
    return message;
}

std::string projections(bool side_by_side, bool tiles) {
    return std::string("local gemm = require 'lib.gemm'\n"
                       "return schedule 'qkv_projection' { target = 'cpu', generator = { weights = 'packed', panel = 32 },\n"
                       "  apply = function(k, p, target)\n"
                       "    for _, f in ipairs { { k.q, k.acc_q }, { k.k, k.acc_k }, { k.v, k.acc_v } } do\n"
                       "      f[1]:dim(0):set_min(0)\n"
                       "      gemm.register_tiles(f[1], f[2], gemm.packed(target, k.x, k.x_f, {\n"
                       "        shared = true, m = f[1]:dim(1):extent(), panel = 32, task = 2, tiles = '") +
           (tiles ? "always" : "never") + "' }))\n    end\n" + (side_by_side ? "    k.q:side_by_side(k.k, k.v)\n" : "") + "  end }\n";
}

std::vector<std::vector<double>> call(const CompiledKernel &kernel, int m, int n_q, int n_kv, int depth, int group, int threads) {
    KernelArguments a(kernel);
    a.buffer("x", {{depth, m}}).fill_random(1);
    const auto weights = [&](const char *name, int n, int seed) {
        a.buffer(name, {{group, 32, (depth + group - 1) / group, (n + 31) / 32}}).fill_random(seed);
    };
    weights("w_q_packed", n_q, 2);
    weights("w_k_packed", n_kv, 3);
    weights("w_v_packed", n_kv, 4);
    HostBuffer *out[] = {&a.buffer("q", {{n_q, m}}), &a.buffer("k", {{n_kv, m}}), &a.buffer("v", {{n_kv, m}})};
    kernel.set_threads(threads);
    const CallResult r = kernel.call(a);
    INFO(r.message);
    REQUIRE(r.ok());
    std::vector<std::vector<double>> values;
    for (HostBuffer *y : out) {
        CHECK(y->surroundings_intact());
        values.push_back(y->values());
    }
    return values;
}

size_t count(const std::string &text, const std::string &what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        n++;
    }
    return n;
}

}  // namespace

TEST_CASE("outputs side by side are what they were, and one parallel loop has the jobs of all", "[side_by_side]") {
    for (const int rows : {1, 2, 6, 7, 8, 23}) {
        INFO(rows << " rows");
        Outputs o;
        o.schedule();
        Pipeline p({o.a, o.b, o.c});
        p.add_custom_lowering_pass(put_side_by_side(o.group()).release());
        p.jit_handlers().custom_do_par_for = count_jobs;
        p.jit_handlers().custom_malloc = allocate;
        p.jit_handlers().custom_free = spoil;
        const int cols = 9, rows_b = rows + 4;
        Buffer<int> x(cols, 40), a(cols, rows), b(cols - 2, rows_b), c(cols - 5, rows);
        x.for_each_element([&](int i, int j) { x(i, j) = 100 * j + i; });
        a.set_min(0, 3);
        o.x.set(x);
        loops.clear();
        p.realize({a, b, c});
        const int jobs_of_a = rows >= 8 ? (rows + 3) / 4 : rows % 2 == 0 ? rows / 2 : rows;
        CHECK(loops == std::vector<int>{jobs_of_a + (rows_b + 2) / 3 + (rows + 4) / 5});
        int wrong = 0;
        a.for_each_element([&](int i, int j) { wrong += a(i, j) != (x(i, j) + 1) * (x(i, j) * 3); });
        b.for_each_element([&](int i, int j) { wrong += b(i, j) != x(i, j) + 2; });
        c.for_each_element([&](int i, int j) { wrong += c(i, j) != x(i, j) * 3 - (x(i, j) - 5); });
        CHECK(wrong == 0);
    }
}

// Outputs of a byte, of which nothing is stored: the memory is never touched.
TEST_CASE("more jobs than a loop can count are an error of the call", "[side_by_side]") {
    Func a("a"), b("b");
    const Var i("i");
    a(i) = cast<uint8_t>(1);
    b(i) = cast<uint8_t>(2);
    a.parallel(i);
    b.parallel(i);
    Pipeline p({a, b});
    p.add_custom_lowering_pass(
        put_side_by_side({{a.function(), b.function()}, {"a", "b"}, [](const std::string &m) { throw std::runtime_error(m); }}).release());
    p.jit_handlers().custom_do_par_for = count_jobs;
    static std::string said;
    p.jit_handlers().custom_error = [](JITUserContext *, const char *text) { said = text; };
    constexpr int kMany = 1 << 30;
    uint8_t nothing = 0;  // no job runs
    Buffer<uint8_t> x(&nothing, kMany), y(&nothing, kMany);
    loops.clear();
    p.realize({x, y});
    CHECK_THAT(said, Catch::Contains("a and b have 2147483648 jobs side by side"));
    CHECK(loops.empty());
}

TEST_CASE("two groups, and a loop of one turn, which Halide leaves out", "[side_by_side]") {
    Outputs o;
    o.schedule();
    o.first.parallel(row);
    o.both.split(row, job, row_in_job, 1000, TailStrategy::GuardWithIf).parallel(job);
    o.a.output_buffer().dim(1).set_bounds(0, 16);
    for (Func *f : {&o.b, &o.c}) {
        f->output_buffer().dim(1).set_bounds(0, 16);
    }
    Pipeline p({o.a, o.b, o.c});
    p.add_custom_lowering_pass(put_side_by_side(o.group({o.c, o.a})).release());
    p.add_custom_lowering_pass(put_side_by_side(o.group({o.first, o.both})).release());
    p.jit_handlers().custom_do_par_for = count_jobs;
    Buffer<int> x(8, 16), a(8, 16), b(8, 16), c(8, 16);
    x.for_each_element([&](int i, int j) { x(i, j) = 10 * j - i; });
    o.x.set(x);
    loops.clear();
    p.realize({a, b, c});
    CHECK(loops == std::vector<int>{16 + 1, 6, 4 + 4});
    int wrong = 0;
    x.for_each_element([&](int i, int j) {
        const int v = x(i, j);
        wrong += a(i, j) != (v + 1) * v * 3 || b(i, j) != v + 2 || c(i, j) != 2 * v + 5;
    });
    CHECK(wrong == 0);
}

TEST_CASE("rows that an index names stand beside an output, and the others stay as they were", "[side_by_side]") {
    ImageParam x(Int(32), 2, "x"), to(Int(32), 1, "to");
    Func plain("plain"), rows("rows"), twice("twice");
    const Expr last = x.dim(1).extent() - 1;
    const RDom r(0, x.dim(1).extent(), "r");
    const Expr place = to(min(r, last));  // tails of splits ask for it before they are left out
    RDom stored = r;
    stored.where(place >= 0);
    plain(col, row) = x(col, row) + 1;
    rows(col, row) = undef<int>();
    rows(col, clamp(place, 0, last)) = x(col, stored) * 3;
    rows.update(0).allow_race_conditions();
    twice(col, row) = undef<int>();
    twice(col, clamp(place, 0, last)) = 1;
    twice(col, clamp(place, 0, last)) += 1;
    CHECK(only_stage(plain.function()) == &plain.function().definition());
    CHECK(only_stage(rows.function()) == &rows.function().update(0));
    CHECK(only_stage(twice.function()) == nullptr);

    in_jobs(plain, 3);
    RVar in_job("in_job"), of_rows("of_rows");
    rows.update(0).split(r, of_rows, in_job, 4, TailStrategy::GuardWithIf).reorder(col, in_job, of_rows).parallel(of_rows);
    Pipeline p({plain, rows});
    SideBySide group{{plain.function(), rows.function()}, {"plain", "rows"}, [](const std::string &m) { throw std::runtime_error(m); }};
    p.add_custom_lowering_pass(put_side_by_side(group).release());
    p.jit_handlers().custom_do_par_for = count_jobs;
    constexpr int kCols = 5, kRows = 11, kKept = -77;
    Buffer<int> in(kCols, kRows), index(kRows), a(kCols, kRows), b(kCols, kRows);
    in.for_each_element([&](int i, int j) { in(i, j) = 10 * j + i; });
    index.for_each_element([&](int j) { index(j) = j % 3 == 1 ? -1 : (j * 4) % kRows; });
    b.fill(kKept);
    x.set(in);
    to.set(index);
    loops.clear();
    p.realize({a, b});
    CHECK(loops == std::vector<int>{(kRows + 2) / 3 + (kRows + 3) / 4});
    std::vector<int> from(kRows, -1);
    for (int j = 0; j < kRows; j++) {
        if (index(j) >= 0) {
            from[size_t(index(j))] = j;
        }
    }
    int wrong = 0;
    in.for_each_element([&](int i, int j) {
        const int source = from[size_t(j)];
        wrong += a(i, j) != in(i, j) + 1 || b(i, j) != (source < 0 ? kKept : 3 * in(i, source));
    });
    CHECK(wrong == 0);
}

TEST_CASE("two cases may have one name for different numbers of jobs", "[side_by_side]") {
    using namespace Halide::Internal;
    const Expr n = Variable::make(Int(32), "n"), many = Variable::make(Bool(), "many");
    const auto jobs = [&](const Expr &number) {
        return LetStmt::make("n", number,
                             For::make("f.s0.row", 2, n, ForType::Parallel, Partition::Auto, DeviceAPI::None, AssertStmt::make(n > 0, n)));
    };
    const Expr loaded = Load::make(Int(32), "x", 0, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
    for (const bool data : {false, true}) {  // a definition that loads stays under its condition
        Definitions common;
        ParallelJobs both = jobs_of(IfThenElse::make(many, jobs(5), jobs(data ? loaded : Expr(7))), "job", common);
        REQUIRE(both.count.defined());
        CHECK(common.size() == (data ? 1 : 2));
        for (auto d = common.rbegin(); d != common.rend(); ++d) {
            both.count = substitute(d->first, d->second, both.count);
        }
        CHECK(is_const(simplify(substitute("many", const_true(), both.count)), 5));
        std::ostringstream few;
        few << simplify(substitute_in_all_lets(simplify(substitute("many", const_false(), both.count))));
        CHECK(few.str() == (data ? "max((int32)x[0], 0)" : "7"));
    }
}

TEST_CASE("what cannot be one parallel loop is refused", "[side_by_side]") {
    CHECK(refused([](Outputs &) { return std::vector<Func>(); }) == "");
    CHECK(refused([](Outputs &o) {
              o.b.serial(job);
              return std::vector<Func>();
          }) == "the outermost loop of b is not parallel, or that of one of its specialisations: say parallel() of it");
    CHECK(refused([](Outputs &o) {
              o.b.specialize(o.x.dim(0).extent() > 4).serial(job);
              return std::vector<Func>();
          }) == "the outermost loop of b is not parallel, or that of one of its specialisations: say parallel() of it");
    CHECK(refused([](Outputs &o) {
              o.first.compute_at(o.a, col).parallel(row);
              return std::vector<Func>{o.first, o.b};
          }) == "first is computed in a loop, under a condition or by a thread of its own: say compute_root() of it, and not async()");
    CHECK(refused([](Outputs &o) {
              o.d.parallel(row);  // no output here
              return std::vector<Func>{o.a, o.d};
          }) == "not all of these Funcs are computed");
    CHECK(refused([](Outputs &o) {
              o.first.compute_at(o.a, Var::outermost()).parallel(row);
              return std::vector<Func>();
          }) == "the loops of a are not one parallel loop: something is computed around it or beside it");
    CHECK(refused(
              [](Outputs &o) {
                  o.between.compute_root();
                  o.d.parallel(row);
                  return std::vector<Func>{o.a, o.b, o.d};
              },
              true) == "what is computed before the last of these Funcs needs a: leave that out");
}

TEST_CASE("a script that puts what is not parallel side by side is told so, with its line", "[side_by_side]") {
    const TempDir dir;
    GenerateRequest request;
    request.op = "qkv_projection";
    request.target = "avx2";
    request.schedule = dir.write("s.lua", "return schedule 'qkv_projection' { target = 'cpu', apply = function(k)\n"
                                          "  k.q:parallel 'row'\n"
                                          "  k.v:parallel 'row'\n"
                                          "  k.q:side_by_side(k.k, k.v)\n"
                                          "end }\n");
    CHECK_THROWS_WITH(CompiledKernel::build(request),
                      Catch::Contains("s.lua:4: error: side_by_side: the outermost loop of k is not parallel"));
    request.schedule = dir.write("s.lua", "return schedule 'qkv_projection' { target = 'cpu', apply = function(k)\n"
                                          "  k.q:side_by_side(k.k)\n"
                                          "  k.k:side_by_side(k.v)\n"
                                          "end }\n");
    CHECK_THROWS_WITH(CompiledKernel::build(request), Catch::Contains("s.lua:3: error: side_by_side: was said of k before"));
}

TEST_CASE("projections side by side are the same to the bit, on vectors and by tiles", "[side_by_side]") {
    const TempDir dir;
    for (const bool tiles : {false, true}) {
        for (const std::string type : {"float32", "bfloat16"}) {
            GenerateRequest request;
            request.op = "qkv_projection";
            request.target = "avx2";
            request.params["type"] = type;
            request.schedule = dir.write("one.lua", projections(true, tiles));
            const CompiledKernel one = CompiledKernel::build(request);
            request.schedule = dir.write("three.lua", projections(false, tiles));
            const CompiledKernel three = CompiledKernel::build(request);
            const int group = type == "float32" ? 1 : 2;
            for (const auto &[m, n_q, n_kv, depth] : {std::tuple(1, 96, 33, 20), {5, 31, 1, 7}, {67, 100, 64, 33}, {13, 32, 97, 4}}) {
                INFO(type << (tiles ? " by tiles, " : ", ") << m << " rows, " << n_q << " and " << n_kv << " columns");
                const auto expected = call(three, m, n_q, n_kv, depth, group, 1);
                CHECK((call(one, m, n_q, n_kv, depth, group, 1) == expected));
                CHECK((call(one, m, n_q, n_kv, depth, group, 3) == expected));
            }
        }
    }
}

TEST_CASE("the projections that ship are one parallel loop", "[side_by_side]") {
    for (const std::string op : {"qkv_projection", "qkv_projection_int8"}) {
        for (const std::string target : {"avx2", "avx512_sapphirerapids"}) {
            const TempDir dir;
            const Finished f =
                run_program({HALYARD_COMMAND, "build", op, "--quiet", "-o", dir.path(), "--target", target, "--emit", "stmt"});
            INFO(op << " " << target << "\n" << f.err);
            REQUIRE(f.exit_code == 0);
            // Behind those of the jobs, which may be functions of their own.
            const std::string text = read_file(dir.path() + "/" + op + ".stmt");
            const size_t begin = text.find("external_plus_metadata func " + op + " (");
            REQUIRE(begin != std::string::npos);
            CHECK(count(text.substr(begin), "halide_do_par_for(") == 1);
        }
    }
}
