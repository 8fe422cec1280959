// What a library answers to arguments that it cannot take: a code, a message that names the
// argument, and an output left alone. Never an abort. These are static libraries on the shared
// runtime, as an application links them.

#include <cstring>
#include <limits>

#include <catch2/catch.hpp>

#include "kernel/arithmetic.h"
#include "kernel/generate.h"
#include "halyard/runtime.h"
#include "harness.h"
#include "stands_alone.h"
#include "kernel/workload.h"

#define HALYARD_OP(name, ...)                                                                                                              \
    extern "C" int ops_errors_##name##_argv(void **);                                                                                      \
    extern "C" const halide_filter_metadata_t *ops_errors_##name##_metadata();
#include "ops.inc"
#undef HALYARD_OP

namespace {

using namespace halyard;

/** Arguments of a library, all right at first, of the same extent in every dimension that a size of the op gives. */
class Call {
public:
    Call(const std::string &name, int (*function)(void **), const halide_filter_metadata_t *metadata, int extent)
        : function_(function), metadata_(*metadata), op_(find_op(name)) {
        const Op &op = op_;
        GenerateRequest request;
        request.op = name;
        Dims dims;
        for (const auto &d : op.dims) {
            dims[d] = op.name == "gemm_q" && d == "k" ? 32 * extent : extent;  // blocks of 32
        }
        dims = with_params(op, dims, make_plan(request).params);
        for (int i = 0; i < metadata_.num_arguments; i++) {
            const halide_filter_argument_t &a = metadata_.arguments[i];
            Layout layout;
            for (const auto &extent : op.argument(a.name)->extents) {
                layout.extents.push_back(int(evaluate(extent, dims).value()));
            }
            buffers_.emplace_back(a.type, layout);
            if (a.kind == halide_argument_kind_input_scalar) {
                buffers_.back().fill(evaluate(op.argument(a.name)->value, dims).value_or(1));
            } else if (a.kind == halide_argument_kind_input_buffer && is_integer(a.type)) {
                buffers_.back().fill(0);  // an index in range
            }
        }
        restore();
    }

    int count() const {
        return metadata_.num_arguments;
    }
    std::string name(int i) const {
        return metadata_.arguments[i].name;
    }
    bool is_buffer(int i) const {
        return metadata_.arguments[i].kind != halide_argument_kind_input_scalar;
    }
    /** Of an integer of 32 bits, until the next call. */
    int32_t &scalar(int i) {
        return *reinterpret_cast<int32_t *>(raw_[size_t(i)].host);
    }
    bool is_output(int i) const {
        return metadata_.arguments[i].kind == halide_argument_kind_output_buffer;
    }
    /** Whether the library can see that dimension d of an input is smaller than the others say. */
    bool sees_size(int i, int d) const {
        std::vector<std::string> buffers;
        for (int other = 0; other < count(); other++) {
            if (is_buffer(other)) {
                buffers.push_back(name(other));
            }
        }
        return !is_output(i) && !ops_test::stands_alone(op_, buffers, name(i), d);
    }
    halide_buffer_t &buffer(int i) {
        return raw_[size_t(i)];
    }
    halide_dimension_t &dim(int i, int d) {
        return dims_[size_t(i)][size_t(d)];
    }
    int find(const std::string &argument) const {
        int i = 0;
        while (name(i) != argument) {
            i++;
        }
        return i;
    }
    size_t bytes(int i) const {
        return buffers_[size_t(i)].bytes();
    }
    void forget(int i) {
        addresses_[size_t(i)] = nullptr;
    }

    /** Calls, expects an error that names argument i, and makes everything right again. */
    void expect_error(int i, const std::string &what) {
        CAPTURE(name(i), what);
        CHECK(function_(addresses_.data()) != 0);
        const std::string message = halyard_last_error();
        CAPTURE(message);
        CHECK(message.find(name(i)) != std::string::npos);
        CHECK(message.find(metadata_.name + std::string(": ")) == 0);
        for (int o = 0; o < count(); o++) {
            if (is_output(o)) {
                CHECK(untouched(buffers_[size_t(o)]));
            }
        }
        restore();
    }

    int call() {
        return function_(addresses_.data());
    }

