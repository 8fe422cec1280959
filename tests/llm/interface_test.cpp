// The C interface: what is wrong is a code with a text, and contexts of one model know nothing of each other.

#include <catch2/catch.hpp>

#include <halyard/llm.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "gguf_builder.h"

namespace {

using Catch::Matchers::Contains;

/** A model in a file. */
class LoadedModel {
public:
    explicit LoadedModel(bool infinite = false) {
        std::vector<uint8_t> bytes = tiny_model().bytes();
        if (infinite) {
            std::fill(bytes.end() - 400, bytes.end(), uint8_t(0x7C));  // halves of 0x7C7C are no numbers
        }
        const int file = mkstemp(path);
        REQUIRE(file >= 0);
        REQUIRE(write(file, bytes.data(), bytes.size()) == ssize_t(bytes.size()));
        close(file);
        REQUIRE(halyard_llm_load(path, &model) == 0);
    }
    ~LoadedModel() {
        halyard_llm_free(model);
        unlink(path);
    }

    char path[32] = "/tmp/halyard_llm.XXXXXX";
    halyard_llm_model *model = nullptr;
};

struct Context {
    Context(const halyard_llm_model *model, int length) {
        REQUIRE(halyard_llm_context_new(model, length, &context) == 0);
    }
    ~Context() {
        halyard_llm_context_free(context);
    }
    std::vector<float> logits(int vocabulary) const {
        const float *from = halyard_llm_logits(context);
        return {from, from + vocabulary};
    }
    halyard_llm_context *context = nullptr;
};

/** Logits behind each of some tokens, fed one by one. */
std::vector<std::vector<float>> all_logits(const halyard_llm_model *model, const std::vector<int32_t> &tokens) {
    halyard_llm_context *context = nullptr;
    std::vector<std::vector<float>> result;
    if (halyard_llm_context_new(model, 0, &context) != 0) {
        return result;
    }
    for (const int32_t token : tokens) {
        if (halyard_llm_feed(context, &token, 1) == 0) {
            const float *from = halyard_llm_logits(context);
            result.emplace_back(from, from + halyard_llm_vocabulary(model));
        }
    }
    halyard_llm_context_free(context);
    return result;
}

}  // namespace

TEST_CASE("what is wrong is a code with a text") {
    halyard_llm_model *none = nullptr;
    CHECK(halyard_llm_load("/nowhere.gguf", &none) == HALYARD_LLM_BAD_MODEL);
    CHECK(none == nullptr);
    CHECK_THAT(halyard_llm_last_error(), Contains("/nowhere.gguf"));
    CHECK(halyard_llm_load(nullptr, &none) == HALYARD_LLM_BAD_ARGUMENT);
    CHECK(halyard_llm_context_new(nullptr, 0, nullptr) == HALYARD_LLM_BAD_ARGUMENT);

    const LoadedModel loaded;
    CHECK(halyard_llm_vocabulary(loaded.model) == 9);
    CHECK(halyard_llm_trained_length(loaded.model) == 64);
    halyard_llm_context *long_one = nullptr;
    CHECK(halyard_llm_context_new(loaded.model, 65, &long_one) == HALYARD_LLM_BAD_ARGUMENT);
    CHECK_THAT(halyard_llm_last_error(), Contains("made for 64"));
    CHECK(halyard_llm_context_new(loaded.model, -1, &long_one) == HALYARD_LLM_BAD_ARGUMENT);

    const Context c(loaded.model, 4);
    int32_t token = 0;
    CHECK(halyard_llm_logits(c.context) == nullptr);
    CHECK(halyard_llm_sample(c.context, &token) == HALYARD_LLM_BAD_ARGUMENT);
    const int32_t wrong[] = {2, 9}, right[] = {2, 3, 4, 5, 6};
    CHECK(halyard_llm_feed(c.context, wrong, 2) == HALYARD_LLM_BAD_ARGUMENT);
    CHECK(halyard_llm_feed(c.context, right, 5) == HALYARD_LLM_FULL);
    CHECK(halyard_llm_position(c.context) == 0);
    CHECK(halyard_llm_feed(c.context, right, 4) == 0);
    CHECK(halyard_llm_feed(c.context, right, 1) == HALYARD_LLM_FULL);
    CHECK(halyard_llm_rewind(c.context, 5) == HALYARD_LLM_BAD_ARGUMENT);
    const halyard_llm_sampling sampling = {1, 0, 2, 0};
    CHECK(halyard_llm_set_sampling(c.context, &sampling) == HALYARD_LLM_BAD_ARGUMENT);
    CHECK(halyard_llm_sample(c.context, &token) == 0);

    size_t count = 0;
    int32_t tokens[2];
    CHECK(halyard_llm_tokenize(loaded.model, "abcab", 5, 0, tokens, 1, &count) == HALYARD_LLM_FULL);
    CHECK(count == 2);
    CHECK(halyard_llm_tokenize(loaded.model, "abcab", 5, 0, tokens, 2, &count) == 0);
    CHECK((tokens[0] == 6 && tokens[1] == 5));
    char text[8];
    CHECK(halyard_llm_text(loaded.model, 6, text, sizeof(text), &count) == 0);
    CHECK(std::string(text, count) == "abc");
    CHECK(halyard_llm_text(loaded.model, 9, text, sizeof(text), &count) == HALYARD_LLM_BAD_ARGUMENT);
    CHECK(halyard_llm_is_end(loaded.model, 1) == 1);
}

