// What Halide's autoschedulers make, and a generator itself, in words: the loops are the same, and so is what Halide makes of them.

#include <algorithm>
#include <regex>
#include <set>

#include <catch2/catch.hpp>

#include "explore/measure/measurer.h"
#include "explore/space/halide.h"
#include "kernel/json_text.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "explore/space/query.h"
#include "kernel/registry.h"
#include "kernel/text.h"

using namespace halyard;
using namespace halyard::explore;

namespace {

struct Lowered {
    std::vector<std::string> nest;        // without names
    std::vector<std::string> statements;  // of Halide's IR, without names, sorted
};

// Halide orders some things by their names; keywords, numbers and operators are left.
std::vector<std::string> without_names(const std::string &ir) {
    static const std::set<std::string> kept = {
        "allocate",          "else", "for", "if", "let", "max", "min", "parallel", "predicate", "ramp", "select", "stack",
        "vector_reduce_add", "while"};
    static const std::regex name("[A-Za-z_][A-Za-z0-9_$.]*");
    std::vector<std::string> lines;
    for (const auto &line : split(ir, '\n')) {
        std::string text;
        size_t end = 0;
        for (auto n = std::sregex_iterator(line.begin(), line.end(), name); n != std::sregex_iterator(); ++n) {
            text += line.substr(end, size_t(n->position()) - end) + (kept.count(n->str()) ? n->str() : "?");
            end = size_t(n->position() + n->length());
        }
        text += line.substr(end);
        std::sort(text.begin(), text.end());  // terms of a sum, too, are in the order of their names
        lines.push_back(text);
    }
    std::sort(lines.begin(), lines.end());
    return lines;
}

Lowered lowered(const Task &task, const std::string &lua) {
    const TemporaryDirectory work(temporary_root());
    const std::string script = work.path() + "/script.lua", report = work.path() + "/report.json";
    write_file(script, lua);
    std::vector<std::string> command = {task.generator.empty() ? paths().generators : task.generator,
                                        "-g",
                                        task.op,
                                        "-f",
                                        task.op,
                                        "-n",
                                        "out",
                                        "-o",
                                        work.path(),
                                        "-e",
                                        "stmt",
                                        "-p",
                                        paths().plugin,
                                        "target=" + task.target};
    for (const auto &p : task.params) {
        command.push_back(p.first + "=" + p.second);
    }
    command.insert(command.end(), {"autoscheduler=Lua", "autoscheduler.script=" + script, "autoscheduler.report=" + report});
    const ProcessResult r = run_process(command, {});
    INFO(lua << "\n" << r.err);
    REQUIRE(r.ok());
    Lowered l;
    l.nest = nest_without_names(halyard::parse_json(read_file(report)).at("nest"));
    l.statements = without_names(read_file(work.path() + "/out.stmt"));
    return l;
}

// The script that calls the autoscheduler, which the words are held against.
std::string call_of(const Task &task, const std::string &scheduler) {
    const Description d = describe_pipeline(task, {});
    std::string sizes, output;
    for (const auto &[name, extents] : d.sizes) {
        std::string text;
        for (const int64_t e : extents) {
            text += (text.empty() ? "" : "x") + std::to_string(e);
        }
        sizes += (sizes.empty() ? "" : ",") + name + ":" + text;
    }
    for (const auto &f : d.funcs) {
        output = f.second.output ? f.first : output;
    }
    return "return schedule \"" + task.op + "\" { target = \"cpu\", apply = function(k) k[\"" + output + "\"]:autoschedule(\"" + scheduler +
           "\", \"" + sizes + "\", " + std::to_string(task.threads) + ") end }\n";
}

Task of_op(const std::string &op, Dims shape, Assignments params = {}) {
    Task t;
    t.op = op;
    t.shape = std::move(shape);
    t.params = std::move(params);
    t.target = "x86-64-linux-avx2-fma-f16c";
    t.threads = 2;
    t.limits.build_seconds = 400;  // Adams2019 takes its time for a convolution
    return t;
}

Task of_generator(const std::string &name) {
    Task t = of_op(name, {});
    t.generator = std::string(HALYARD_EXPLORE_GENERATORS) + "/" + name + ".generator";
    return t;
}

void check_words(const Task &task, const std::vector<std::string> &schedulers) {
    for (const auto &scheduler : schedulers) {
        INFO(task.op << " " << scheduler);
        const HalideSchedule s = halide_schedule(task, scheduler);
        INFO(s.candidate.lua);
        CHECK(s.problem == "");
        CHECK(s.candidate.origin == scheduler);
        CHECK(s.candidate.lua.find("autoschedule(") == std::string::npos);
        const Lowered theirs = lowered(task, call_of(task, scheduler)), ours = lowered(task, s.candidate.lua);
        CHECK(theirs.nest.size() > 2);
        CHECK(theirs.nest == ours.nest);
        CHECK(theirs.statements == ours.statements);
    }
}

void check_words(const Task &task) {
    check_words(task, halide_schedulers(task));
}

}  // namespace

