// Decisions: what is answered, what is guessed, what comes up only after an answer.

#include <catch2/catch.hpp>

#include "explore/space/choices.h"

using halyard::explore::Answers;
using halyard::explore::Choices;

TEST_CASE("a decision without an answer is the guess", "[search]") {
    Choices c;
    CHECK(c.pick("place", {"fused", "root"}, "fused") == "fused");
    CHECK(c.number("rows", {1, 2, 4, 8}, 4) == 4);
    CHECK_FALSE(c.yes("inline", false));
    CHECK(c.taken() == Answers{{"place", "fused"}, {"rows", "4"}, {"inline", "no"}});
}

TEST_CASE("an answer holds where it is an option", "[search]") {
    Choices c(Answers{{"place", "root"}, {"rows", "3"}, {"inline", "yes"}});
    CHECK(c.pick("place", {"fused", "root"}, "fused") == "root");
    CHECK(c.number("rows", {1, 2, 4}, 4) == 4);
    CHECK(c.yes("inline", false));
}

TEST_CASE("options that are too large are left out, and the guess moves", "[search]") {
    Choices c;
    CHECK(c.number("task", {1, 2, 4, 8}, 8, 5) == 4);
    CHECK(c.points().back().options == std::vector<std::string>{"1", "2", "4"});
    CHECK(c.number("columns", {16, 32}, 32, 7) == 16);  // there is always one
}

TEST_CASE("a decision that is asked for twice is one", "[search]") {
    Choices c(Answers{{"rows", "2"}});
    CHECK(c.number("rows", {1, 2, 4}, 1) == 2);
    CHECK(c.number("rows", {1, 2, 4}, 4) == 2);
    CHECK(c.points().size() == 1);
}
