// Weights of 4 bits from words of files and back, against what the header says of each.
#include <catch2/catch.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <HalideRuntime.h>
#include <halyard/blocks.h>
#include <halyard/runtime.h>

namespace {

struct Sizes {
    int k, n;
};

// What a word has for row k and column n, from the header's table and nothing else.
uint32_t stored(halyard_words layout, const std::vector<uint32_t> &words, const Sizes &s, int k, int n) {
    static const int kAwq[] = {0, 2, 4, 6, 1, 3, 5, 7};
    if (layout == HALYARD_WORDS_ALONG_K) {
        return words[size_t(k / 8 * s.n + n)] >> 4 * (k % 8) & 15;
    }
    const uint32_t word = words[size_t(k * (s.n / 8) + n / 8)];
    for (int j = 0; j < 8; j++) {
        if ((layout == HALYARD_WORDS_AWQ ? kAwq[j] : j) == n % 8) {
            return word >> 4 * j & 15;
        }
    }
    return 99;
}

std::vector<uint32_t> random_words(const Sizes &s) {
    std::mt19937 random(uint32_t(s.k * 31 + s.n));
    std::vector<uint32_t> words(size_t(s.k) * size_t(s.n) / 8);
    for (auto &w : words) {
        w = uint32_t(random());
    }
    return words;
}

halyard_array array_of(void *memory, const char *type, const std::vector<int64_t> &extents) {
    halyard_array a;
    REQUIRE(halyard_array_init(&a, memory, type, int(extents.size()), extents.data(), nullptr));
    return a;
}

halyard_array array_of_words(halyard_words layout, std::vector<uint32_t> &words, const Sizes &s) {
    return layout == HALYARD_WORDS_ALONG_K ? array_of(words.data(), "uint32", {s.n, s.k / 8})
                                           : array_of(words.data(), "int32", {s.n / 8, s.k});
}

}  // namespace

TEST_CASE("words of 4-bit weights become blocks, and come back to the bit") {
    for (const halyard_words layout : {HALYARD_WORDS_ALONG_K, HALYARD_WORDS_ALONG_N, HALYARD_WORDS_AWQ}) {
        for (const Sizes s : {Sizes{32, 8}, Sizes{96, 40}, Sizes{256, 136}}) {
            INFO(int(layout) << " " << s.k << " " << s.n);
            auto words = random_words(s);
            std::vector<uint8_t> bytes(size_t(s.k) * size_t(s.n) / 2, 0x5a);
            const halyard_array from = array_of_words(layout, words, s);
            halyard_array to = array_of(bytes.data(), "uint8", {s.k / 2, s.n});
            REQUIRE(halyard_pack_int4(layout, &from.buffer, &to.buffer) == 0);
            size_t wrong = 0;
            for (int n = 0; n < s.n; n++) {
                for (int k = 0; k < s.k; k++) {
                    const uint8_t byte = bytes[size_t(n * s.k / 2 + k / 32 * 16 + k % 16)];
                    wrong += (k % 32 < 16 ? byte & 15u : byte >> 4u) != stored(layout, words, s, k, n);
                }
            }
            CHECK(wrong == 0);
            std::vector<uint32_t> back(words.size(), 0xdeadbeef);
            halyard_array again = array_of_words(layout, back, s);
            REQUIRE(halyard_unpack_int4(layout, &to.buffer, &again.buffer) == 0);
            CHECK(back == words);
        }
    }
}

