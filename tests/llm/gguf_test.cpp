// Files that are wrong in one way each: one error that names it. And files that are changed at random.

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "config.h"
#include "chat.h"
#include "gguf.h"
#include "gguf_builder.h"
#include "tokenizer.h"
#include "weights.h"

namespace {

using namespace halyard_llm;
using Catch::Matchers::Contains;

/** All that a model is made of, without its kernels, which would read all bytes of its tensors. */
void load(const std::vector<uint8_t> &bytes) {
    const Gguf file(bytes.data(), bytes.size(), "FILE");
    volatile unsigned sum = 0;
    for (const auto &[name, tensor] : file.tensors()) {
        sum = std::accumulate(tensor.data, tensor.data + tensor.bytes, sum + 0u);
    }
    const Config config = read_config(file);
    const Tokenizer tokenizer(file);
    const Weights weights(file, config, sum % 8 == 0 ? MatrixType::kBF16 : MatrixType::kOfFile);
    std::vector<int32_t> tokens;
    tokenizer.encode("abc <|im_start|> 12\xC3\xA9\xFF", true, &tokens);
    for (const int32_t token : tokens) {
        (void)tokenizer.text_of(token, true);
    }
    ChatFormat chat(file, tokenizer);
    (void)chat.begin("");
    (void)chat.question("ab");
}

std::string error_of(const std::vector<uint8_t> &bytes) {
    try {
        load(bytes);
    } catch (const std::runtime_error &e) {
        return e.what();
    }
    return "none";
}

std::string error_of(const std::function<void(GgufBuilder *)> &change) {
    GgufBuilder file = tiny_model();
    change(&file);
    return error_of(file.bytes());
}

}  // namespace

TEST_CASE("a file that is right") {
    CHECK(error_of([](GgufBuilder *) {}) == "none");
    CHECK(error_of([](GgufBuilder *f) { f->version = 2; }) == "none");
    CHECK(error_of([](GgufBuilder *f) { f->array<uint16_t>("some.numbers", 2, {1, 2, 3}); }) == "none");
}

TEST_CASE("what is wrong in a file is named") {
    const auto bytes = tiny_model().bytes();
    CHECK_THAT(error_of(std::vector<uint8_t>{}), Contains("does not begin with GGUF"));
    CHECK_THAT(error_of(std::vector<uint8_t>(bytes.begin(), bytes.begin() + 12)), Contains("number of tensors at byte 8"));
    CHECK_THAT(error_of(std::vector<uint8_t>(bytes.begin(), bytes.end() - 1)), Contains("blk.0.ffn_down.weight"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->version = 1; }), Contains("of version 1"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->version = 0x03000000; }), Contains("little-endian"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->tensor_count = UINT64_MAX; }), Contains("do not fit"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->key_count = 1ull << 40; }), Contains("do not fit"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->u32("llama.block_count", 1); }), Contains("stands there twice"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->key("x", 13, ""); }), Contains("type 13"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->key("x", 9, f->raw(9u) + f->raw(uint64_t(1))); }), Contains("type 9 in an array"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->key("x", 9, f->raw(4u) + f->raw(UINT64_MAX / 4 + 2)); }), Contains("do not fit"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->key("x", 8, f->raw(UINT64_MAX)); }), Contains("the file ends"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->key("x", 7, "\2"); }), Contains("bool of 2"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->u32("general.alignment", 24); }), Contains("power of two"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->u32("general.alignment", 0); }), Contains("general.alignment"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->tensor("x", {}, 0, uint64_t(0)); }), Contains("0 dimensions"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->tensor("x", {1, 1, 1, 1, 1}, 0, uint64_t(0)); }), Contains("5 dimensions"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->tensor("x", {32, 0}, 0, uint64_t(0)); }), Contains("extent of 0"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->tensor("x", {1u << 30, 1u << 30, 1u << 30}, 0, uint64_t(0)); }), Contains("extent of"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->tensor("x", {1u << 30, 1u << 30, 8}, 0, uint64_t(0)); }), Contains("elements"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->tensor("x", {33}, 3, uint64_t(0)); }), Contains("33 columns"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->tensor("x", {32}, 99, uint64_t(0)); }), Contains("of type 99"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->tensor("x", {32}, 0, uint64_t(8)); }), Contains("no multiple of 32"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->tensor("x", {32}, 0, UINT64_MAX - 31); }), Contains("have just"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->tensor("output_norm.weight", {32}, 0, uint64_t(0)); }), Contains("stands there twice"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->tensor("x", {32}, 0, uint64_t(0)); }), Contains("lie over each other"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->u32("llama.expert_count", 8); }), Contains("it has experts"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->u32("llama.rope.dimension_count", 17); }), Contains("rope.dimension_count"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->string("llama.rope.scaling.type", "yarn"); }), Contains("scaled by 'yarn'"));
    CHECK_THAT(error_of([](GgufBuilder *f) {
                   f->tensor("output.weight", {32, 8}, 0, std::string(1024, '\0'));
               }),
               Contains("shape [32, 8]"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->tensor("output.weight", {32, 9}, 10, uint64_t(0)); }), Contains("256"));
    CHECK_THAT(error_of([](GgufBuilder *f) { f->tensor("blk.0.ffn_up.bias", {32}, 0, std::string(128, '\0')); }), Contains("ffn_up.bias"));
}

