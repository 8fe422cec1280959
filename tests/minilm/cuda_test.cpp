// The encoder for GPUs, with its kernels on the emulator.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "backend.h"
#include "support.h"

namespace {

using namespace minilm;

// Heads of 32, which the kernels are made for; the rest is no multiple of a tile.
constexpr int hidden = 96, intermediate = 152;

// bf16 has 8 bits, and two layers round some twenty times on the way to a number. What a wrong head, position or
// weight leaves is far below.
constexpr double required_cosine = 0.9995;

struct TinyEncoder {
    TinyEncoder()
        : backend(start_backend("fused", Precision::BF16, 0)), model(tiny.directory(), tiny.config, backend->panel(), Precision::BF16),
          encoder(backend->make_encoder(model)) {}

    std::vector<float> encode(const TokenBatch &batch) {
        std::vector<float> result(size_t(batch.sentences() * hidden), NAN);
        encoder->encode(batch, result.data());
        return result;
    }

    const TinyModel tiny{hidden, intermediate};
    const std::unique_ptr<Backend> backend;
    const Model model;
    const std::unique_ptr<SentenceEncoder> encoder;
};

double cosine(const float *a, const std::vector<double> &b) {
    double dot = 0, squares = 0;
    for (size_t i = 0; i < b.size(); i++) {
        dot += double(a[i]) * b[i];
        squares += double(a[i]) * double(a[i]);
    }
    return dot / std::sqrt(squares);  // b is of length 1
}

std::vector<int32_t> ids_of(const TokenBatch &batch, int sentence) {
    return {batch.ids.begin() + batch.begin(sentence), batch.ids.begin() + batch.ends[size_t(sentence)]};
}

}  // namespace

TEST_CASE("a tiny model on the device gives what BERT in f64 gives, and unit vectors") {
    TinyEncoder device;
    // The second batch is larger, the third smaller: what lies behind its sentences is old.
    for (const std::vector<int> &lengths : {std::vector<int>{5}, {1, 2, 5, 5, 5, 12, 3, 16}, {7, 7, 2}}) {
        const TokenBatch batch = tiny_batch(lengths);
        const std::vector<float> result = device.encode(batch);
        for (int s = 0; s < batch.sentences(); s++) {
            CAPTURE(lengths.size(), s);
            const float *embedding = &result[size_t(s * hidden)];
            CHECK(cosine(embedding, device.tiny.embedding(ids_of(batch, s))) > required_cosine);
            double squares = 0;
            for (int i = 0; i < hidden; i++) {
                squares += double(embedding[i]) * double(embedding[i]);
            }
            CHECK(squares == Approx(1.0).margin(1e-5));
        }
    }
}

TEST_CASE("what pads a sentence does not change its embedding") {
    TinyEncoder device;
    const TokenBatch batch = tiny_batch({4, 16, 1});
    const std::vector<float> together = device.encode(batch);
    for (int s = 0; s < batch.sentences(); s++) {
        TokenBatch one;
        one.ids = ids_of(batch, s);
        one.end_sentence();
        const std::vector<float> alone = device.encode(one);
        CAPTURE(s);
        REQUIRE(std::equal(alone.begin(), alone.end(), together.begin() + s * hidden));
    }
}

TEST_CASE("a batch of nothing, and what the model does not take") {
    TinyEncoder device;
    device.encoder->encode(TokenBatch(), nullptr);
    std::vector<float> result(hidden);
    REQUIRE_THROWS_WITH(device.encoder->encode(tiny_batch({17}), result.data()),
                        Catch::Contains("a sentence of 17 tokens; the model takes 1 to 16"));
}

TEST_CASE("without a driver the error says so, and what to do", "[no_driver]") {
    REQUIRE_THROWS_WITH(start_backend("fused", Precision::BF16, 0), Catch::Contains("no GPU to compute on") && Catch::Contains("driver") &&
                                                                        Catch::Contains("minilm computes the same on the processor"));
}

TEST_CASE("without a device the error says so, and what to do", "[no_device]") {
    REQUIRE_THROWS_WITH(start_backend("fused", Precision::BF16, 0), Catch::Contains("no GPU to compute on") && Catch::Contains("device") &&
                                                                        Catch::Contains("minilm computes the same on the processor"));
}
