// Views of one allocation that share elements, against all of their bytes one by one.

#include <catch2/catch.hpp>

#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "HalideRuntime.h"
#include "shared_memory.h"

namespace {

struct View {
    View(int bytes, int64_t at, const std::vector<std::pair<int, int>> &sizes) {
        for (const auto &[extent, stride] : sizes) {
            dim.push_back({0, extent, stride, 0});
        }
        buffer.type = halide_type_t(halide_type_uint, uint8_t(8 * bytes), 1);
        buffer.dimensions = int(dim.size());
        buffer.dim = dim.data();
        buffer.host = reinterpret_cast<uint8_t *>(uintptr_t(at));
    }
    View(const View &) = delete;

    std::set<int64_t> bytes() const {
        std::set<int64_t> all;
        std::vector<int64_t> begins = {int64_t(uintptr_t(buffer.host))};
        for (const auto &d : dim) {
            std::vector<int64_t> next;
            for (const int64_t b : begins) {
                for (int i = 0; i < d.extent; i++) {
                    next.push_back(b + int64_t(i) * d.stride * buffer.type.bytes());
                }
            }
            begins = next;
        }
        for (const int64_t b : begins) {
            for (int i = 0; i < buffer.type.bytes(); i++) {
                all.insert(b + i);
            }
        }
        return all;
    }

    std::vector<halide_dimension_t> dim;
    halide_buffer_t buffer = {};
};

bool shared(const View &y, const View &x) {
    const halide_buffer_t *const both[] = {&x.buffer, &y.buffer};
    int output = -1, other = -1;
    const bool found = halyard::find_shared(2, 2, both, &output, &other);
    CHECK((!found || (output == 1 && other == 0)));
    return found;
}

}  // namespace

TEST_CASE("views that share a byte, and those that lie between each other's rows", "[shared_memory]") {
    std::mt19937 random(20261130);
    const auto below = [&](int n) { return int(random() % uint32_t(n)); };
    int meet = 0, near = 0;
    for (int n = 0; n < 20000; n++) {
        const auto draw = [&] {
            std::vector<std::pair<int, int>> sizes;
            for (int d = below(4); d > 0; d--) {
                sizes.emplace_back(below(12) == 0 ? 0 : 1 + below(5), below(41) - 20);
            }
            return sizes;
        };
        const View a(1 << below(4), 100000 + below(100), draw()), b(1 << below(4), 100000 + below(100), draw());
        const std::set<int64_t> of_a = a.bytes(), of_b = b.bytes();
        bool wanted = false;
        for (const int64_t byte : of_a) {
            wanted = wanted || of_b.count(byte) > 0;
        }
        const bool in_reach = !of_a.empty() && !of_b.empty() && *of_a.begin() <= *of_b.rbegin() && *of_b.begin() <= *of_a.rbegin();
        CAPTURE(n);
        REQUIRE(shared(a, b) == wanted);
        meet += wanted;
        near += in_reach && !wanted;
    }
    CHECK(meet > 1000);
    CHECK(near > 1000);
}

TEST_CASE("columns of one matrix, all rows of it, and the same array", "[shared_memory]") {
    const int64_t at = 1 << 20;
    const View left(4, at, {{100, 1}, {1 << 20, 200}}), right(4, at + 400, {{100, 1}, {1 << 20, 200}}),
        middle(4, at + 396, {{100, 1}, {1 << 20, 200}}), backwards(4, at + 400 + 800LL * ((1 << 20) - 1), {{100, 1}, {1 << 20, -200}});
    CHECK_FALSE(shared(left, right));
    CHECK_FALSE(shared(left, backwards));
    CHECK(shared(left, middle));
    CHECK(shared(right, middle));
    CHECK(shared(right, backwards));
    CHECK(shared(left, left));
}

TEST_CASE("memory of a device, and of none", "[shared_memory]") {
    View x(4, 4096, {{10, 1}}), y(4, 8192, {{10, 1}});
    CHECK_FALSE(shared(y, x));
    x.buffer.device = y.buffer.device = 77824;
    CHECK(shared(y, x));
    y.buffer.device += 40;
    CHECK_FALSE(shared(y, x));
    y.buffer.host = x.buffer.host = nullptr;
    CHECK_FALSE(shared(y, x));
}

TEST_CASE("outputs share nothing with each other, inputs what they like", "[shared_memory]") {
    const View a(4, 4096, {{10, 1}}), b(4, 4100, {{10, 1}}), c(4, 8192, {{10, 1}});
    const halide_buffer_t *const all[] = {&c.buffer, &a.buffer, &b.buffer};
    int output = -1, other = -1;
    CHECK_FALSE(halyard::find_shared(1, 3, all, &output, &other));
    REQUIRE(halyard::find_shared(7, 3, all, &output, &other));
    CHECK((output == 1 && other == 2));
}