TEST_CASE("a sequence that goes back is as one that never went on") {
    const LoadedModel loaded;
    const Context a(loaded.model, 0), b(loaded.model, 0);
    const int32_t first[] = {2, 3, 4}, wrong[] = {5, 6, 7, 8}, then[] = {8};
    REQUIRE(halyard_llm_feed(a.context, first, 3) == 0);
    REQUIRE(halyard_llm_feed(a.context, wrong, 4) == 0);
    const std::vector<float> other = a.logits(9);
    REQUIRE(halyard_llm_rewind(a.context, 3) == 0);
    CHECK(halyard_llm_logits(a.context) == nullptr);
    REQUIRE(halyard_llm_feed(a.context, then, 1) == 0);
    REQUIRE(halyard_llm_feed(b.context, first, 3) == 0);
    REQUIRE(halyard_llm_feed(b.context, then, 1) == 0);
    CHECK(a.logits(9) == b.logits(9));
    CHECK(a.logits(9) != other);
}

TEST_CASE("contexts of one model on several threads") {
    const LoadedModel loaded;
    constexpr int kThreads = 4;
    std::vector<std::vector<int32_t>> tokens(kThreads);
    for (int t = 0; t < kThreads; t++) {
        for (int i = 0; i < 40; i++) {
            tokens[size_t(t)].push_back(int32_t((i * (t + 2) + t) % 9));
        }
    }
    std::vector<std::vector<std::vector<float>>> alone(kThreads), together(kThreads);
    for (int t = 0; t < kThreads; t++) {
        alone[size_t(t)] = all_logits(loaded.model, tokens[size_t(t)]);
        REQUIRE(alone[size_t(t)].size() == 40);
    }
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; t++) {
        threads.emplace_back([&, t] { together[size_t(t)] = all_logits(loaded.model, tokens[size_t(t)]); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK(together == alone);
    CHECK(alone[0].back() != alone[1].back());
}

TEST_CASE("weights that are no numbers are an error of a feed") {
    const LoadedModel loaded(true);
    const Context c(loaded.model, 0);
    const int32_t tokens[] = {2, 3};
    CHECK(halyard_llm_feed(c.context, tokens, 2) == HALYARD_LLM_FAILED);
    CHECK_THAT(halyard_llm_last_error(), Contains("no numbers"));
    CHECK(halyard_llm_position(c.context) == 0);
}
