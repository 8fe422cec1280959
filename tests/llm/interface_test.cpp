// The C interface: what is wrong is a code with a text, and contexts of one model know nothing of each other.

#include <catch2/catch.hpp>

#include <halyard/llm.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
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

TEST_CASE("a model may be freed before its contexts") {
    const std::vector<int32_t> tokens = {1, 2, 3};
    LoadedModel loaded;
    const int vocabulary = halyard_llm_vocabulary(loaded.model);
    const Context other(loaded.model, 8);
    REQUIRE(halyard_llm_feed(other.context, tokens.data(), tokens.size()) == 0);
    const std::vector<float> wanted = other.logits(vocabulary);
    const Context context(loaded.model, 8);
    halyard_llm_free(loaded.model);
    loaded.model = nullptr;
    REQUIRE(halyard_llm_feed(context.context, tokens.data(), tokens.size()) == 0);
    CHECK(context.logits(vocabulary) == wanted);
    CHECK(halyard_llm_feed_together(1, &context.context, std::vector<const int32_t *>{tokens.data()}.data(),
                                    std::vector<size_t>{1}.data()) == 0);
}

TEST_CASE("what is wrong is a code with a text") {
    halyard_llm_model *none = nullptr;
    CHECK(halyard_llm_load_as("nowhere.gguf", halyard_llm_weights(3), &none) == HALYARD_LLM_BAD_ARGUMENT);
    CHECK_THAT(halyard_llm_last_error(), Contains("enum halyard_llm_weights"));
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
    CHECK(halyard_llm_context_new_with_cache(loaded.model, 4, static_cast<halyard_llm_cache>(4), &long_one) == HALYARD_LLM_BAD_ARGUMENT);
    CHECK_THAT(halyard_llm_last_error(), Contains("enum halyard_llm_cache"));
    CHECK(long_one == nullptr);

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

namespace {

/** Feeds sequences of other lengths together, three times, and each alone; `int8`: by rows in 8 bits. */
void compare_together(const halyard_llm_model *model, const std::vector<size_t> &lengths, int int8) {
    const int vocabulary = halyard_llm_vocabulary(model);
    std::vector<std::unique_ptr<Context>> alone, together;
    std::vector<halyard_llm_context *> contexts;
    for (size_t i = 0; i < lengths.size(); i++) {
        for (auto *all : {&alone, &together}) {
            all->push_back(std::make_unique<Context>(model, int(lengths[i]) + 4));
            REQUIRE(halyard_llm_set_int8(all->back()->context, int8) == 0);
        }
        contexts.push_back(together.back()->context);
    }
    for (int step = 0; step < 3; step++) {
        std::vector<std::vector<int32_t>> tokens(lengths.size());
        std::vector<const int32_t *> pointers;
        std::vector<size_t> counts;
        for (size_t i = 0; i < lengths.size(); i++) {
            const size_t count = step == 0 ? lengths[i] : step == 1 ? 1 : i % 2;
            for (size_t t = 0; t < count; t++) {
                tokens[i].push_back(int32_t((t * 31 + i * 7 + size_t(step) + 2) % size_t(vocabulary)));
            }
            pointers.push_back(tokens[i].data());
            counts.push_back(count);
            REQUIRE(halyard_llm_feed(alone[i]->context, tokens[i].data(), count) == 0);
        }
        REQUIRE(halyard_llm_feed_together(contexts.size(), contexts.data(), pointers.data(), counts.data()) == 0);
        for (size_t i = 0; i < lengths.size(); i++) {
            INFO("step " << step << " sequence " << i << " int8 " << int8);
            CHECK(halyard_llm_position(together[i]->context) == halyard_llm_position(alone[i]->context));
            const std::vector<float> x = together[i]->logits(vocabulary), y = alone[i]->logits(vocabulary);
            size_t other = 0;  // not a comparison of vectors, which Catch would print
            for (int t = 0; t < vocabulary; t++) {
                other += std::memcmp(&x[size_t(t)], &y[size_t(t)], sizeof(float)) != 0;
            }
            CHECK(other == 0);
        }
    }
}

}  // namespace

TEST_CASE("sequences that are fed together have the logits of each alone") {
    const LoadedModel loaded;
    compare_together(loaded.model, {3, 1, 17, 40}, 0);

    const Context a(loaded.model, 4), b(loaded.model, 4), other(loaded.model, 4);
    const int32_t tokens[] = {2, 3, 4, 5, 6};
    const int32_t *const both[] = {tokens, tokens};
    const auto feed = [&](const Context &x, const Context &y, size_t count) {
        halyard_llm_context *const contexts[] = {x.context, y.context};
        const size_t counts[] = {1, count};
        return halyard_llm_feed_together(2, contexts, both, counts);
    };
    CHECK(feed(a, a, 1) == HALYARD_LLM_BAD_ARGUMENT);
    CHECK_THAT(halyard_llm_last_error(), Contains("twice"));
    CHECK(feed(a, b, 5) == HALYARD_LLM_FULL);
    CHECK(halyard_llm_position(a.context) == 0);
    REQUIRE(halyard_llm_set_int8(b.context, 1) == 0);
    CHECK(feed(a, b, 1) == HALYARD_LLM_BAD_ARGUMENT);
    CHECK_THAT(halyard_llm_last_error(), Contains("rows of one kind"));
    CHECK(halyard_llm_feed_together(0, nullptr, nullptr, nullptr) == 0);
    CHECK(halyard_llm_feed_together(1, nullptr, nullptr, nullptr) == HALYARD_LLM_BAD_ARGUMENT);
}

// Each schedule's cuts of rows: tiles, their halves, and more than one pass.
TEST_CASE("sequences of a real model that are fed together have the logits of each alone") {
    const char *path = std::getenv("HALYARD_LLM_MODEL");
    halyard_llm_model *model = nullptr;
    if (!path || access(path, R_OK) != 0) {
        WARN("skipped: scripts/setup brings the model");
        return;
    }
    REQUIRE(halyard_llm_load(path, &model) == 0);
    for (const int int8 : {0, 1}) {
        compare_together(model, {1, 2, 5, 21, 13, 1, 1}, int8);
    }
    halyard_llm_free(model);
}

TEST_CASE("weights that are no numbers are an error of a feed") {
    const LoadedModel loaded(true);
    const Context c(loaded.model, 0);
    const int32_t tokens[] = {2, 3};
    CHECK(halyard_llm_feed(c.context, tokens, 2) == HALYARD_LLM_FAILED);
    CHECK_THAT(halyard_llm_last_error(), Contains("no numbers"));
    CHECK(halyard_llm_position(c.context) == 0);
}
