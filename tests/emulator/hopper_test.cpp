// What kernels for sm_90a stand on: right products, and every fault found and named.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>

#include "elements.h"
#include "support.h"

using Catch::Contains;

namespace {

// As the launcher takes it for a parameter of letter t (runtime/cuda_tensor.h).
struct Tensor {
    const halide_buffer_t *buffer;
    int type, rank, extent[5], stride[4], box[5], step[5], swizzled;
};

const Image &hopper() {
    static const Image image("hopper");
    return image;
}

struct Matrix {
    int rows, cols, stride;
    Array<uint16_t> data;

    Matrix(int rows, int cols, int seed, bool bf16 = false)
        : rows(rows), cols(cols), stride((cols + 7) / 8 * 8), data(rows * stride, 0x7fff) {
        for (int r = 0; r < rows; r++) {
            for (int c = 0; c < cols; c++) {
                data[r * stride + c] = bits_of(element(r, c, seed), bf16);
            }
        }
    }
    Tensor tensor(int across, int down, bool bf16 = false) {
        return {data.to_device(), bf16, 2, {cols, rows}, {stride}, {across, down}, {1, 1}, 1};
    }
};

struct ProductArguments {
    Tensor *y, *a, *b;
    int steps, tiles, fault;
};

// "" where y = a b came out.
std::string product(const char *kernel, int m, int n, int k, int fault = 0) {
    const bool bf16 = strstr(kernel, "bfloat16") != nullptr, across = strstr(kernel, "_kn_") != nullptr;
    Matrix a(m, k, 1, bf16), b(across ? k : n, across ? n : k, 2, bf16), y(m, n, 0, bf16);
    Tensor ty = y.tensor(64, 64, bf16), ta = a.tensor(64, 64, bf16), tb = b.tensor(64, 64, bf16);
    const ProductArguments arguments = {&ty, &ta, &tb, (k + 63) / 64, (m + 63) / 64, fault};
    if (launch(hopper(), kernel, {1, 384, 40992}, "tttiii", arguments) != 0) {
        const std::string message = last_error();
        for (Matrix *x : {&a, &b, &y}) {
            x->data.buffer().device_free();
        }
        halyard_cuda_release();
        return message;
    }
    y.data.to_host();
    for (int r = 0; r < m; r++) {
        for (int c = 0; c < y.stride; c++) {
            int sum = 0;
            for (int i = 0; i < k; i++) {
                sum += element(r, i, 1) * (across ? element(i, c, 2) : element(c, i, 2));
            }
            // The row of the tensor ends at n, and what is stored in 16 bytes at once: there stand the zeros that came for b.
            if (y.data[r * y.stride + c] != bits_of(c < n ? sum : 0, bf16)) {
                return "wrong at " + std::to_string(r) + ", " + std::to_string(c);
            }
        }
    }
    return "";
}

std::string fault(int which, int steps = 3) {
    return product("product_kn_half", 128, 64, steps * 64, which);
}

// The order of the enumeration in hopper_kernels.cpp.
enum Fault {
    kNone,
    kNoWaitForLoad,
    kWrongParity,
    kNoWaitForEmptyStage,
    kReleasesTooEarly,
    kNoRegisterFence,
    kReadsSumsTooEarly,
    kNoCommit,
    kNoFenceOfStores,
    kNoBarrierAfterFence,
    kNoWaitForStore,
    kNoCommitOfStore,
    kOverwritesResult,
    kBarriersNotReady,
    kNoBarrierAfterInit,
    kBarrierNotMade,
    kExpectsTooFewBytes,
    kExpectsTooManyBytes,
    kArrivesTooOften,
    kNeverArrives,
    kWarpWithoutProduct,
    kTooManyRegisters,
    kRegistersOfHalf,
    kOperandWithoutFence,
    kOperandWithoutBarrier,
    kMisplacedOperand,
    kMisplacedBox,
    kReadsWhileLoading,
    kOtherCommit,
    kNoWaitAtEnd,
};

}  // namespace