    /** Gives floating-point inputs values, and all that have not been computed yet other ones than they may get. */
    void fill() {
        for (int i = 0; i < count(); i++) {
            if (is_output(i)) {
                buffers_[size_t(i)].poison();
            } else if (is_buffer(i) && !is_integer(buffers_[size_t(i)].type())) {
                buffers_[size_t(i)].fill_random(uint64_t(i) + 1, 0.5, 1);
            }
        }
    }
    std::vector<std::vector<double>> results() {
        std::vector<std::vector<double>> values;
        for (int i = 0; i < count(); i++) {
            if (is_output(i)) {
                values.push_back(buffers_[size_t(i)].values());
            }
        }
        return values;
    }

    static bool is_integer(const halide_type_t &type) {
        return type.code == halide_type_int || type.code == halide_type_uint;
    }

private:
    static bool untouched(const HostBuffer &buffer) {
        return buffer.poisoned() && buffer.surroundings_intact();
    }

    void restore() {
        raw_.clear();
        dims_.clear();
        addresses_.clear();
        for (auto &b : buffers_) {
            const halide_buffer_t &raw = *b.raw();
            dims_.emplace_back(raw.dim, raw.dim + raw.dimensions);
            raw_.push_back(raw);
        }
        for (size_t i = 0; i < raw_.size(); i++) {
            raw_[i].dim = dims_[i].data();
            addresses_.push_back(is_buffer(int(i)) ? static_cast<void *>(&raw_[i]) : raw_[i].host);
        }
    }

