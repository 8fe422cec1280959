// Weights of 4 bits from words of files and back, against what the header says of each.
#include <catch2/catch.hpp>

#include <cstdint>
#include <functional>
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

// A block of a file and an interleaved one of a column, as the header and ggml-common.h have them.
struct BlockLayout {
    int bytes, elements, bits, halves, small, interleaved;
};

using Column = std::function<int(int)>;  // a byte

int bits_at(int byte, int first, int count) {
    return byte >> first & ((1 << count) - 1);
}

// Number i of those without a scale, which lie alike in both.
int bytes_of_number(const BlockLayout &f, const Column &byte, int i) {
    uint32_t number = 0;
    for (int b = 0; b < f.bits / 8; b++) {
        number |= uint32_t(byte(f.bits / 8 * i + b)) << (8 * b);
    }
    return int(number);
}

// Element i of a block of a file.
int element_of_file(const BlockLayout &f, const Column &byte, int i) {
    const int j = i / 32, l = i % 32;
    if (f.bytes == 34) {
        return byte(2 + i);
    }
    if (f.bits >= 16) {
        return bytes_of_number(f, byte, i);
    }
    if (f.bytes == 210) {
        return bits_at(byte(64 * (i / 128) + 32 * (j % 2) + l), j % 4 < 2 ? 0 : 4, 4) +
               16 * bits_at(byte(128 + 32 * (i / 128) + l), 2 * (j % 4), 2);
    }
    if (f.elements == 256) {
        const int low = bits_at(byte(f.bytes - 128 + 32 * (j / 2) + l), j % 2 * 4, 4);
        return low + (f.bits == 5 ? 16 * bits_at(byte(16 + l), j, 1) : 0);
    }
    const int low = bits_at(byte(f.bytes - 16 + l % 16), l / 16 * 4, 4);
    return low + (f.bits == 5 ? 16 * bits_at(byte(2 * f.halves + l / 8), l % 8, 1) : 0);
}

// What the scale of elements 32 j to 32 j + 31 is multiplied by, or of 16 of q6_k; from 8 on the minima.
int small_of_file(const BlockLayout &f, const Column &byte, int j) {
    if (f.bytes == 210) {
        return byte(192 + j);
    }
    const int of = j % 8, first = j < 8 ? 4 : 8;
    return of < 4 ? bits_at(byte(first + of), 0, 6) : bits_at(byte(8 + of), j < 8 ? 0 : 4, 4) + 16 * bits_at(byte(first + of - 4), 6, 2);
}

int element_of_panel(const BlockLayout &f, const Column &byte, int i) {
    const int j = i / 32, l = i % 32, high = 2 * f.halves + f.small, blocks = f.elements / 32;
    if (f.bits == 8) {
        return byte(high + i);
    }
    if (f.bits >= 16) {
        return bytes_of_number(f, byte, i);
    }
    const int low = bits_at(byte(high + 4 * (f.bits - 4) * blocks + 16 * j + l % 16), l / 16 * 4, 4);
    const int of_high = f.bits == 5   ? bits_at(byte(high + 4 * j + l % 4), l / 4, 1)
                        : f.bits == 6 ? bits_at(byte(high + 8 * j + 4 * (l / 16) + l % 4), 2 * (l % 16 / 4), 2)
                                      : 0;
    return low + 16 * of_high;
}