TEST_CASE("products on the tensor cores", "[order]") {
    for (const char *kernel : {"product_kn_half", "product_nk_half", "product_nk_bfloat16"}) {
        INFO(kernel);
        CHECK(product(kernel, 64, 64, 64) == "");
        CHECK(product(kernel, 128, 64, 256) == "");
        CHECK(product(kernel, 1, 1, 1) == "");
        CHECK(product(kernel, 129, 57, 65) == "");
        CHECK(product(kernel, 67, 8, 200) == "");
    }
}

TEST_CASE("products of bytes", "[order]") {
    for (const char *kernel : {"product_s8_s8", "product_s8_u8", "product_u8_s8", "product_u8_u8"}) {
        const bool signed_a = kernel[8] == 's', signed_b = kernel[11] == 's';
        const int m = 61, n = 55, k = 117, stride = 128;  // what is beyond them comes as 0
        Array<uint8_t> a(m * stride, 0x5a), b(n * stride, 0x5a);
        Array<int> y(64 * 64);
        for (int i = 0; i < k; i++) {
            for (int r = 0; r < m; r++) {
                a[r * stride + i] = uint8_t(byte_element(r, i, 1, signed_a));
            }
            for (int c = 0; c < n; c++) {
                b[c * stride + i] = uint8_t(byte_element(c, i, 2, signed_b));
            }
        }
        Tensor ta = {a.to_device(), 2, 2, {k, m}, {stride}, {128, 64}, {1, 1}, 1},
               tb = {b.to_device(), 2, 2, {k, n}, {stride}, {128, 64}, {1, 1}, 1};
        struct {
            halide_buffer_t *y;
            Tensor *a, *b;
        } arguments = {y.to_device(), &ta, &tb};
        const int error = launch(hopper(), kernel, {1, 128, 16392}, "btt", arguments);
        INFO(kernel << " " << last_error());
        REQUIRE(error == 0);
        REQUIRE(y.to_host() == 0);
        for (int r = 0; r < 64; r++) {
            for (int c = 0; c < 64; c++) {
                int sum = 0;
                for (int i = 0; i < k && r < m && c < n; i++) {
                    sum += byte_element(r, i, 1, signed_a) * byte_element(c, i, 2, signed_b);
                }
                REQUIRE(y[r * 64 + c] == sum);
            }
        }
    }
}

TEST_CASE("a product with one operand in registers", "[order]") {
    Matrix b(16, 64, 3), x(64, 16, 4);
    Array<float> y(64 * 64);
    Tensor tb = b.tensor(64, 16);
    struct {
        halide_buffer_t *y, *x;
        Tensor *b;
    } arguments = {y.to_device(), x.data.to_device(), &tb};
    const int error = launch(hopper(), "product_of_registers", {1, 128, 2056}, "bbt", arguments);
    INFO(last_error());
    REQUIRE(error == 0);
    REQUIRE(y.to_host() == 0);
    for (int r = 0; r < 64; r++) {
        for (int c = 0; c < 64; c++) {
            int sum = 0;
            for (int i = 0; i < 16; i++) {
                sum += element(r, i, 4) * element(i, c, 3);
            }
            REQUIRE(y[r * 64 + c] == float(sum));
        }
    }
}

TEST_CASE("barriers by number", "[order]") {
    const auto run = [](int fault) {
        Array<int> y(128, 0);
        struct {
            halide_buffer_t *y;
            int rounds, fault;
        } arguments = {y.to_device(), 3, fault};
        if (launch(hopper(), "numbered_barriers", {1, 256, 512}, "bii", arguments) != 0) {
            const std::string message = last_error();
            y.buffer().device_free();
            halyard_cuda_release();
            return message;
        }
        y.to_host();
        return std::string(y[5] == 3000 + 3 * 122 ? "" : "wrong");
    };
    CHECK(run(0) == "");
    CHECK_THAT(run(1), Contains("race: ") || Contains("which no thread of the block has written"));
    CHECK_THAT(run(2),
               Contains("at which others wait for") || Contains("threads 128 to 255 wait at the barrier 1, where 128 of 256 threads are"));
    CHECK_THAT(run(3), Contains("deadlock:") && Contains("threads 0 to 31 wait at the barrier 4, where 32 of 128 threads are"));
}

