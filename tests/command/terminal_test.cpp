// Colours and progress: on a terminal, and nowhere else.

#include <catch2/catch.hpp>

#include "support.h"

namespace {

const char *const kRed = "\x1b[31m", *const kGreen = "\x1b[32m", *const kBold = "\x1b[1m";

bool has_escape(const std::string &text) {
    return contains(text, "\x1b") || contains(text, "\r");
}

}  // namespace

TEST_CASE("No escape code and no progress where the output is no terminal", "[terminal]") {
    const Folder folder;
    for (const Arguments &arguments : std::vector<Arguments>{{"list"},
                                                             {"doctor"},
                                                             {"check", HALYARD_SOURCE "/schedules/cpu/rms_norm.lua", "--target", "avx2"},
                                                             {"show", "rms_norm"},
                                                             {"show", "rms_norm", "--step"},
                                                             {"build", "rms_norm", "--target", "avx2", "-o", folder / "out"}}) {
        const ProcessResult r = run(arguments, {"TERM=xterm"});
        INFO(halyard::join(arguments, " "));
        CHECK(r.exit_code == 0);
        CHECK(r.err == "");
        CHECK(r.out != "");
        CHECK_FALSE(has_escape(r.out));
    }
    CHECK_FALSE(has_escape(run({"biuld"}, {"TERM=xterm"}).err));
}

TEST_CASE("On a terminal there are both, until NO_COLOR is set", "[terminal]") {
    const Folder folder;
    CHECK(contains(run_on_terminal({"list"}), kBold));
    CHECK(contains(run_on_terminal({"doctor"}), kGreen));
    CHECK(contains(run_on_terminal({"biuld"}), kRed));
    const Arguments build = {"build", "rms_norm", "--target", "avx2", "-o", folder / "out"};
    const std::string text = run_on_terminal(build);
    CHECK(contains(text, "building rms_norm"));

    for (const Arguments &arguments : {Arguments{"list"}, Arguments{"doctor"}, Arguments{"biuld"}}) {
        CHECK_FALSE(has_escape(halyard::join(halyard::split(run_on_terminal(arguments, {"NO_COLOR=1"}), '\n'), "\n")));
        CHECK_FALSE(has_escape(halyard::join(halyard::split(run_on_terminal(arguments, {"TERM=dumb"}), '\n'), "\n")));
    }
    // An empty NO_COLOR is none: no-color.org
    CHECK(contains(run_on_terminal({"list"}, {"NO_COLOR="}), kBold));
}

TEST_CASE("What does not fit a terminal is shown by a pager, and nothing else is", "[terminal]") {
    const std::vector<std::string> marks = {"PAGER=sed 's/^/paged /'"};
    const Arguments longer = {"list", "softmax", "gemm"};
    const std::string paged = run_on_terminal(longer, marks);
    CHECK(contains(paged, "paged "));
    CHECK(contains(paged, std::string(kBold) + "softmax"));  // colours, as less -R shows them
    CHECK_FALSE(contains(paged, "\x1b<"));
    CHECK_FALSE(contains(run_on_terminal({"list"}, marks), "paged "));  // 40 lines are enough
    CHECK_FALSE(contains(run(longer, marks).out, "paged "));
    CHECK_FALSE(contains(run_on_terminal(longer, {marks[0], "TERM=dumb"}), "paged "));
    for (const std::string none : {"PAGER=", "PAGER=cat", "PAGER=/nowhere/pager"}) {
        CHECK(contains(run_on_terminal(longer, {none}), "gemm.unfused"));
    }
    CHECK(run_on_terminal(longer, {"PAGER=true"}).size() < 10);  // one that reads nothing is no error
}

TEST_CASE("The progress line is gone at the end", "[terminal]") {
    const Folder folder;
    const std::string text = run_on_terminal({"build", "rms_norm", "--target", "avx2", "-o", folder / "out"});
    const size_t progress = text.rfind("building rms_norm"), erased = text.rfind("\r\x1b[K");
    REQUIRE(progress != std::string::npos);
    CHECK(erased > progress);
    CHECK(erased != std::string::npos);
}

TEST_CASE("Lines are cut at the width of a terminal and stay whole elsewhere", "[terminal]") {
    const auto longest = [](const std::string &text) {
        size_t longest = 0;
        for (const auto &line : halyard::split(text, '\n')) {
            longest = std::max(longest, halyard::columns(line));
        }
        return longest;
    };
    CHECK(longest(run_on_terminal({"show", "rms_norm"}, {"NO_COLOR=1", "COLUMNS=60"})) > 60);  // the head has a path
    const ProcessResult narrow = run({"show", "rms_norm"}, {"COLUMNS=50"});
    for (const auto &line : halyard::split(narrow.out.substr(narrow.out.find('\n')), '\n')) {
        CHECK(halyard::columns(line) <= 50);
    }
    CHECK(longest(run({"show", "rms_norm"}).out) > 100);
}