    int (*function_)(void **);
    const halide_filter_metadata_t &metadata_;
    const Op &op_;
    std::vector<HostBuffer> buffers_;  // of no dimensions for scalars
    std::vector<halide_buffer_t> raw_;
    std::vector<std::vector<halide_dimension_t>> dims_;
    std::vector<void *> addresses_;
};

void check_errors(Call call) {
    for (int i = 0; i < call.count(); i++) {
        if (!call.is_buffer(i)) {
            continue;
        }
        call.forget(i);
        call.expect_error(i, "no buffer");
        call.buffer(i).type.bits *= 2;
        call.expect_error(i, "a wider type");
        call.buffer(i).type.code = call.is_integer(call.buffer(i).type) ? halide_type_float : halide_type_int;
        call.expect_error(i, "another type");
        call.buffer(i).dimensions -= 1;
        call.expect_error(i, "a dimension less");
        if (call.dim(i, 0).extent > 1) {
            call.dim(i, 0).stride = 2;
            call.expect_error(i, "gaps between elements");
        }
        call.buffer(i) = {};
        call.expect_error(i, "all zeros");
        call.buffer(i).dim = nullptr;
        call.expect_error(i, "no dimensions where they should be");
        for (int d = 0; d < call.buffer(i).dimensions; d++) {
            for (int min : {1 << 30, -(1 << 30)}) {
                if (call.dim(i, d).extent > 1 && call.dim(i, d).stride > 1) {
                    call.dim(i, d).min = min;
                    call.expect_error(i, "elements whose place 32 bits cannot count");
                }
            }
        }
        for (int d = 1; call.is_output(i) && d < call.buffer(i).dimensions; d++) {
            if (call.dim(i, d).extent > 1 && call.dim(i, d - 1).extent > 1) {
                call.dim(i, d).stride = 0;
                call.expect_error(i, "rows on each other");
                call.dim(i, d).stride = -call.dim(i, d - 1).stride;
                call.expect_error(i, "rows that share elements");
            }
        }
        for (int d = 0; d < call.buffer(i).dimensions; d++) {
            CAPTURE(d);
            if (call.sees_size(i, d)) {  // a smaller output is a part of the result
                call.dim(i, d).extent -= 1;
                call.expect_error(i, "too small");
            }
            if (call.sees_size(i, d)) {
                call.dim(i, d).extent = 0;
                call.dim(i, d).min = std::numeric_limits<int32_t>::min();
                call.expect_error(i, "none, before all numbers");
            }
            call.dim(i, d).extent = -1;
            call.expect_error(i, "a negative extent");
            call.dim(i, d).extent = std::numeric_limits<int32_t>::min();
            call.expect_error(i, "the least extent");
            call.dim(i, d).min = std::numeric_limits<int32_t>::max();
            call.expect_error(i, "an end beyond 32 bits");
        }
    }
    CHECK(call.call() == 0);
}

// Every output over every other array: its first byte is the last one of that, and its last byte the first one.
void check_shared_memory(Call call) {
    for (int output = 0; output < call.count(); output++) {
        for (int i = 0; i < call.count(); i++) {
            if (!call.is_output(output) || !call.is_buffer(i) || i == output || call.bytes(output) == 0 || call.bytes(i) == 0) {
                continue;
            }
            for (const bool behind : {true, false}) {
                // Memory of their own, where no other array is near.
                const size_t at = call.bytes(output) - 1;
                std::vector<uint8_t> memory(at + call.bytes(i) + at, 0), before = memory;
                call.buffer(i).host = memory.data() + at;
                call.buffer(output).host = memory.data() + (behind ? at + call.bytes(i) - 1 : 0);
                call.expect_error(output, "over " + call.name(i));
                const std::string message = halyard_last_error();
                CHECK_THAT(message, Catch::Contains(" shares memory with ") && Catch::Contains(call.name(i)));
                CHECK(memory == before);
            }
        }
    }
}

// Of a dimension of one element no stride is ever used, and of an array without elements none.
void check_any_stride(Call plain, Call strange) {
    plain.fill();
    if (plain.call() != 0) {
        return;  // what an op asks for in such sizes is for other tests
    }
    for (int i = 0; i < strange.count(); i++) {
        bool empty = false;
        for (int d = 0; strange.is_buffer(i) && d < strange.buffer(i).dimensions; d++) {
            empty = empty || strange.dim(i, d).extent == 0;
        }
        for (int d = 0; strange.is_buffer(i) && d < strange.buffer(i).dimensions; d++) {
            if (empty || strange.dim(i, d).extent == 1) {
                strange.dim(i, d).stride = d % 2 ? 0 : 7 + d;
            }
        }
    }
    strange.fill();
    const int code = strange.call();
    CAPTURE(halyard_last_error());
    CHECK(code == 0);
    CHECK(strange.results() == plain.results());
}

// A size that a scalar says, of which memory is made.
void check_sizes(Call call, const std::string &scalar) {
    const int i = call.find(scalar);
    for (const int32_t size : {-1, -33, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
        call.scalar(i) = size;
        call.expect_error(i, std::to_string(size));
    }
}

// Five heads of q, of which three of k and v are no divisor.
void check_heads(Call call) {
    for (const char *name : {"k", "v"}) {
        call.dim(call.find(name), 2).extent = 3;
    }
    call.expect_error(call.find("k"), "heads that do not divide");
    CHECK_THAT(halyard_last_error(), Catch::Contains("attention: q has 5 heads, which the 3 of k and v must divide"));
}

}  // namespace

#define HALYARD_CALL(name, extent) Call(#name, ops_errors_##name##_argv, ops_errors_##name##_metadata(), extent)
#define HALYARD_OP(name, ...)                                                                                                              \
    TEST_CASE(#name ": errors") {                                                                                                          \
        check_errors(HALYARD_CALL(name, 5)); /* one less is another number of groups of 2 or 4, too */                                     \
    }                                                                                                                                      \
    TEST_CASE(#name ": an output over another array") {                                                                                    \
        check_shared_memory(HALYARD_CALL(name, 5));                                                                                        \
    }                                                                                                                                      \
    TEST_CASE(#name ": any stride of dimensions that have no two elements") {                                                              \
        check_any_stride(HALYARD_CALL(name, 1), HALYARD_CALL(name, 1));                                                                    \
        check_any_stride(HALYARD_CALL(name, 0), HALYARD_CALL(name, 0));                                                                    \
    }
#include "ops.inc"
#undef HALYARD_OP

TEST_CASE("sizes that no memory has are an error") {
    check_sizes(HALYARD_CALL(moe_router, 5), "experts");
    check_sizes(HALYARD_CALL(gemm_reduce, 5), "columns");
    check_sizes(HALYARD_CALL(linear_cross_entropy, 5), "columns");
}

TEST_CASE("heads that do not divide are an error") {
    check_heads(HALYARD_CALL(attention, 5));
    check_heads(HALYARD_CALL(decode_attention, 5));
}
