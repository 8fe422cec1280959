// Packing of weights, and arrays of C programs, against what the header says of each element.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <list>
#include <random>
#include <string>
#include <vector>

#include <HalideRuntime.h>
#include <halyard/pack.h>
#include <halyard/runtime.h>

#include "float_bits.h"

namespace {

using Extents = std::vector<int64_t>;

// The metadata of a library with packed arguments: what a generator's constraints make of them.
class Library {
public:
    void add(const char *name, halide_type_t type, const Extents &fixed) {
        auto &numbers = numbers_.emplace_back();
        for (const int64_t extent : fixed) {
            numbers.push_back(0);
            numbers.push_back(extent);
        }
        auto &pointers = pointers_.emplace_back();
        for (const int64_t &n : numbers) {
            pointers.push_back(n > 0 || &n == &numbers[0] ? &n : nullptr);
        }
        arguments_.push_back(
            {name, halide_argument_kind_input_buffer, int32_t(fixed.size()), type, nullptr, nullptr, nullptr, nullptr, pointers.data()});
    }

    const halide_filter_metadata_t *metadata() {
        metadata_ = {1, int32_t(arguments_.size()), arguments_.data(), "x86-64-linux", "product"};
        return &metadata_;
    }

private:
    std::list<std::vector<int64_t>> numbers_;
    std::list<std::vector<const int64_t *>> pointers_;
    std::vector<halide_filter_argument_t> arguments_;
    halide_filter_metadata_t metadata_{};
};

constexpr int kUnwritten = 0x7f;

template<class T>
T element(const halyard_array &a, const Extents &at) {
    int64_t offset = 0;
    for (size_t d = 0; d < at.size(); d++) {
        offset += at[d] * a.dim[d].stride;
    }
    return reinterpret_cast<const T *>(a.buffer.host)[offset];
}

// Packs a matrix of numbers that are their own index, and compares each.
template<class T>
void check_matrix(const char *type, int group, int panel, int64_t k, int64_t n, bool transposed) {
    CAPTURE(type, group, panel, k, n, transposed);
    Library library;
    library.add("b_packed", halyard_type(type), {group, panel, 0, 0});
    const int64_t pitch = (transposed ? k : n) + 3;
    std::vector<T> weights(size_t(pitch * (transposed ? n : k)));
    for (int64_t i = 0; i < k; i++) {
        for (int64_t c = 0; c < n; c++) {
            weights[size_t(transposed ? c * pitch + i : i * pitch + c)] = T(i * 31 + c);
        }
    }
    const Extents extents = {k, n}, strides = transposed ? Extents{1, pitch} : Extents{pitch, 1};
    halyard_array from, packed;
    REQUIRE(halyard_array_init(&from, weights.data(), type, 2, extents.data(), strides.data()));
    const int64_t bytes = halyard_packed_bytes(library.metadata(), nullptr, &from.buffer);
    REQUIRE(bytes == int64_t(sizeof(T)) * ((k + group - 1) / group * group) * ((n + panel - 1) / panel * panel));
    std::vector<uint8_t> memory(size_t(bytes), kUnwritten);
    REQUIRE(halyard_pack(library.metadata(), "b_packed", &from.buffer, memory.data(), &packed) == 0);
    CHECK(packed.buffer.dim == packed.dim);
    CHECK(packed.buffer.type == halyard_type(type));
    int64_t wrong = 0;
    for (int64_t i = 0; i < (k + group - 1) / group * group; i++) {
        for (int64_t c = 0; c < n; c++) {
            const T found = element<T>(packed, {i % group, c % panel, i / group, c / panel});
            wrong += found != (i < k ? T(i * 31 + c) : T(0));
        }
    }
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("weights are packed into panels and groups", "[pack]") {
    for (const int64_t k : {1, 2, 5, 64, 77}) {
        for (const int64_t n : {1, 15, 16, 33, 96}) {
            for (const bool transposed : {false, true}) {
                check_matrix<float>("float32", 1, 16, k, n, transposed);
                check_matrix<float>("float32", 1, 48, k, n, transposed);
                check_matrix<uint16_t>("bfloat16", 2, 32, k, n, transposed);
                check_matrix<uint16_t>("float16", 1, 64, k, n, transposed);
                check_matrix<int8_t>("int8", 4, 16, k, n, transposed);
                check_matrix<uint8_t>("uint8", 4, 64, k, n, transposed);
            }
        }
    }
}

TEST_CASE("no weights are packed into nothing", "[pack]") {
    Library library;
    library.add("b_packed", halyard_type("float32"), {1, 16, 0, 0});
    halyard_array from, packed;
    for (const Extents &extents : {Extents{0, 5}, Extents{7, 0}}) {
        REQUIRE(halyard_array_init(&from, nullptr, "float32", 2, extents.data(), nullptr));
        CHECK(halyard_packed_bytes(library.metadata(), nullptr, &from.buffer) == 0);
        CHECK(halyard_pack(library.metadata(), nullptr, &from.buffer, nullptr, &packed) == 0);
    }
}

TEST_CASE("matrices side by side are packed into one", "[pack]") {
    Library library;
    library.add("w_packed", halyard_type("bfloat16"), {2, 32, 0, 0});
    const int64_t k = 9, widths[] = {33, 7, 40};
    std::vector<uint16_t> all, memory(5 * 2 * 32 * 3, 0xffff);
    halyard_array from, packed;
    int64_t first = 0;
    for (const int64_t n : widths) {
        std::vector<uint16_t> part(size_t(k * n));
        for (int64_t i = 0; i < k * n; i++) {
            part[size_t(i)] = uint16_t(first * k + i);
        }
        const Extents extents = {k, n};
        REQUIRE(halyard_array_init(&from, part.data(), "bfloat16", 2, extents.data(), nullptr));
        from.dim[1].min = int32_t(first);
        first += n;
        CHECK(halyard_packed_bytes(library.metadata(), nullptr, &from.buffer) == 5 * 2 * 2 * 32 * ((first + 31) / 32));
        REQUIRE(halyard_pack(library.metadata(), nullptr, &from.buffer, memory.data(), &packed) == 0);
    }
    CHECK(packed.dim[3].extent == 3);
    for (int64_t c = 0; c < 80; c++) {
        for (int64_t i = 0; i < k; i++) {
            CHECK(element<uint16_t>(packed, {i % 2, c % 32, i / 2, c / 32}) == uint16_t(c * k + i));
        }
    }
}

TEST_CASE("weights of convolutions are packed, and summed", "[pack]") {
    Library library;
    library.add("weight_packed", halyard_type("int8"), {4, 16, 0, 3, 3, 0, 0});
    const int64_t channels = 5, outputs = 19, groups = 2;
    const Extents extents = {channels, 3, 3, outputs, groups};
    std::vector<int8_t> weights(size_t(channels * 9 * outputs * groups));
    std::mt19937 random(1);
    for (int8_t &w : weights) {
        w = int8_t(random());
    }
    halyard_array from, packed, sums, taps;
    REQUIRE(halyard_array_init(&from, weights.data(), "int8", 5, extents.data(), nullptr));
    std::vector<int8_t> memory(size_t(halyard_packed_bytes(library.metadata(), nullptr, &from.buffer)), kUnwritten);
    CHECK(memory.size() == 8 * 16 * 9 * 2 * 2);
    REQUIRE(halyard_pack(library.metadata(), nullptr, &from.buffer, memory.data(), &packed) == 0);
    const Extents of_channels = {outputs, groups}, of_taps = {outputs, 3, 3, groups};
    std::vector<int32_t> sum(size_t(outputs * groups)), tap(size_t(outputs * 9 * groups));
    halyard_array_init(&sums, sum.data(), "int32", 2, of_channels.data(), nullptr);
    halyard_array_init(&taps, tap.data(), "int32", 4, of_taps.data(), nullptr);
    REQUIRE(halyard_sum_weights(&from.buffer, &sums.buffer) == 0);
    REQUIRE(halyard_sum_weights(&from.buffer, &taps.buffer) == 0);
    for (int64_t g = 0; g < groups; g++) {
        for (int64_t o = 0; o < outputs; o++) {
            int32_t all = 0;
            for (int64_t y = 0; y < 3; y++) {
                for (int64_t x = 0; x < 3; x++) {
                    int32_t here = 0;
                    for (int64_t c = 0; c < channels; c++) {
                        const int8_t w = element<int8_t>(from, {c, x, y, o, g});
                        CHECK(element<int8_t>(packed, {c % 4, o % 16, c / 4, x, y, o / 16, g}) == w);
                        here += w;
                    }
                    CHECK(element<int32_t>(taps, {o, x, y, g}) == here);
                    all += here;
                }
            }
            CHECK(element<int32_t>(sums, {o, g}) == all);
        }
    }
    sum.assign(sum.size(), 12345);
    sums.dim[1].stride = int32_t(outputs) - 1;
    CHECK(halyard_sum_weights(&from.buffer, &sums.buffer) != 0);
    CHECK_THAT(halyard_last_error(), Catch::Contains("share memory"));
    sums.dim[1].stride = int32_t(outputs);
    sums.buffer.host = reinterpret_cast<uint8_t *>(weights.data());
    CHECK(halyard_sum_weights(&from.buffer, &sums.buffer) != 0);
    CHECK_THAT(halyard_last_error(), Catch::Contains("share memory"));
    // Of no channels they are 0, and of no groups there are none.
    halyard_array none = from, zero = sums;
    none.buffer.dim = none.dim;
    none.buffer.host = nullptr;
    none.dim[0].extent = 0;
    zero.buffer.dim = zero.dim;
    zero.buffer.host = reinterpret_cast<uint8_t *>(sum.data());
    CHECK(halyard_sum_weights(&none.buffer, &zero.buffer) == 0);
    CHECK(std::count(sum.begin(), sum.end(), 0) == int64_t(sum.size()));
    none.dim[4].extent = zero.dim[1].extent = 0;
    zero.buffer.host = nullptr;
    CHECK(halyard_sum_weights(&none.buffer, &zero.buffer) == 0);
    sums.buffer.host = reinterpret_cast<uint8_t *>(sum.data());
    sum.assign(sum.size(), 12345);
    // Of extents below 0 there may be as many products as of others.
    for (halide_dimension_t *d : {from.dim + 3, from.dim + 4, sums.dim, sums.dim + 1}) {
        d->extent = -2;
    }
    sums.buffer.host += sizeof(int32_t) * sum.size() / 2;
    CHECK(halyard_sum_weights(&from.buffer, &sums.buffer) != 0);
    CHECK(std::count(sum.begin(), sum.end(), 12345) == int64_t(sum.size()));
}

TEST_CASE("weights are converted to nearest, ties to even", "[pack]") {
    using halyard::bits_of;
    using halyard::float_of;
    int64_t wrong = 0;
    for (uint32_t h = 0; h < 0x10000; h++) {
        const halyard::Float16 half{uint16_t(h)};
        _Float16 same;
        memcpy(&same, &h, sizeof(same));
        const float f = halyard::to_float(half);
        const bool is_nan = (h & 0x7fff) > 0x7c00;
        wrong += is_nan ? f == f : bits_of(f) != bits_of(float(same));
        // What is halfway to the next one, and what is a little off it.
        const float next = halyard::to_float(halyard::Float16{uint16_t(h + 1)});
        const float halfway = float_of(bits_of(f) / 2 + bits_of(next) / 2 + (bits_of(f) & bits_of(next) & 1));
        for (const int off : {-1, 0, 1}) {
            const float g = float_of(bits_of(halfway) + uint32_t(off));
            halyard::Float16 to;
            halyard::from_float(g, to);
            const _Float16 expected = static_cast<_Float16>(g);
            uint16_t bits;
            memcpy(&bits, &expected, sizeof(bits));
            wrong += g == g ? to.bits != bits : (to.bits & 0x7fff) <= 0x7c00;
        }
    }
    CHECK(wrong == 0);
    const auto bf16 = [](uint32_t bits) {
        halyard::BFloat16 b;
        halyard::from_float(float_of(bits), b);
        return b.bits;
    };
    CHECK(bf16(0x3f808000) == 0x3f80);
    CHECK(bf16(0x3f818000) == 0x3f82);
    CHECK(bf16(0x3f808001) == 0x3f81);
    CHECK(bf16(0x7f7fffff) == 0x7f80);
    CHECK(bf16(0xff800000) == 0xff80);
    CHECK((bf16(0x7f800001) & 0x7fff) > 0x7f80);

    Library library;
    library.add("b_packed", halyard_type("bfloat16"), {2, 16, 0, 0});
    const std::vector<float> weights = {1.0f, 1.00390625f, -3.0f, std::numeric_limits<float>::infinity()};
    const Extents extents = {4, 1};
    halyard_array from, packed;
    halyard_array_init(&from, weights.data(), "float32", 2, extents.data(), nullptr);
    std::vector<uint16_t> memory(64);
    REQUIRE(halyard_pack(library.metadata(), nullptr, &from.buffer, memory.data(), &packed) == 0);
    CHECK(memory[0] == 0x3f80);
    CHECK(memory[1] == 0x3f80);
    CHECK(memory[32] == 0xc040);
    CHECK(memory[33] == 0x7f80);
}

TEST_CASE("what cannot be packed is an error that says why", "[pack]") {
    Library library;
    library.add("w_gate_packed", halyard_type("bfloat16"), {2, 32, 0, 0});
    library.add("w_up_packed", halyard_type("bfloat16"), {2, 32, 0, 0});
    library.add("b_nk", halyard_type("bfloat16"), {0, 0});
    std::vector<int8_t> data(4096);
    const Extents matrix = {4, 4}, cube = {4, 4, 4};
    halyard_array from, packed;
    REQUIRE(halyard_array_init(&from, data.data(), "float32", 2, matrix.data(), nullptr));
    const auto error = [&](const halide_filter_metadata_t *metadata, const char *name, const halide_buffer_t *weights, void *memory) {
        CHECK(halyard_pack(metadata, name, weights, memory, &packed) != 0);
        return std::string(halyard_last_error());
    };
    const halide_filter_metadata_t *metadata = library.metadata();
    CHECK(error(nullptr, nullptr, &from.buffer, data.data()) ==
          "halyard_pack: there is no metadata; give what the library's NAME_metadata() returns");
    CHECK(error(metadata, nullptr, &from.buffer, data.data()) ==
          "halyard_pack: product has several packed arguments; give the name of one");
    CHECK(error(metadata, "b_nk", &from.buffer, data.data()) == "halyard_pack: the library has no packed argument \"b_nk\"");
    CHECK(error(metadata, "w_up_packed", nullptr, data.data()) == "halyard_pack: there are no weights for \"w_up_packed\"");
    CHECK(error(metadata, "w_up_packed", &from.buffer, nullptr) ==
          "halyard_pack: the weights for \"w_up_packed\", the memory to pack them into, or the array to make of it is NULL");
    CHECK(error(metadata, "w_up_packed", &from.buffer, data.data() + 60) ==
          "halyard_pack: the memory to pack \"w_up_packed\" into shares some with the weights");
    halyard_array_init(&from, data.data(), "int8", 2, matrix.data(), nullptr);
    CHECK(error(metadata, "w_up_packed", &from.buffer, data.data()) ==
          "halyard_pack: \"w_up_packed\" is not made of weights of this type; floats of 16 and 32 bits are converted, others are not");
    halyard_array_init(&from, data.data(), "float32", 3, cube.data(), nullptr);
    CHECK(error(metadata, "w_up_packed", &from.buffer, data.data()) ==
          "halyard_pack: \"w_up_packed\" is made of weights of 2 dimensions, not of 3");
    halyard_array_init(&from, data.data(), "float32", 2, matrix.data(), nullptr);
    from.dim[1].extent = -1;
    CHECK(error(metadata, "w_up_packed", &from.buffer, data.data()) ==
          "halyard_pack: the weights for \"w_up_packed\" have a negative extent, or begin at a negative column");
    CHECK(halyard_packed_bytes(metadata, "w_up_packed", &from.buffer) == -1);

    const Extents negative = {4, -1}, large = {int64_t(1) << 31};
    CHECK(halyard_array_init(&from, nullptr, "float8", 2, matrix.data(), nullptr) == nullptr);
    CHECK(halyard_array_init(&from, nullptr, nullptr, 2, matrix.data(), nullptr) == nullptr);
    CHECK(halyard_array_init(&from, nullptr, "int8", 9, matrix.data(), nullptr) == nullptr);
    CHECK(halyard_array_init(&from, nullptr, "int8", 2, negative.data(), nullptr) == nullptr);
    CHECK(halyard_array_init(&from, nullptr, "int8", 1, large.data(), nullptr) == nullptr);
    CHECK(std::string(halyard_last_error()).find("31 bits") != std::string::npos);
    CHECK(halyard_type("bfloat16") == halide_type_t(halide_type_bfloat, 16));
}