TEST_CASE("clusters: a block reads what the others have in their shared memory", "[order]") {
    const auto run = [](int fault, int blocks = 8) {
        Array<int> y(256, -1);
        struct {
            halide_buffer_t *y;
            int fault;
        } arguments = {y.to_device(), fault};
        if (launch(hopper(), "cluster_sum", {blocks, 128, 2048}, "bi", arguments) != 0) {
            const std::string message = last_error();
            y.buffer().device_free();
            halyard_cuda_release();
            return message;
        }
        REQUIRE(y.to_host() == 0);
        for (int i = 0; i < 256; i++) {
            REQUIRE(y[i] == 4 * (i / 128 * 100 + i % 128) + 6);
        }
        return std::string();
    };
    CHECK(run(0) == "");
    CHECK_THAT(run(1), Contains("reads of another block of its cluster") && Contains("with no cluster_barrier since that has written"));
    CHECK_THAT(run(2), Contains("block 1 of a cluster of 4 reads shared memory of block 1; here only the first reads"));
    CHECK_THAT(run(3), Contains("ends after 2 barriers of its cluster, and block 3 of the cluster after 1"));
    CHECK_THAT(run(4), Contains("which may have ended: a cluster_barrier has to follow"));
    CHECK_THAT(run(0, 6), Contains("is launched with 6 blocks, which are no whole clusters of 4"));
}

TEST_CASE("faults: work of TMA that was not waited for", "[order]") {
    CHECK_THAT(fault(kNoWaitForLoad), (Contains("the tensor cores read element 0") && Contains("which TMA still fills")) ||
                                          Contains("without a wait for its barrier") || Contains("nobody has made") ||
                                          Contains("no thread of the block has written"));
    CHECK_THAT(fault(kReadsWhileLoading), Contains("thread (9, 0, 0): reads element") &&
                                              (Contains("which TMA still fills") || Contains("without a wait for its barrier") ||
                                               Contains("no thread of the block has written")));
    CHECK_THAT(fault(kWrongParity), Contains("TMA still fills") || Contains("deadlock:") || Contains("without a wait for its barrier") ||
                                        Contains("no thread of the block has written"));
    CHECK_THAT(fault(kNoWaitForEmptyStage), Contains("which TMA still fills") || Contains("without a wait for its barrier") ||
                                                Contains("which the tensor cores still read") ||
                                                Contains("arrives at the barrier at byte 4096"));
    CHECK_THAT(fault(kNoWaitForStore), Contains("the block ends while TMA may still store to y_map from byte 32768") &&
                                           Contains("thread (0, 0, 0) has not waited for it"));
    CHECK_THAT(fault(kNoCommitOfStore), Contains("writes element") && Contains("which TMA still reads to store it"));
    CHECK_THAT(fault(kOverwritesResult), Contains("writes element") && Contains("which TMA still reads to store it"));
}

TEST_CASE("faults: products that were not waited for", "[order]") {
    // The stage is given back without the wait, too.
    CHECK_THAT(fault(kReadsSumsTooEarly), Contains("touches sums that the tensor cores may still add to: wgmma_wait for the group") ||
                                              (Contains("TMA writes element 0") && Contains("which the tensor cores still read")));
    CHECK_THAT(fault(kNoCommit), Contains("touches sums that the tensor cores may still add to: wgmma_commit()") ||
                                     Contains("which the tensor cores still read"));
    CHECK_THAT(fault(kReleasesTooEarly),
               Contains("which the tensor cores still read: wgmma_wait has to come first") || Contains("touches sums"));
    CHECK_THAT(fault(kNoWaitAtEnd),
               Contains("the block ends while the tensor cores are still at work") && Contains("wgmma_wait is missing"));
}

