// The search with a made-up clock: it finds the best of what it knows, the same way each time.

#include <algorithm>

#include <catch2/catch.hpp>

#include "kernel/registry.h"
#include "explore/space/open_call.h"
#include "explore/space/query.h"
#include "explore/space/script_space.h"
#include "explore/space/search.h"
#include "explore/store/entry.h"

using namespace halyard;
using namespace halyard::explore;

namespace {

Task rms_norm() {
    Task t;
    t.op = "rms_norm";
    t.shape = {{"rows", 64}, {"cols", 4096}};
    t.threads = 1;
    return t;
}

// A time for a text that has nothing to do with it, but is the same each time.
double made_up(const Candidate &c) {
    const std::string id = c.id();
    return 1e-6 * double(1 + std::stoul(id.substr(0, 4), nullptr, 16));
}

std::vector<Measured> right_in_made_up_time(const std::vector<Candidate> &candidates, double) {
    std::vector<Measured> all;
    for (const auto &c : candidates) {
        Measured m;
        m.status = Status::kOk;
        m.least = made_up(c);
        all.push_back(m);
    }
    return all;
}

std::vector<std::string> sequence(uint64_t seed, size_t most) {
    std::vector<std::string> ids;
    SearchOptions o;
    o.seed = seed;
    o.most = most;
    Search search(rms_norm(), o, [&](const std::vector<Candidate> &candidates, double best) {
        for (const auto &c : candidates) {
            ids.push_back(c.id());
        }
        return right_in_made_up_time(candidates, best);
    });
    search.run();
    const auto ranking = search.ranking();
    REQUIRE_FALSE(ranking.empty());
    CHECK(
        std::is_sorted(ranking.begin(), ranking.end(), [](const Tried &a, const Tried &b) { return a.measured.least < b.measured.least; }));
    return ids;
}

}  // namespace

TEST_CASE("a search repeats itself, and tries nothing twice", "[search]") {
    const auto first = sequence(1, 40);
    CHECK(first == sequence(1, 40));
    auto sorted = first;
    std::sort(sorted.begin(), sorted.end());
    CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
    CHECK(first.size() > 20);
}

TEST_CASE("a search ends with what is enough", "[search]") {
    SearchOptions o;
    o.most = 40;
    size_t asked = 0;
    o.enough = [&](const std::vector<Tried> &) { return ++asked == 2; };
    Search search(rms_norm(), o, right_in_made_up_time);
    search.run();
    CHECK(asked == 2);
    CHECK(search.tried() < 40);
    CHECK(search.ended_early());
}

TEST_CASE("a search goes on where what was enough is not after all", "[search]") {
    SearchOptions o;
    o.most = 100;
    size_t asked = 0, best_few = 0;
    o.enough = [&](const std::vector<Tried> &few) {
        best_few = std::max(best_few, few.size());
        return ++asked == 1;
    };
    Search search(rms_norm(), o, right_in_made_up_time);
    search.run();
    const size_t tried = search.tried();
    CHECK(search.ended_early());
    search.run();
    CHECK(search.tried() > tried + 24);
    CHECK_FALSE(search.ended_early());
    // Asked with the best few too when nothing faster comes.
    CHECK(best_few == 3);
}

TEST_CASE("what a search begins with may be the fastest, and changes nothing of what it tries", "[search]") {
    Tried seed;
    seed.proposal.candidate.lua = "return schedule \"rms_norm\" { target = \"cpu\", apply = function(k) end }\n";
    seed.proposal.candidate.origin = "Adams2019";
    seed.measured.status = Status::kOk;
    SearchOptions o;
    o.seed = 1;
    for (const double least : {1e-9, 1.0}) {
        seed.measured.least = least;
        o.seeds = {seed};
        o.most = 40;  // beside it
        std::vector<std::string> ids;
        Search search(rms_norm(), o, [&](const std::vector<Candidate> &candidates, double best) {
            CHECK(best > 0);
            CHECK(best <= least);
            std::vector<Measured> all;
            for (const auto &c : candidates) {
                ids.push_back(c.id());
                Measured m;
                m.status = Status::kOk;
                m.least = made_up(c);
                all.push_back(m);
            }
            return all;
        });
        search.run();
        CHECK(ids == sequence(1, 40));
        const auto ranking = search.ranking();
        CHECK(ranking.size() == 41);
        CHECK((least < 1 ? ranking.front() : ranking.back()).proposal.candidate.origin == "Adams2019");
    }
}

TEST_CASE("a search in which everything fails ends", "[search]") {
    SearchOptions o;
    o.most = 30;
    Search search(rms_norm(), o, [&](const std::vector<Candidate> &candidates, double) {
        Measured m;
        m.status = Status::kCrash;
        m.message = "it crashed";
        return std::vector<Measured>(candidates.size(), m);
    });
    search.run();
    CHECK(search.ranking().empty());
    CHECK(search.last_failure() == "it crashed");
}