TEST_CASE("an architecture, a tokenizer or pieces that are not known") {
    for (const auto &[from, to, what] : {std::array<const char *, 3>{"llama", "mamba", "architecture is 'mamba'"},
                                         {"gpt2", "t5t5", "tokenizer is 't5t5'"},
                                         {"smollm", "klingo", "'klingo'"}}) {
        auto bytes = tiny_model().bytes();
        const std::string name = from;
        const auto at = std::search(bytes.begin(), bytes.end(), name.begin(), name.end());
        std::copy(to, to + name.size(), at);
        CHECK_THAT(error_of(bytes), Contains(what));
    }
}

// Under AddressSanitizer and UBSan: every byte that is read lies in the file. The memory ends where the file does.
TEST_CASE("files that are changed at random are read, or are an error") {
    const char *wanted = std::getenv("HALYARD_LLM_MUTATIONS"), *seed = std::getenv("HALYARD_LLM_SEED");
    const int count = wanted ? std::atoi(wanted) : 100000;
    const std::vector<uint8_t> whole = tiny_model().bytes();
    const size_t head = whole.size() - 9000;  // most of what is behind it are weights
    std::mt19937_64 random(seed ? std::strtoull(seed, nullptr, 10) : 1);
    const auto below = [&](size_t n) { return size_t(random() % n); };
    int good = 0;
    for (int i = 0; i < count; i++) {
        std::vector<uint8_t> bytes = whole;
        for (size_t changes = 1 + below(3); changes > 0; changes--) {
            const size_t at = below(10) == 0 ? below(bytes.size()) : below(std::min(head, bytes.size()));
            switch (below(6)) {
            case 0: bytes[at] = uint8_t(random()); break;
            case 1: bytes[at] ^= uint8_t(1u << below(8)); break;
            case 2: bytes.resize(at + 1); break;
            case 3:  // a length or a count that is large, or nearly fits
                for (size_t b = 0; b < 8 && at + b < bytes.size(); b++) {
                    const uint64_t values[] = {UINT64_MAX, uint64_t(1) << below(64), bytes.size() - at, 0, uint64_t(INT64_MAX)};
                    bytes[at + b] = uint8_t(values[i % 5] >> (8 * b));
                }
                break;
            case 4: bytes.insert(bytes.begin() + long(at), 1 + below(16), uint8_t(random())); break;
            default: bytes.erase(bytes.begin() + long(at), bytes.begin() + long(std::min(bytes.size(), at + 1 + below(16))));
            }
            if (bytes.empty()) {
                break;
            }
        }
        bytes.shrink_to_fit();
        try {
            load(bytes);
            good++;
        } catch (const std::runtime_error &e) {
            REQUIRE(std::string(e.what()).size() > 10);
        }
    }
    // Some changes do no harm, and most do.
    CHECK(good > count / 100);
    CHECK(good < count / 2);
}