TEST_CASE("faults: missing fences", "[order]") {
    CHECK_THAT(fault(kNoRegisterFence), Contains("the tensor cores add to sums that the thread has touched since its last wgmma_fence()"));
    CHECK_THAT(fault(kNoFenceOfStores),
               Contains("TMA reads element") && Contains("has written, without fence_shared() and a barrier after it"));
    CHECK_THAT(fault(kNoBarrierAfterFence), Contains("TMA reads element") && (Contains("has written with no barrier since") ||
                                                                              Contains("which no thread of the block has written")));
    CHECK_THAT(fault(kOperandWithoutFence),
               Contains("the tensor cores read element") && Contains("has written, without fence_shared() and a barrier after it"));
    CHECK_THAT(fault(kOperandWithoutBarrier), Contains("the tensor cores read element") && Contains("has written with no barrier since"));
    CHECK_THAT(fault(kBarriersNotReady), Contains("barriers_ready() is missing after barrier_init"));
}

TEST_CASE("faults: TMA writes where threads may still read", "[order]") {
    const auto run = [](int fault) {
        Matrix x(3 * 64, 64, 1);
        Array<float> y(256, 0);
        Tensor tx = x.tensor(64, 64);
        struct {
            halide_buffer_t *y;
            Tensor *x;
            int boxes, fault;
        } arguments = {y.to_device(), &tx, 3, fault};
        if (launch(hopper(), "boxes_in_one_place", {1, 256, 8208}, "btii", arguments) != 0) {
            const std::string message = last_error();
            x.data.buffer().device_free();
            y.buffer().device_free();
            halyard_cuda_release();
            return message;
        }
        y.to_host();
        for (int t = 0; t < 256; t++) {
            int sum = 0;
            for (int i = 0; i < 3; i++) {  // chunk c of line r is that of columns 8 (c ^ r % 8)
                const int r = t / 4;
                sum += element(i * 64 + r, (t % 4 * 2 ^ r % 8) * 8, 1) + element(i * 64, 7, 1);
            }
            if (y[t] != float(sum)) {
                return "wrong at " + std::to_string(t);
            }
        }
        return std::string();
    };
    CHECK(run(0) == "");
    CHECK(run(4) == "");
    for (const int fault : {1, 2, 3, 5}) {  // no fence; before the read; of all lanes but one; a barrier of the block, and no fence
        CHECK_THAT(run(fault), Contains("race: TMA, which loads from x_map for the barrier at byte 8192, writes element") &&
                                   Contains("has read without fence_shared() before the barrier that says so"));
    }
}

TEST_CASE("faults: barriers in shared memory", "[order]") {
    CHECK_THAT(fault(kBarrierNotMade),
               Contains("uses the barrier that is element") && Contains("which nobody has made: barrier_init is missing"));
    CHECK_THAT(fault(kNoBarrierAfterInit), Contains("has made with no barrier of threads since") || Contains("barrier_init is missing"));
    CHECK_THAT(fault(kExpectsTooManyBytes),
               Contains("deadlock:") && Contains("threads 0 to 127 wait for parity 0 of the barrier at byte 40960 (in "
                                                 "phase 0: 0 of 1 arrivals and 16 bytes are missing)"));
    CHECK_THAT(fault(kExpectsTooFewBytes), Contains("deadlock:") && Contains("0 of 1 arrivals and -16 bytes are missing"));
    CHECK_THAT(fault(kNeverArrives), Contains("deadlock:") && Contains("threads 128 to 128 wait for parity") &&
                                         Contains("1 of 1 arrivals and 0 bytes are missing"));
    CHECK_THAT(fault(kArrivesTooOften), Contains("arrives at the barrier at byte 4097") || Contains("waits for the one before") ||
                                            Contains("which the tensor cores still read"));
}

