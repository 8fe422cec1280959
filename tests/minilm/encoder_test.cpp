#include "encoder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <new>
#include <thread>

#include "reference_ops.h"
#include "support.h"

namespace {

using namespace minilm;

constexpr int panel = 16;

// f32 between the stages of two layers, values of up to about 3: a few hundred
// roundings of 2^-24. A wrong head, panel or position is off by over 1e-2.
constexpr double tolerance = 2e-5;

long allocations = 0;

std::vector<float> encode(Encoder *encoder, const TokenBatch &batch, int width) {
    std::vector<float> result(size_t(batch.sentences() * width), NAN);
    encoder->encode(batch, result.data());
    return result;
}

std::vector<int32_t> ids_of(const TokenBatch &batch, int sentence) {
    return {batch.ids.begin() + batch.begin(sentence), batch.ids.begin() + batch.ends[size_t(sentence)]};
}

TokenBatch alone(const TokenBatch &batch, int sentence) {
    TokenBatch one;
    one.ids = ids_of(batch, sentence);
    one.end_sentence();
    return one;
}

/** Kernels that compute nothing, to look at what the encoder does around them. */
Kernels idle_kernels() {
    Kernels kernels;
    kernels.precision = Precision::F32;
    kernels.name = "idle";
    kernels.qkv = kernels.gelu = [](halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *) { return 0; };
    kernels.residual = [](halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *) { return 0; };
    kernels.attention = [](halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, float, halide_buffer_t *) { return 0; };
    kernels.layer_norm = [](halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, float, halide_buffer_t *) { return 0; };
    return kernels;
}

}  // namespace

void *operator new(size_t size) {
    allocations++;
    void *p = std::malloc(size ? size : 1);
    if (!p) {
        throw std::bad_alloc();
    }
    return p;
}

// AddressSanitizer has its own of this one, which would not match the delete below.
void *operator new(size_t size, const std::nothrow_t &) noexcept {
    allocations++;
    return std::malloc(size ? size : 1);
}

void operator delete(void *p) noexcept {
    std::free(p);
}

void operator delete(void *p, size_t) noexcept {
    std::free(p);
}

TEST_CASE("a tiny model gives what BERT in f64 gives") {
    const TinyModel tiny;
    const Model model(tiny.directory(), tiny.config, panel);
    const TokenBatch batch = tiny_batch({1, 2, 5, 5, 5, 12, 3, 16});
    Encoder encoder(model, reference_kernels());
    const std::vector<float> result = encode(&encoder, batch, tiny.config.hidden);
    for (int s = 0; s < batch.sentences(); s++) {
        const std::vector<double> expected = tiny.embedding(ids_of(batch, s));
        for (size_t i = 0; i < expected.size(); i++) {
            CAPTURE(s, i);
            REQUIRE(std::abs(double(result[size_t(s) * expected.size() + i]) - expected[i]) < tolerance);
        }
    }
}

TEST_CASE("a sentence has the same embedding in a batch and alone") {
    const TinyModel tiny;
    const Model model(tiny.directory(), tiny.config, panel);
    const TokenBatch batch = tiny_batch({4, 4, 1, 9, 2, 2, 2});
    Encoder encoder(model, reference_kernels());
    const std::vector<float> together = encode(&encoder, batch, tiny.config.hidden);
    for (int s = 0; s < batch.sentences(); s++) {
        const std::vector<float> one = encode(&encoder, alone(batch, s), tiny.config.hidden);
        CAPTURE(s);
        REQUIRE(std::equal(one.begin(), one.end(), together.begin() + s * tiny.config.hidden));
    }
}

TEST_CASE("neither the panel nor the size of a part changes an embedding") {
    const TinyModel tiny;
    const TokenBatch batch = tiny_batch({7, 3, 3, 11});
    const Model wide(tiny.directory(), tiny.config, panel);
    Encoder whole(wide, reference_kernels());
    const std::vector<float> expected = encode(&whole, batch, tiny.config.hidden);
    for (int part_tokens : {1, 5, 24}) {
        for (int width : {8, 48}) {
            const Model model(tiny.directory(), tiny.config, width);
            Encoder encoder(model, reference_kernels(), part_tokens);
            CAPTURE(part_tokens, width);
            REQUIRE(encode(&encoder, batch, tiny.config.hidden) == expected);
        }
    }
}

