// The lines of generators/ops.inc as structures, and sizes as text.

#include <catch2/catch.hpp>

#include "kernel/failure.h"
#include "kernel/registry.h"
#include "kernel/workload.h"

using namespace halyard;

TEST_CASE("An op of the registry", "[registry]") {
    const Op &op = find_op("rms_norm");
    CHECK(op.dims == std::vector<std::string>{"rows", "cols"});
    REQUIRE(op.arguments.size() == 10);
    CHECK(op.argument("x")->extents == std::vector<std::string>{"cols", "rows"});
    CHECK(op.argument("x")->is_buffer());
    CHECK_FALSE(op.argument("x")->output);
    CHECK(op.argument("eps")->value == "1e-6");
    CHECK_FALSE(op.argument("eps")->is_buffer());
    CHECK(op.argument("y")->output);
    CHECK(op.argument("z") == nullptr);
    CHECK(op.shapes.front() == Dims{{"rows", 64}, {"cols", 4096}});
}

TEST_CASE("Arguments that only some variants have, and extents with commas and brackets", "[registry]") {
    const Op &op = find_op("gemm");
    REQUIRE(op.argument("b_packed"));
    CHECK(op.argument("b_packed")->optional);
    CHECK(op.argument("b_packed")->extents == std::vector<std::string>{"group", "panel", "(k+group-1)//group", "(n+panel-1)//panel"});
    CHECK(op.argument("scale")->optional);
    CHECK(op.argument("scale")->value == "0.5");
    CHECK_FALSE(op.argument("a")->optional);
}

// Flops of any size that a line names must come out as a number: a benchmark needs it.
TEST_CASE("Every line of the registry is complete", "[registry]") {
    REQUIRE(registry().size() >= 5);
    for (const auto &op : registry()) {
        INFO(op.name);
        CHECK(&find_op(op.name) == &op);
        CHECK(op.arguments.back().output);
        for (Dims shape : op.shapes) {
            CHECK(shape.size() == op.dims.size());
            // With the parameters of the generator that are extents.
            shape = with_params(op, shape, {{"top_k", "2"}, {"panel", "48"}});
            CHECK(evaluate(op.flops, shape).value_or(0) > 0);
            for (const auto &a : op.arguments) {
                for (const auto &extent : a.extents) {
                    CHECK((a.optional || evaluate(extent, shape).value_or(0) >= 1));
                }
                CHECK((a.is_buffer() || evaluate(a.value, shape).has_value()));
            }
        }
    }
}

TEST_CASE("An unknown op names the nearest", "[registry]") {
    CHECK_THROWS_WITH(find_op("atention"), Catch::Contains("did you mean \"attention\"?"));
    CHECK_THROWS_AS(find_op(""), UsageError);
}

TEST_CASE("Sizes", "[registry]") {
    CHECK(parse_shape("rows=3,cols=5") == Dims{{"rows", 3}, {"cols", 5}});
    CHECK(parse_shape(" rows=3 , cols=5 ") == Dims{{"rows", 3}, {"cols", 5}});
    for (const char *wrong : {"rows", "rows=", "=3", "rows=0", "rows=-3", "rows=3x", "rows=1e3", "rows=99999999999"}) {
        INFO(wrong);
        CHECK_THROWS_AS(parse_shape(wrong), UsageError);
    }
    const Op &op = find_op("rms_norm");
    CHECK(shape_text(op, {{"cols", 5}, {"rows", 3}}) == "rows=3,cols=5");
    CHECK(shape_text(op, {{"cols", 5}, {"batch", 2}}) == "cols=5,batch=2");
}
