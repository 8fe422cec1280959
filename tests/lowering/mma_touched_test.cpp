// What the consumer of a product's sums stores, which calls of the product prefetch.

#include <catch2/catch.hpp>

#include "lowering/host/mma_touched.h"

using namespace Halide;
using namespace Halide::Internal;
using namespace halyard;

namespace {

// for row in [0, 31]: y[100 * row + ramp] = acc + 1 + 1 ...
Stmt consumer(int operations) {
    const Expr row = Variable::make(Int(32), "row"), lanes = Ramp::make(row * 16, 1, 16);
    Expr v = Load::make(Float(32, 16), "acc", lanes, Buffer<>(), Parameter(), const_true(16), ModulusRemainder());
    for (int i = 0; i < operations; i++) {
        v = Add::make(v, Broadcast::make(1.0f, 16));
    }
    const Stmt store = Store::make("y", v, Ramp::make(row * 100, 1, 16), Parameter(), const_true(16), ModulusRemainder());
    return ProducerConsumer::make_consume("acc", For::make("row", 0, 32, ForType::Serial, Partition::Auto, DeviceAPI::None, store));
}

}  // namespace

TEST_CASE("rows that are stored are known, but for those whose misses the operations before them hide", "[mma]") {
    const Touched few = touched_by_consumer("acc", consumer(40), {"acc"}).written;
    REQUIRE(few.start.defined());
    CHECK(few.buffer == "y");
    CHECK(is_const(simplify(few.start), 0));
    CHECK(is_const(simplify(few.stride), 100));
    CHECK(is_const(simplify(few.rows), 32));
    CHECK(few.bytes == 4);
    CHECK_FALSE(touched_by_consumer("acc", consumer(60), {"acc"}).written.start.defined());
}
