// Where a product in tiles will read its next panel: against the loops of the task, gone through.

#include <catch2/catch.hpp>

#include <string>
#include <utility>

#include "lowering/host/mma_task.h"

using namespace Halide;
using namespace Halide::Internal;
using namespace halyard;

namespace {

Expr var(const char *name) {
    return Variable::make(Int(32), name);
}

// The number that an expression has where the loops are at some turn.
int at(Expr e, int panel, int rows) {
    e = simplify(substitute("rows", rows, substitute("panel", panel, e)));
    const auto number = as_const_int(e);
    INFO(e);
    REQUIRE(number);
    return int(*number);
}

const Expr kSame = 24;  // the extent of a call

}  // namespace

TEST_CASE("the next panel starts where the loop over panels goes on, after all calls for this one", "[mma]") {
    const TileTask task = {{}, {{"panel", 2, 3}, {"first", var("panel") * 100, Expr()}, {"rows", 0, 5}}};
    const auto [next, calls] = task.next(var("first") + 7, kSame);
    for (int panel = 2; panel < 5; panel++) {
        for (int rows = 0; rows < 5; rows++) {
            INFO(panel << ", " << rows);
            CHECK(at(next, panel, rows) == (panel < 4 ? (panel + 1) * 100 + 7 : -1));
            CHECK(at(calls, panel, rows) == 5);
        }
    }
}

TEST_CASE("a panel for each call is made ahead by the call before", "[mma]") {
    const TileTask task = {{}, {{"rows", 0, 5}, {"panel", 0, 3}}};
    const auto [next, calls] = task.next(var("panel") * 8, kSame);
    CHECK(at(next, 1, 0) == 16);
    CHECK(at(next, 2, 0) == -1);
    CHECK(at(calls, 1, 0) == 1);
}

TEST_CASE("no panel is made ahead where it is not known whether it comes, or of what size", "[mma]") {
    const Expr panel = var("panel"), start = panel * 8;
    const auto none = [&](const TileTask &task, const Expr &same) {
        const auto [next, calls] = task.next(start, same);
        return is_const(next, -1) && is_const(calls, 1);
    };
    CHECK(none({{}, {{"panel", 0, 3}, {"", panel < 2, Expr()}}}, kSame));               // a condition that moves
    CHECK_FALSE(none({{}, {{"panel", 0, 3}, {"", var("other") < 2, Expr()}}}, kSame));  // one that does not
    CHECK(none({{}, {{"", panel < 2, Expr()}, {"rows", 0, 5}}}, kSame));                // no loop moves it
    CHECK(none({{}, {{"panel", 0, 3}}}, min(24, 60 - panel * 24)));                     // the last one is smaller
    CHECK(none({{}, {{"panel", 0, 3}, {"size", 24 - panel, Expr()}}}, var("size")));    // by way of a name
    CHECK(none({{}, {{"panel", 0, 3}, {"rows", 0, panel + 1}}}, kSame));                // as many calls as panels
    CHECK(none({{}, {{"panel", 0, 3}}}, Expr()));                                       // loops stay around the call
}

TEST_CASE("the next turn of a product is that of the loop nearest to it, or of the first around that goes on", "[mma]") {
    // for panel in 2..4: width = panel + 1; for rows in 0..width-1
    const TileTask task = {{}, {{"panel", 2, 3, {}}, {"width", var("panel") + 1, Expr(), {}}, {"rows", 0, var("width"), {}}}};
    const TileTask::Turn next = task.following({var("panel") * 100 + var("rows"), var("width")}, {"a", "b"});
    const auto value = [&](const Expr &e, int panel, int rows) { return at(substitute("width", panel + 1, e), panel, rows); };
    for (int panel = 2; panel < 5; panel++) {
        for (int rows = 0; rows <= panel; rows++) {
            INFO(panel << ", " << rows);
            const bool last = rows == panel;
            CHECK(value(cast<int>(next.there), panel, rows) == (last && panel == 4 ? 0 : 1));
            if (!last || panel < 4) {
                CHECK(value(next.values[0], panel, rows) == (last ? (panel + 1) * 100 : panel * 100 + rows + 1));
                CHECK(value(next.values[1], panel, rows) == (last ? panel + 2 : panel + 1));
            }
        }
    }
}

TEST_CASE("no turn follows where an operand is written until then, or under a condition that does not hold", "[mma]") {
    const Expr rows = var("rows");
    const TileTask written = {{}, {{"panel", 0, 3, {"a"}}, {"rows", 0, 5, {"c"}}}};
    const TileTask::Turn next = written.following({rows}, {"a", "b"});
    CHECK(at(cast<int>(next.there), 0, 3) == 1);
    CHECK(at(cast<int>(next.there), 0, 4) == 0);  // the next panel begins with another a
    const TileTask guarded = {{}, {{"rows", 0, 5, {}}, {"", rows < 3, Expr(), {}}}};
    CHECK(at(cast<int>(guarded.following({rows}, {}).there), 0, 1) == 1);
    CHECK(at(cast<int>(guarded.following({rows}, {}).there), 0, 2) == 0);
}

TEST_CASE("what a task knows at its beginning depends on none of its loops", "[mma]") {
    const TileTask task = {{}, {{"panel", 0, 3, {}}, {"stride", var("width") * 2, Expr(), {}}, {"moving", var("panel") + 1, Expr(), {}}}};
    const auto known = task.at_begin({var("stride") + 1});
    REQUIRE(known.size() == 1);
    CHECK(equal(known[0], simplify(var("width") * 2 + 1)));
    CHECK(task.at_begin({var("stride"), var("moving")}).empty());
}