TEST_CASE("what Halide's autoschedulers make is said in words: softmax", "[halide]") {
    check_words(of_op("softmax", {{"rows", 64}, {"cols", 1024}}));
}

TEST_CASE("what Halide's autoschedulers make is said in words: rms_norm", "[halide]") {
    check_words(of_op("rms_norm", {{"rows", 64}, {"cols", 1024}}));
}

TEST_CASE("what Halide's autoschedulers make is said in words: gemm", "[halide]") {
    check_words(of_op("gemm", {{"m", 128}, {"n", 128}, {"k", 128}}));
}

TEST_CASE("what Halide's autoschedulers make is said in words: a sum in parts", "[halide]") {
    // Of one row, and of few: Li2018 sums up in parts.
    for (const int64_t rows : {1, 4}) {
        const Task task = of_op("softmax", {{"rows", rows}, {"cols", 1000}});
        check_words(task);
        CHECK(halide_schedule(task, "Li2018").candidate.lua.find(":rfactor(") != std::string::npos);
    }
}

TEST_CASE("what Halide's autoschedulers make is said in words: a Func stored for one reader only", "[halide]") {
    const Task task = of_op("cross_entropy", {{"rows", 4}, {"cols", 1000}});
    check_words(task);
    CHECK(halide_schedule(task, "Li2018").candidate.lua.find(":clone_in(") != std::string::npos);
}

TEST_CASE("what Halide's autoschedulers make is said in words: conv2d", "[halide_conv2d]") {
    Dims shape = find_op("conv2d").shapes.front();
    for (auto &d : shape) {
        d.second = std::min<int64_t>(d.second, 16);
    }
    // Not Adams2019, which would take most of the time of this test.
    check_words(of_op("conv2d", shape), {"Mullapudi2016", "Li2018"});
}

TEST_CASE("what Halide's autoschedulers make is said in words: generators that no registry knows", "[halide]") {
    for (const char *name : {"blur", "unsharp"}) {
        check_words(of_generator(name));
    }
}

TEST_CASE("nests that differ in more than names are told apart", "[halide]") {
    const Task task = of_op("softmax", {{"rows", 64}, {"cols", 1024}});
    const std::string lua = halide_schedule(task, "Adams2019").candidate.lua;
    CHECK(halide_schedule(task, "Adams2019").candidate.lua == lua);  // the same text each time
    const size_t parallel = lua.find(":parallel \"row\"");
    REQUIRE(parallel != std::string::npos);
    std::string serial = lua;
    serial.erase(parallel, std::string(":parallel \"row\"").size());
    const Lowered a = lowered(task, lua), b = lowered(task, serial);
    CHECK(a.nest != b.nest);
    CHECK(a.statements != b.statements);
    // A name is no difference.
    std::string renamed = lua;
    for (size_t at = renamed.find("\"row_tile\""); at != std::string::npos; at = renamed.find("\"row_tile\"")) {
        renamed.replace(at, 10, "\"r2\"");
    }
    REQUIRE(renamed != lua);
    const Lowered c = lowered(task, renamed);
    CHECK(a.nest == c.nest);
    CHECK(a.statements == c.statements);
}

TEST_CASE("what a generator schedules itself is said in words", "[own]") {
    for (const std::string form : {"strips", "clone", "promised"}) {
        INFO(form);
        Task task = of_generator("own_strips");
        task.params["form"] = form;
        const OwnSchedule s = own_schedule(task);
        INFO(s.lua);
        REQUIRE(s.problem == "");
        CHECK((s.lua.find(":clone_in(") != std::string::npos) == (form == "clone"));
        CHECK((s.lua.find(":set_extent(520)") != std::string::npos) == (form == "promised"));
        CHECK(s.lua.find(":update(0):reorder(") != std::string::npos);
        const Lowered ours = lowered(task, s.lua);
        CHECK(ours.nest.size() > 10);
        CHECK(ours.nest != lowered(task, call_of(task, "Mullapudi2016")).nest);
        // Both compute the same, the one as its C++ says it.
        Measurer measurer(task);
        Candidate words;
        words.lua = s.lua;
        for (const Candidate &c : {own_candidate(), words}) {
            const Measured m = measurer.measure(c);
            INFO(m.message);
            CHECK(m.ok());
        }
    }
}

TEST_CASE("what has no words, and what is no schedule of a generator, is said", "[own]") {
    Task task = of_generator("own_strips");
    for (const std::string form : {"specialised", "always"}) {
        task.params["form"] = form;
        const OwnSchedule s = own_schedule(task);
        CHECK(s.lua == "");
        CHECK(s.problem.find("there are no words for ") == 0);
    }
    task.params["form"] = "nothing";
    CHECK_THROWS_WITH(own_schedule(task), Catch::Contains("schedules nothing itself"));
    CHECK_THROWS_WITH(own_schedule(of_op("softmax", {{"rows", 4}, {"cols", 64}})), Catch::Contains("`halyard list softmax` names"));
    task.target = "x86-64-linux-cuda";
    CHECK_THROWS_WITH(own_schedule(task), Catch::Contains("own is for the host"));
}