TEST_CASE("parts that threads take side by side have the same embeddings, and errors") {
    const TinyModel tiny;
    const Model model(tiny.directory(), tiny.config, panel);
    std::vector<int> lengths;
    for (int i = 0; i < 60; i++) {
        lengths.push_back(4 + i * 5 % 13);
    }
    const TokenBatch batch = tiny_batch(lengths);
    Encoder alone(model, reference_kernels());
    const std::vector<float> expected = encode(&alone, batch, tiny.config.hidden);
    static int lanes;
    Kernels kernels = reference_kernels();
    kernels.threads = [] { return 3; };
    kernels.parallel = [](void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
        lanes = size;
        for (int i = min + size; i-- > min;) {  // threads come in any order
            std::thread([&] { task(user_context, i, closure); }).join();
        }
        return 0;
    };
    for (const int part_tokens : {1000, 50}) {
        lanes = 0;
        Encoder encoder(model, kernels, part_tokens);
        REQUIRE(encode(&encoder, batch, tiny.config.hidden) == expected);
        REQUIRE(lanes == 3);
    }
    // Too little for each.
    lanes = 0;
    Encoder encoder(model, kernels);
    encode(&encoder, tiny_batch({16, 16, 16}), tiny.config.hidden);
    REQUIRE(lanes == 0);
    kernels.gelu = [](halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *) { return -3; };
    Encoder failing(model, kernels);
    std::vector<float> result(expected.size());
    REQUIRE(message_of([&] { failing.encode(batch, result.data()); }) == "kernel minilm_gelu failed with code -3");
}

TEST_CASE("neighbours of one length share a call of the attention") {
    const TinyModel tiny;
    const Model model(tiny.directory(), tiny.config, panel);
    Encoder encoder(model, reference_kernels());
    const int before = reference_attention_calls();
    encode(&encoder, tiny_batch({6, 6, 6, 2, 2, 6}), tiny.config.hidden);
    REQUIRE(reference_attention_calls() - before == 3 * tiny.config.layers);
}

TEST_CASE("a batch no larger than one before it allocates nothing") {
    const TinyModel tiny;
    const Model model(tiny.directory(), tiny.config, panel);
    const Kernels idle = idle_kernels();
    Encoder encoder(model, idle);
    const TokenBatch large = tiny_batch({9, 5}), small = tiny_batch({3, 3, 4});
    std::vector<float> result(size_t(3 * tiny.config.hidden));
    encoder.encode(large, result.data());
    const long before = allocations;
    encoder.encode(small, result.data());
    encoder.encode(large, result.data());
    REQUIRE(allocations == before);
}

TEST_CASE("a kernel that fails is named") {
    const TinyModel tiny;
    const Model model(tiny.directory(), tiny.config, panel);
    Kernels kernels = idle_kernels();
    kernels.gelu = [](halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *) { return -3; };
    Encoder encoder(model, kernels);
    std::vector<float> result(size_t(tiny.config.hidden));
    REQUIRE(message_of([&] { encoder.encode(tiny_batch({2}), result.data()); }) == "kernel minilm_gelu failed with code -3");
}

TEST_CASE("ids and lengths outside the model are refused") {
    const TinyModel tiny;
    const Model model(tiny.directory(), tiny.config, panel);
    Encoder encoder(model, reference_kernels());
    std::vector<float> result(size_t(tiny.config.hidden));
    TokenBatch batch = tiny_batch({17});
    REQUIRE_THROWS_WITH(encoder.encode(batch, result.data()), Catch::Contains("a sentence of 17 tokens; the model takes 1 to 16"));
    batch = tiny_batch({3});
    batch.ids[1] = 50;
    REQUIRE_THROWS_WITH(encoder.encode(batch, result.data()), Catch::Contains("token id 50"));
    batch.ids[1] = -1;
    REQUIRE_THROWS_WITH(encoder.encode(batch, result.data()), Catch::Contains("token id -1"));
    encoder.encode(TokenBatch(), nullptr);
}
