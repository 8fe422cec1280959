// Turns: which differences are told from noise, and what is said of a machine that does other things too.

#include <random>

#include <catch2/catch.hpp>

#include "kernel/busy.h"
#include "kernel/turns.h"
#include "support.h"

using namespace halyard;

namespace {

// A machine that is slow every now and then, for all alike, and a little noisy.
struct Machine {
    std::mt19937 random{7};
    int calls = 0;

    double factor() {
        calls++;
        return (calls / 40 % 3 == 0 ? 2.0 : 1.0) * (1 + 0.04 * double(random() % 1000) / 1000);
    }
};

class Fake : public Sampler {
public:
    Fake(Machine &machine, double seconds) : machine_(machine), seconds_(seconds) {}

    double sample() override {
        const double seconds = seconds_ * machine_.factor();
        used_ += seconds;
        return seconds;
    }
    const CallResult &result() const override {
        return result_;
    }
    double used() const override {
        return used_;
    }
    void fail() {
        result_.code = -1;
    }

private:
    Machine &machine_;
    const double seconds_;
    CallResult result_;
    double used_ = 0;
};

Contest contest(double a, double b) {
    Machine machine;
    Fake first(machine, a), second(machine, b), again(machine, a);
    return take_turns({&first, &second}, &again, {100 * a, 9, 400, 1});
}

}  // namespace

TEST_CASE("The same kernel ties with itself, whatever the machine does", "[turns]") {
    const Contest c = contest(1e-3, 1e-3);
    CHECK(c.all.size() == 2);
    CHECK(c.noise > 0);
    CHECK(c.noise < 0.05);
    CHECK(c.tie(0, 1));
    CHECK(starts_with(c.verdict(0, 1, "a", "b"), "a tie between a and b ("));
    CHECK(contains(c.verdict(0, 1, "a", "b"), "noise "));
}

TEST_CASE("A difference of a tenth is seen where the machine halves its speed now and then", "[turns]") {
    const Contest c = contest(1e-3, 1.1e-3);
    CHECK_FALSE(c.tie(0, 1));
    CHECK(c.ratio(0, 1).times == Approx(1.1).epsilon(0.03));
    CHECK(c.ratio(0, 1).low > 1.05);
    CHECK(starts_with(c.verdict(0, 1, "a", "b"), "a is 1.1"));
    CHECK(starts_with(c.verdict(1, 0, "b", "a"), "a is 1.1"));
    const Timing &t = c.all[0].timing;
    CHECK(t.minimum <= t.lower);
    CHECK(t.lower <= t.median);
    CHECK(t.median <= t.upper);
    // What a process says of its turns, another reads.
    const Contest read = contest_from_json(to_json(c));
    CHECK(read.ratio(0, 1).times == c.ratio(0, 1).times);
    CHECK(read.all[1].timing.median == c.all[1].timing.median);
    CHECK(read.noise == c.noise);
}

TEST_CASE("What no run can tell apart is a tie, and one that fails leaves the turns", "[turns]") {
    CHECK(contest(1e-3, 1.004e-3).tie(0, 1));
    Machine machine;
    Fake right(machine, 1e-3), wrong(machine, 1e-3);
    wrong.fail();
    const Contest c = take_turns({&right, &wrong}, nullptr, {0.05, 9, 400, 1});
    CHECK(c.all[0].timing.samples >= 9);
    CHECK(c.all[1].timing.samples == 0);
    CHECK_FALSE(c.all[1].result.ok());
}

TEST_CASE("A busy machine is told from a quiet one", "[turns]") {
    const char *const before = "cpu  100 0 50 1000 0 0 0 0 0 0\ncpu0 50 0 25 500 0 0 0 0\ncpu1 50 0 25 500 0 0 0 0\nprocs_running 1\n";
    const char *const quiet = "cpu  200 0 50 1100 0 0 0 0 0 0\ncpu0 1\ncpu1 1\nprocs_running 1\n";
    const char *const others = "cpu  300 0 50 1000 0 0 0 0 0 0\ncpu0 1\ncpu1 1\nprocs_running 4\n";
    const char *const stolen = "cpu  200 0 50 1080 0 0 0 20 0 0\ncpu0 1\ncpu1 1\nprocs_running 1\n";
    const auto from = Watch::parse(before);
    CHECK(from.processors == 2);
    CHECK(from.runnable == 1);
    const auto sentence = [&](const char *after, double cycle) { return Watch::sentence(from, Watch::parse(after), 1, 1, 1, 1, cycle); };
    CHECK(sentence(quiet, 1.01) == "");
    CHECK(contains(sentence(others, 1), "other processes used 1.0 of 2 processors (3 more ready to run)"));
    CHECK(contains(sentence(stolen, 1), "the host of this virtual machine took 10 % of its time"));
    CHECK(contains(sentence(quiet, 1.3), "the clock of the processor became 30 % slower"));
}