TEST_CASE("statistics of a row are computed where the row is, products in tiles", "[search]") {
    SearchOptions o;
    Search norm(rms_norm(), o, {});
    CHECK(norm.propose({}).plan.placed.at("sum_sq").in == "y");
    CHECK(norm.propose({{"place of inv_rms", "root"}}).plan.placed.at("inv_rms").place == Place::kRoot);
    Task t;
    t.op = "gemm";
    t.shape = {{"m", 256}, {"n", 256}, {"k", 256}};
    t.params = {{"weights", "packed"}};
    t.target = "avx512";  // of 16 registers a panel takes one row
    Search gemm(t, o, {});
    const Proposal p = gemm.propose({});
    INFO(p.candidate.lua);
    CHECK(p.plan.placed.at("acc").on_stack);
    CHECK(p.candidate.lua.find("gemm.in_registers(k.acc, k.y, \"row_step\", {") != std::string::npos);
    CHECK(gemm.propose(p.answers).candidate.lua == p.candidate.lua);
}

TEST_CASE("a given script: what it leaves open, and nothing else", "[search]") {
    Candidate script;
    script.lua = "return schedule \"rms_norm\" {\n  target = \"cpu\",\n"
                 "  params = { rows = tune { 1, 4, 8, default = 4 }, mode = tune { \"a\", \"b\", default = \"a\" } },\n"
                 "  where = function(p) return p.rows < 8 or p.mode == \"a\" end,\n"
                 "  apply = function(k, p) k.y:parallel(\"row\", p.rows) end,\n}\n";
    SearchOptions o;
    o.most = 100;
    o.scripts = {script};
    std::vector<Assignments> sets;
    Search search(rms_norm(), o, [&](const std::vector<Candidate> &candidates, double) {
        std::vector<Measured> all;
        for (const auto &c : candidates) {
            CHECK(c.lua == script.lua);
            sets.push_back(c.set);
            Measured m;
            m.status = Status::kOk;
            m.least = c.set.at("rows") == "1" && c.set.at("mode") == "b" ? 1 : 2;
            all.push_back(m);
        }
        return all;
    });
    search.run();
    CHECK(sets.front() == Assignments{{"rows", "4"}, {"mode", "a"}});
    CHECK(sets.size() == 5);  // all but rows=8 mode=b
    CHECK(search.ranking().front().measured.least == 1);
    const Defaults found = with_defaults(script.lua, search.ranking().front().proposal.candidate.set);
    CHECK(found.left.empty());
    CHECK(found.lua.find("tune { 1, 4, 8, default = 1 }") != std::string::npos);
    CHECK(found.lua.find("default = \"b\"") != std::string::npos);
    // Text of strangers, in which a regular expression of the C++ library ends the process.
    for (const std::string &text :
         {std::string(1 << 20, 'a'), "x = tune {" + std::string(1 << 20, ' '), "\n  params = " + std::string(1 << 20, 'a'),
          "x = tune { default = \"" + std::string(1 << 20, 'a'), std::string(1 << 20, ':')}) {
        CHECK(with_defaults(text, {{"x", "1"}}).lua == text);
        CHECK(with_own_params({}, {text, {}, {}, "", 0, {}, false, ""}) == text);
        CHECK_FALSE(has_open_call(text));
    }
    CHECK(with_defaults("y = tune { 1, default = 2 }, x=tune{\n 1, default =  2 }", {{"x", "1"}}).lua ==
          "y = tune { 1, default = 2 }, x=tune{\n 1, default =  1 }");
    CHECK(with_defaults("x = tune { \"a\", default = \"b\" }", {{"x", "a"}}).lua == "x = tune { \"a\", default = \"a\" }");
    CHECK(with_defaults("return 1", {{"rows", "1"}}).left == Assignments{{"rows", "1"}});

    script.set = {{"mode", "b"}};
    o.scripts = {script};
    CHECK(Search(rms_norm(), o, {}).propose({{"tune mode", "a"}}).candidate.set.at("mode") == "b");
}

TEST_CASE("forms of an algorithm that schedules choose are decided, layouts of arguments are not", "[search]") {
    const auto options = [](const std::string &op, const std::string &decision) {
        Task t;
        t.op = op;
        t.shape = find_op(op).shapes.front();
        std::vector<std::string> found;
        for (const ChoicePoint &p : Search(t, {}, {}).propose({}).points) {
            found = p.name == decision ? p.options : found;
        }
        return found;
    };
    CHECK(options("layer_norm", "generator's statistics") == std::vector<std::string>{"one_pass", "two_pass"});
    CHECK(options("gemm", "generator's weights").empty());
    CHECK(options("moe_router", "generator's renormalise").empty());
}

TEST_CASE("what a generator computes is told apart, whatever its file is called", "[search]") {
    const auto key = [](const std::string &stages) {
        Task t;
        t.op = "stencil_chain";
        t.generator = std::string(HALYARD_EXPLORE_GENERATORS) + "/stencil_chain.generator";
        t.params = {{"stages", stages}};
        t.algorithm = algorithm_of(t);
        t.params.clear();
        return key_of(t).generator;
    };
    CHECK(key("2") == key("2"));
    CHECK(key("2") != key("3"));
    CHECK(key("2").find("stencil_chain.generator+") == 0);
}