TEST_CASE("faults: threads that do not come along", "[order]") {
    CHECK_THAT(fault(kWarpWithoutProduct), Contains("the threads of a warpgroup multiply different matrices"));
    CHECK_THAT(fault(kOtherCommit),
               Contains("have not called wgmma_commit equally often") || Contains("which the tensor cores still read"));
    CHECK_THAT(fault(kTooManyRegisters),
               Contains("threads 0 to 127 wait for 232 registers each, or for others of the warpgroup; 0 are free"));
    CHECK_THAT(fault(kRegistersOfHalf),
               Contains("deadlock:") && Contains("threads 0 to 63 wait for 232 registers each, or for others of the warpgroup"));
}

TEST_CASE("faults: misplaced operands", "[order]") {
    CHECK_THAT(fault(kMisplacedOperand), Contains("a matrix of the tensor cores begins at byte 16512"));
    CHECK_THAT(fault(kMisplacedBox), Contains("accesses 128 bytes at once that are not aligned: element 8 of the shared array at byte 0"));
}

TEST_CASE("faults: boxes outside of their tensors' memory") {
    Matrix a(64, 64, 1), b(64, 64, 2), y(64, 64, 0);
    Tensor ty = y.tensor(64, 64), ta = a.tensor(64, 64), tb = b.tensor(64, 64);
    ta.extent[1] = 65;  // as the host would have to know
    const ProductArguments arguments = {&ty, &ta, &tb, 1, 2, 0};
    CHECK(launch(hopper(), "product_kn_half", {1, 384, 40992}, "tttiii", arguments) != 0);
    CHECK_THAT(last_error(), Contains("reads outside of an array: a_map, by TMA, element 4096"));
    for (Matrix *x : {&a, &b, &y}) {
        x->data.buffer().device_free();
    }
    halyard_cuda_release();
}

TEST_CASE("faults: what TMA stores behind a row of the caller's, whose rows are part of longer ones") {
    const auto run = [](int n) {
        Matrix a(129, 64, 1), b(64, n, 2), y(129, n, 0);
        Tensor ty = y.tensor(64, 64), ta = a.tensor(64, 64), tb = b.tensor(64, 64);
        halide_dimension_t dims[] = {{0, n, 1}, {0, 129, y.stride}};
        halide_buffer_t rows = *ty.buffer;
        rows.dimensions = 2;
        rows.dim = dims;
        ty.buffer = &rows;
        const ProductArguments arguments = {&ty, &ta, &tb, 1, 3, 0};
        const bool fails = launch(hopper(), "product_kn_half", {1, 384, 40992}, "tttiii", arguments) != 0;
        const std::string message = fails ? last_error() : "";
        for (Matrix *x : {&a, &b, &y}) {
            x->data.buffer().device_free();
        }
        if (fails) {
            halyard_cuda_release();
        }
        return message;
    };
    CHECK(run(56) == "");
    CHECK_THAT(run(57), Contains("kernel product_kn_half") &&
                            Contains("writes between the elements of an array: y_map, by TMA, element 56, 16 bytes; "
                                     "at (57, 0) of (57, 129)"));
}

TEST_CASE("tensors that the driver refuses") {
    Matrix a(64, 64, 1);
    const auto encode = [&](Tensor t) {
        const ProductArguments arguments = {&t, &t, &t, 0, 0, 0};
        return launch(hopper(), "product_kn_half", {1, 384, 40992}, "tttiii", arguments);
    };
    const Tensor right = a.tensor(64, 64);
    CHECK(encode(right) == 0);
    for (int fault = 0; fault < 6; fault++) {
        Tensor t = right;
        switch (fault) {
        case 0: t.stride[0] = 60; break;  // no multiple of 16 bytes
        case 1: t.box[0] = 128; break;    // wider than the swizzle
        case 2: t.box[1] = 257; break;
        case 3: t.box[0] = 20; break;  // no multiple of 16 bytes
        case 4: t.extent[0] = 0; break;
        case 5: t.step[1] = 9; break;
        }
        INFO(fault);
        CHECK(encode(t) != 0);
        CHECK_THAT(last_error(), Contains("CUDA_ERROR_INVALID_VALUE"));
    }
}
