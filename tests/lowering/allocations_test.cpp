// What a pipeline allocates on a device: its own arrays by calls that know that they end with it, those of the caller by Halide's.

#include <catch2/catch.hpp>

#include <sstream>
#include <string>
#include <vector>

#include "lowering/cuda/extract/allocations.h"

using namespace Halide;
using namespace Halide::Internal;

namespace {

Stmt allocation(const std::string &array) {
    const Expr buffer = Variable::make(type_of<halide_buffer_t *>(), array + ".buffer");
    const std::string result = "result_" + array;
    const Expr code = Variable::make(Int(32), result);
    return LetStmt::make(result, Call::make(Int(32), "halide_device_malloc", {buffer}, Call::Extern), AssertStmt::make(code == 0, code));
}

Stmt within(const std::vector<std::string> &arrays, Stmt s) {
    for (const std::string &name : arrays) {
        s = Allocate::make(name, Float(32), MemoryType::Auto, {8}, const_true(), s);
    }
    return s;
}

size_t count(const std::string &text, const std::string &what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        n++;
    }
    return n;
}

std::string together(const Stmt &s) {
    std::ostringstream text;
    text << halyard::allocate_together(s);
    return text.str();
}

}  // namespace

TEST_CASE("an array of the pipeline, and one of the caller", "[allocations]") {
    const std::string text = together(Block::make(allocation("y"), within({"f"}, Block::make(allocation("f"), allocation("x")))));
    INFO(text);
    CHECK(count(text, "halyard_cuda_malloc_together") >= 1);
    CHECK(count(text, "halide_device_malloc((struct halide_buffer_t *)y.buffer)") == 1);
    CHECK(count(text, "halide_device_malloc((struct halide_buffer_t *)x.buffer)") == 1);
    CHECK(count(text, "halide_device_malloc((struct halide_buffer_t *)f.buffer)") == 0);
}

TEST_CASE("the values of a tuple are one allocation, unless they are the caller's", "[allocations]") {
    const Stmt values = Block::make({allocation("f.0"), allocation("f.1"), allocation("f.2"), Evaluate::make(0)});
    const std::string own = together(within({"f.0", "f.1", "f.2"}, values)), callers = together(values);
    INFO(own << callers);
    CHECK(count(own, "halide_device_malloc") == 0);
    CHECK(count(own, ", 3)") == 1);
    CHECK(count(callers, "halide_device_malloc") == 3);
}