TEST_CASE("zero points of words become bytes") {
    const Sizes s = {3, 16};  // groups and columns
    auto words = random_words(s);
    for (const halyard_words layout : {HALYARD_WORDS_ALONG_N, HALYARD_WORDS_AWQ}) {
        for (const int more : {0, 1}) {
            std::vector<uint8_t> zeros(size_t(s.k) * size_t(s.n));
            const halyard_array from = array_of_words(layout, words, s);
            halyard_array to = array_of(zeros.data(), "uint8", {s.k, s.n});
            REQUIRE(halyard_pack_zeros(layout, &from.buffer, more, &to.buffer) == 0);
            size_t wrong = 0;
            for (int n = 0; n < s.n; n++) {
                for (int g = 0; g < s.k; g++) {
                    wrong += zeros[size_t(n * s.k + g)] != ((stored(layout, words, s, g, n) + unsigned(more)) & 15);
                }
            }
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("blocks of some columns are interleaved, and come back to the bit") {
    for (const int bytes : {18, 20, 34}) {
        for (const int columns : {8, 16, 32}) {
            for (const int n : {1, 16, 45}) {
                INFO(bytes << " " << columns << " " << n);
                const int blocks = 3, panels = (n + columns - 1) / columns, halves = bytes == 20 ? 2 : 1;
                std::mt19937 random(uint32_t(bytes * 31 + n));
                std::vector<uint8_t> plain(size_t(bytes * blocks * n)), beside(size_t(bytes * columns * blocks * panels), 0x5a);
                for (uint8_t &b : plain) {
                    b = uint8_t(random());
                }
                const halyard_array from = array_of(plain.data(), "uint8", {bytes, blocks, n});
                halyard_array to = array_of(beside.data(), "uint8", {bytes * columns, blocks, panels});
                REQUIRE(halyard_interleave_blocks(&from.buffer, &to.buffer) == 0);
                size_t wrong = 0;
                for (int col = 0; col < panels * columns; col++) {
                    for (int block = 0; block < blocks; block++) {
                        const uint8_t *panel = &beside[size_t((col / columns * blocks + block) * bytes * columns)];
                        for (int i = 0; i < bytes; i++) {
                            const int size = i < 2 * halves ? 2 : 4, in_unit = (i - (size == 2 ? 0 : 2 * halves)) % size;
                            const uint8_t expected = col < n ? plain[size_t((col * blocks + block) * bytes + i)] : 0;
                            wrong += panel[(i - in_unit) * columns + col % columns * size + in_unit] != expected;
                        }
                    }
                }
                CHECK(wrong == 0);
                std::vector<uint8_t> back(plain.size(), 0xa5);
                halyard_array again = array_of(back.data(), "uint8", {bytes, blocks, n});
                REQUIRE(halyard_deinterleave_blocks(&to.buffer, &again.buffer) == 0);
                CHECK(back == plain);
            }
        }
    }
}

TEST_CASE("what is wrong with words and blocks is said") {
    std::vector<uint32_t> words(64);
    std::vector<uint8_t> bytes(256);
    const halyard_array w = array_of(words.data(), "uint32", {8, 8});
    halyard_array b = array_of(bytes.data(), "uint8", {16, 8}), few = array_of(bytes.data(), "uint8", {16, 7});
    halyard_array rank = array_of(bytes.data(), "uint8", {16, 1, 8}), empty = array_of(nullptr, "uint8", {32, 8});
    const auto text = [&](int code) { return code == 0 ? std::string() : std::string(halyard_last_error()); };
    const auto pack = [&](halyard_array &to) { return text(halyard_pack_int4(HALYARD_WORDS_ALONG_K, &w.buffer, &to.buffer)); };
    using Catch::Matchers::Contains;
    CHECK_THAT(pack(b), Contains("another number of weights"));
    CHECK_THAT(pack(few), Contains("another number of weights"));
    CHECK_THAT(pack(rank), Contains("2 dimensions"));
    CHECK_THAT(pack(empty), Contains("no memory"));
    CHECK_THAT(text(halyard_pack_int4(HALYARD_WORDS_ALONG_K, &b.buffer, &b.buffer)), Contains("int32 or uint32"));
    CHECK_THAT(text(halyard_pack_int4(HALYARD_WORDS_ALONG_K, nullptr, &b.buffer)), Contains("NULL"));
    CHECK_THAT(text(halyard_pack_int4(halyard_words(7), &w.buffer, &b.buffer)), Contains("no such layout"));
    std::vector<uint8_t> memory(4096);
    halyard_array odd = array_of(memory.data(), "uint8", {19, 2, 8}), q4 = array_of(memory.data(), "uint8", {18, 2, 9});
    halyard_array one = array_of(memory.data(), "uint8", {144, 2, 1}), three = array_of(memory.data(), "uint8", {54, 2, 3});
    const auto interleave = [&](const halyard_array &from, halyard_array &to) {
        return text(halyard_interleave_blocks(&from.buffer, &to.buffer));
    };
    CHECK_THAT(interleave(odd, one), Contains("18 bytes (Q4_0)"));
    CHECK_THAT(interleave(q4, three), Contains("8, 16 or 32"));
    CHECK_THAT(interleave(q4, one), Contains("ceil(n / columns)"));
    CHECK_THAT(interleave(w, one), Contains("uint8 of 3 dimensions"));
    halyard_array over = array_of(memory.data() + 323, "uint8", {144, 2, 2}), behind = array_of(memory.data() + 324, "uint8", {144, 2, 2});
    CHECK_THAT(interleave(q4, over), Contains("shares memory"));
    CHECK_THAT(interleave(q4, behind), Catch::Matchers::Equals(""));
    const halyard_array own = array_of(words.data(), "uint8", {16, 4});
    halyard_array half = array_of(bytes.data(), "uint32", {4, 4});
    CHECK_THAT(text(halyard_unpack_int4(HALYARD_WORDS_ALONG_K, &own.buffer, &half.buffer)), Catch::Matchers::Equals(""));
    half = array_of(words.data() + 15, "uint32", {4, 4});
    CHECK_THAT(text(halyard_unpack_int4(HALYARD_WORDS_ALONG_K, &own.buffer, &half.buffer)), Contains("shares memory"));
    CHECK_THAT(text(halyard_deinterleave_blocks(nullptr, &q4.buffer)), Contains("NULL"));
    CHECK_THAT(text(halyard_pack_zeros(HALYARD_WORDS_ALONG_N, &w.buffer, 0, &b.buffer)), Contains("another number of zero points"));
}
