// A search ends when it said it would, and its last line, its report and the database name the same schedule.

#include <chrono>
#include <regex>

#include <catch2/catch.hpp>

#include "explore/store/database.h"
#include "kernel/json_text.h"
#include "tests/command/support.h"

using namespace halyard::explore;

namespace {

std::string last_line(const std::string &text) {
    const auto lines = halyard::split(text, '\n');
    return lines.empty() ? "" : lines.back();
}

}  // namespace

TEST_CASE("A search keeps its budget, and says who won", "[budget]") {
    const Folder folder;
    const std::string db = folder / "s.db", report = folder / "report.json";
    // What is measured of a machine once is no part of it.
    run({"explain", "softmax", "--shape", "rows=8,cols=64", "--count", "--threads", "1"});
    constexpr double kBudget = 12;
    // What an estimate misses: a batch that takes longer than those before, on a machine with other tests beside it.
    constexpr double kSlack = 18;
    const auto begin = std::chrono::steady_clock::now();
    const ProcessResult r = run({"explore", "softmax", "--shape", "rows=16,cols=1024", "--threads", "1", "--budget", "12s", "--db", db,
                                 "-o", folder / "best.lua", "--report", report});
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    INFO(r.out << r.err);
    REQUIRE(r.ok());
    CHECK(seconds < kBudget + kSlack);

    // One sentence, the last: who won, or that nobody did, with the record.
    const std::string sentence = last_line(r.err);
    CHECK(std::regex_match(sentence, std::regex("softmax: (the search won: |the search did not win: |a tie).* The best is db:[0-9a-f]{16} "
                                                "\\(.*\\)\\.|softmax: a tie: the best is what ships, db:.*")));
    CHECK(contains(sentence, "softmax"));
    const nlohmann::json j = halyard::parse_json(read_file(report));
    CHECK(contains(sentence, "db:" + j.at("best").get<std::string>()));
    CHECK(j.at("outcome") == sentence);
    REQUIRE(j.at("beside").size() >= 1);  // what ships
    CHECK(j.at("beside")[0].at("in_turns") == true);
    CHECK(j.at("beside")[0].contains("tie"));

    const nlohmann::json known = run_json({"db", "list", "softmax", "--best", "1", "--json", "--db", db});
    REQUIRE(known.size() == 1);
    const ProcessResult listed = run({"db", "list", "softmax", "--best", "1", "--db", db});
    CHECK(contains(listed.out, j.at("best").get<std::string>()));
    CHECK(contains(listed.out, "the best, in turns"));
}

TEST_CASE("What a search chose comes first, until something faster is measured", "[budget]") {
    const Folder folder;
    Database database(folder / "s.db");
    Task task;
    task.op = "softmax";
    task.shape = {{"rows", 16}, {"cols", 1024}};
    const auto record = [&](const std::string &name, double seconds) {
        Candidate c;
        c.lua = "-- " + name + "\nreturn schedule \"softmax\" { target = \"cpu\", apply = function(k) end }\n";
        Measured m;
        m.status = Status::kOk;
        m.least = m.median = seconds;
        database.record(task, c, m);
        return c;
    };
    const Candidate fast = record("fast", 10e-6), chosen = record("chosen", 11e-6);
    CHECK(database.best(task)[0].candidate.id() == fast.id());
    database.choose(task, chosen);
    CHECK(database.best(task)[0].candidate.id() == chosen.id());
    CHECK(database.best(task)[0].chosen);
    CHECK(database.best(task, 2)[1].candidate.id() == fast.id());
    record("slow", 20e-6);
    CHECK(database.best(task)[0].candidate.id() == chosen.id());
    const Candidate faster = record("faster", 9e-6);
    CHECK(database.best(task)[0].candidate.id() == faster.id());
}