TEST_CASE("blocks of some columns are interleaved, and come back to the bit") {
    for (const BlockLayout f : {BlockLayout{18, 32, 4, 1, 0, 18}, BlockLayout{20, 32, 4, 2, 0, 20}, BlockLayout{22, 32, 5, 1, 0, 22},
                                BlockLayout{24, 32, 5, 2, 0, 24}, BlockLayout{34, 32, 8, 1, 0, 34}, BlockLayout{144, 256, 4, 2, 16, 148},
                                BlockLayout{176, 256, 5, 2, 16, 180}, BlockLayout{210, 256, 6, 1, 16, 210},
                                BlockLayout{64, 32, 16, 0, 0, 64}, BlockLayout{128, 32, 32, 0, 0, 128}}) {
        for (const int columns : {8, 16, 32}) {
            for (const int n : {1, 16, 45}) {
                INFO(f.bytes << " " << columns << " " << n);
                const int blocks = 3, panels = (n + columns - 1) / columns, of_panel = f.interleaved * columns;
                std::mt19937 random(uint32_t(f.bytes * 31 + n));
                std::vector<uint8_t> plain(size_t(f.bytes * blocks * n)), beside(size_t(of_panel * blocks * panels), 0x5a);
                for (uint8_t &b : plain) {
                    b = uint8_t(random());
                }
                const halyard_array from = array_of(plain.data(), "uint8", {f.bytes, blocks, n});
                halyard_array to = array_of(beside.data(), "uint8", {of_panel, blocks, panels});
                REQUIRE(halyard_interleaved_bytes(f.bytes) == f.interleaved);
                REQUIRE(halyard_interleave_blocks(&from.buffer, &to.buffer) == 0);
                size_t wrong = 0;
                for (int col = 0; col < panels * columns; col++) {
                    for (int block = 0; block < blocks; block++) {
                        const uint8_t *panel = &beside[size_t((col / columns * blocks + block) * of_panel)];
                        const auto of_column = [&](int at) {  // parts of 2 bytes, of 1, of 4
                            const int halves = 2 * f.halves, small = halves + f.small;
                            const int size = at < halves ? 2 : at < small ? 1 : 4, in_part = (at < small ? at : at - small) % size;
                            return int(panel[(at - in_part) * columns + col % columns * size + in_part]);
                        };
                        const uint8_t *block_of_file = col < n ? &plain[size_t((col * blocks + block) * f.bytes)] : nullptr;
                        const auto of_file = [&](int at) { return block_of_file ? int(block_of_file[at]) : 0; };
                        for (int h = 0; h < 2 * f.halves; h++) {
                            wrong += of_column(h) != of_file((f.bytes == 210 ? 208 : 0) + h);
                        }
                        for (int j = 0; j < f.small; j++) {
                            wrong += of_column(2 * f.halves + j) != small_of_file(f, of_file, j);
                        }
                        for (int i = 0; i < f.elements; i++) {
                            wrong += element_of_panel(f, of_column, i) != element_of_file(f, of_file, i);
                        }
                    }
                }
                CHECK(wrong == 0);
                std::vector<uint8_t> back(plain.size(), 0xa5);
                halyard_array again = array_of(back.data(), "uint8", {f.bytes, blocks, n});
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
    halyard_array other_half = array_of(words.data() + 15, "uint32", {4, 4});
    CHECK_THAT(text(halyard_unpack_int4(HALYARD_WORDS_ALONG_K, &own.buffer, &other_half.buffer)), Contains("shares memory"));
    CHECK_THAT(text(halyard_deinterleave_blocks(nullptr, &q4.buffer)), Contains("NULL"));
    // Columns on each other, which would be written by several threads.
    const char *const on_itself = "elements share memory with each other";
    std::vector<uint8_t> elsewhere(4096);
    halyard_array panels = array_of(elsewhere.data(), "uint8", {144, 2, 2}), eight = array_of(bytes.data(), "uint8", {16, 4});
    const halyard_array four = array_of(words.data(), "uint32", {4, 4});
    for (const int stride : {0, 100, -287}) {
        panels.dim[2].stride = stride;
        CHECK_THAT(interleave(q4, panels), Contains(on_itself));
    }
    panels.dim[2].stride = 288;
    q4.dim[2].stride = 0;  // what is read may repeat itself
    CHECK_THAT(interleave(q4, panels), Catch::Matchers::Equals(""));
    CHECK_THAT(text(halyard_deinterleave_blocks(&panels.buffer, &q4.buffer)), Contains(on_itself));
    eight.dim[1].stride = 15;
    CHECK_THAT(text(halyard_pack_int4(HALYARD_WORDS_ALONG_K, &four.buffer, &eight.buffer)), Contains(on_itself));
    halyard_array twice = array_of(words.data(), "uint32", {4, 4});
    twice.dim[1].stride = 0;
    CHECK_THAT(text(halyard_unpack_int4(HALYARD_WORDS_ALONG_K, &eight.buffer, &twice.buffer)), Contains(on_itself));
    halyard_array zeros = array_of(bytes.data(), "uint8", {8, 64});
    zeros.dim[0].stride = 0;
    CHECK_THAT(text(halyard_pack_zeros(HALYARD_WORDS_ALONG_N, &w.buffer, 0, &zeros.buffer)), Contains(on_itself));
    CHECK_THAT(text(halyard_pack_zeros(HALYARD_WORDS_ALONG_N, &w.buffer, 0, &b.buffer)), Contains("another number of zero points"));
}
