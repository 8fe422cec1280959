// Buffers in memory as a test wants them.

#include <cmath>
#include <cstring>

#include <catch2/catch.hpp>

#include "kernel/buffer.h"
#include "kernel/failure.h"

namespace {

using halyard::HostBuffer;
using halyard::Layout;

const halide_type_t kF32(halide_type_float, 32), kF16(halide_type_float, 16);

Layout layout(std::vector<int> extents, std::vector<int> mins, std::vector<int> strides, int offset = 0) {
    Layout l(std::move(extents));
    l.mins = std::move(mins);
    l.strides = std::move(strides);
    l.offset = offset;
    return l;
}

}  // namespace

TEST_CASE("A plain buffer is dense and poisoned", "[buffer]") {
    HostBuffer b(kF32, Layout({3, 5}));
    CHECK(b.size() == 15);
    CHECK(b.bytes() == 60);
    CHECK(b.raw()->dimensions == 2);
    CHECK(b.raw()->dim[1].stride == 3);
    CHECK(b.raw()->dim[1].extent == 5);
    for (const double v : b.values()) {
        CHECK(std::isnan(v));
    }
    CHECK(b.surroundings_intact());
}

TEST_CASE("Strides, mins and offset", "[buffer]") {
    HostBuffer b(kF32, layout({4, 3}, {10, -2}, {2, -16}, 5));
    std::vector<double> values;
    for (int i = 0; i < 12; i++) {
        values.push_back(i);
    }
    b.assign(values);
    CHECK(b.values() == values);
    CHECK(b.get({1, 2}) == 9);
    // As a kernel finds it: host is the address of the element at the mins.
    const auto *host = reinterpret_cast<const float *>(b.raw()->host);
    CHECK(b.raw()->dim[0].min == 10);
    CHECK(b.raw()->dim[1].min == -2);
    CHECK(host[0] == 0);
    CHECK(host[2] == 1);
    CHECK(host[-16] == 4);
    CHECK(host[6 - 32] == 11);
    // The lowest element lies `offset` elements behind a cache line.
    CHECK(reinterpret_cast<uintptr_t>(host - 32) % 64 == 5 * sizeof(float));
    CHECK(b.surroundings_intact());
}

TEST_CASE("A byte outside of the elements is seen", "[buffer]") {
    HostBuffer b(kF16, layout({3, 2}, {0, 0}, {1, 8}));
    b.fill(1);
    CHECK(b.surroundings_intact());
    auto *host = reinterpret_cast<uint16_t *>(b.raw()->host);
    for (const int outside : {-1, 3, 7, 11, 100}) {
        const uint16_t before = host[outside];
        host[outside] = 0;
        INFO(outside);
        CHECK_FALSE(b.surroundings_intact());
        host[outside] = before;
        CHECK(b.surroundings_intact());
    }
}

TEST_CASE("Random values depend on the seed and not on the layout", "[buffer]") {
    HostBuffer dense(kF32, Layout({33, 7})), sparse(kF32, layout({33, 7}, {3, 3}, {1, 64}, 1)), other(kF32, Layout({33, 7}));
    dense.fill_random(1);
    sparse.fill_random(1);
    other.fill_random(2);
    CHECK(dense.values() == sparse.values());
    CHECK(dense.values() != other.values());
    double sum = 0;
    for (const double v : dense.values()) {
        CHECK((v >= -1 && v <= 1));
        sum += v;
    }
    CHECK(std::fabs(sum / 231) < 0.2);
    sparse.poison();
    CHECK(std::isnan(sparse.values()[100]));
}

TEST_CASE("Empty, scalar and broadcast buffers", "[buffer]") {
    HostBuffer empty(kF32, Layout({0, 4})), scalar(kF32, Layout(std::vector<int>{}));
    CHECK(empty.size() == 0);
    CHECK(empty.values().empty());
    CHECK(empty.surroundings_intact());
    CHECK(scalar.size() == 1);
    scalar.set({}, 2.5);
    CHECK(scalar.get({}) == 2.5);
    HostBuffer row(kF32, layout({4, 3}, {}, {1, 0}));
    row.set({2, 0}, 7);
    CHECK(row.get({2, 2}) == 7);
    CHECK(row.surroundings_intact());
}

TEST_CASE("What is outside throws", "[buffer]") {
    HostBuffer b(kF32, Layout({3, 2}));
    CHECK_THROWS_AS(b.get({3, 0}), halyard::Failure);
    CHECK_THROWS_AS(b.get({0, -1}), halyard::Failure);
    CHECK_THROWS_AS(b.get({0}), halyard::Failure);
    CHECK_THROWS_AS(b.assign({1, 2, 3}), halyard::Failure);
    CHECK_THROWS_AS(HostBuffer(kF32, layout({3}, {0, 0}, {})), halyard::Failure);
}