TEST_CASE("Halide's autoschedulers and pipelines of many stages keep the budget", "[budget]") {
    const Folder folder;
    run({"explain", "softmax", "--shape", "rows=8,cols=64", "--count", "--threads", "1"});  // measures the machine, once
    constexpr double kBudget = 15, kSlack = 18;
    const auto begin = std::chrono::steady_clock::now();
    const ProcessResult r = run({"explore", "stencil_chain", "--generator", HALYARD_EXPLORE_GENERATORS "/stencil_chain.generator",
                                 "--param", "stages=4", "--shape", "smooth=256x256", "--threads", "1", "--budget", "15s", "--halide",
                                 "--db", folder / "s.db", "-o", folder / "best.lua"});
    INFO(r.out << r.err);
    CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < kBudget + kSlack);
    CHECK(r.ok());
    CHECK(contains(r.err, "Halide's "));
}

TEST_CASE("What was found is written when a signal comes", "[budget]") {
    const Folder folder;
    const std::string db = folder / "s.db", best = folder / "best.lua";
    // As soon as something is known.
    const ProcessResult r =
        run_shell("\"$halyard\" explore softmax --shape rows=16,cols=1024 --threads 1 --budget 10m --db " + db + " -o " + best +
                  " & p=$!; for i in $(seq 600); do \"$halyard\" db list softmax --db " + db +
                  " 2>/dev/null | grep -q us && break; sleep 0.1; done; sleep 3; kill -TERM $p; wait $p; echo \"ended $?\"");
    INFO(r.out << r.err);
    CHECK(contains(r.out, "ended 143\n"));
    CHECK(contains(r.err, "softmax: interrupted: "));
    CHECK(contains(read_file(best), "return schedule \"softmax\""));
    CHECK(names_in(folder.path()) == Arguments{"best.lua", "s.db"});
}

TEST_CASE("What a generator schedules itself is timed beside what is found, and is no record", "[budget]") {
    const Folder folder;
    const std::string generator = std::string(HALYARD_EXPLORE_GENERATORS) + "/own_strips.generator", db = folder / "s.db",
                      report = folder / "report.json";
    run({"explain", "softmax", "--shape", "rows=8,cols=64", "--count", "--threads", "1"});
    // One without words takes part as well.
    const ProcessResult r = run({"explore",  "own_strips", "--generator", generator, "--param",  "form=specialised",
                                 "--beside", "own",        "--threads",   "1",       "--budget", "25s",
                                 "--most",   "3",          "--db",        db,        "-o",       folder / "best.lua",
                                 "--report", report});
    INFO(r.out << r.err);
    REQUIRE(r.ok());
    CHECK(contains(r.err, "the generator's own schedule"));
    const nlohmann::json j = halyard::parse_json(read_file(report)), own = j.at("beside").at(0);
    CHECK(own.at("own") == true);
    CHECK(own.at("in_turns") == true);
    CHECK(own.at("ratio").get<double>() > 0);
    const std::string known = run_json({"db", "list", "own_strips", "--all", "--json", "--db", db}).dump();
    CHECK(contains(known, "own_strips"));
    CHECK_FALSE(contains(known, own.at("id").get<std::string>()));
    // Where it is the fastest, a build without a schedule takes it.
    if (j.at("best") == own.at("id")) {
        CHECK(contains(last_line(r.err), "The best is what a build without a schedule takes"));
    }

    const ProcessResult none = run({"explore", "own_strips", "--generator", generator, "--param", "form=nothing", "--beside", "own"});
    CHECK(none.exit_code == 1);
    CHECK(contains(none.err, "schedules nothing itself"));
    const ProcessResult of_registry = run({"explore", "softmax", "--beside", "own"});
    CHECK(of_registry.exit_code == 2);
    CHECK(contains(of_registry.err, "own is what a --generator schedules itself"));
    const ProcessResult compared =
        run({"explore", "own_strips", "--generator", generator, "--param", "form=specialised", "--compare", "own"});
    CHECK(contains(compared.err, "its own schedule is not in words: there are no words for specialisations"));
}
