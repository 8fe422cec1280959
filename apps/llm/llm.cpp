// The C interface: what the classes throw becomes codes and texts.

#include <halyard/llm.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "chat.h"
#include "sequence.h"

using namespace halyard_llm;

struct halyard_llm_model {
    halyard_llm_model(const char *path, MatrixType type)
        : shared(std::make_shared<const Model>(path, default_kernels(), type)), model(*shared) {}
    std::shared_ptr<const Model> shared;
    const Model &model;
};

struct halyard_llm_context {
    halyard_llm_context(const halyard_llm_model &of, int length, CacheType cache)
        : model(of.shared), sequence(make_sequence(*model, length, {true, cache})) {}
    std::shared_ptr<const Model> model;  // which may be freed before the context
    std::unique_ptr<Sequence> sequence;
    Sampler sampler{0, 0, 1, 0};
};

namespace {

thread_local std::string last_error;

int fail(int code, const std::string &text) {
    last_error = text;
    return code;
}

/** Runs a part of a call; `code` is what it is where it throws. */
template<typename Body>
int guarded(int code, const Body &body) {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return fail(HALYARD_LLM_NO_MEMORY, "out of memory; a shorter context needs less");
    } catch (const std::exception &e) {
        return fail(code, e.what());
    }
}

int bad(const char *function, const char *what) {
    return fail(HALYARD_LLM_BAD_ARGUMENT, std::string(function) + ": " + what);
}

/** Copies where there is room, and says how much there is. */
template<typename From, typename To>
int give(const char *function, const From &from, To *to, size_t capacity, size_t *count) {
    *count = from.size();
    if (from.size() > capacity) {
        return fail(HALYARD_LLM_FULL, std::string(function) + ": " + std::to_string(from.size()) +
                                          " elements do not fit into an array of " + std::to_string(capacity) +
                                          ": make it so large, and call again");
    }
    std::copy(from.begin(), from.end(), to);
    return HALYARD_LLM_OK;
}

int check_feed(const char *function, const halyard_llm_context *context, const int32_t *tokens, size_t count) {
    if (!context || (!tokens && count > 0)) {
        return bad(function, "a pointer is null");
    }
    const Sequence &sequence = *context->sequence;
    if (count > size_t(sequence.length() - sequence.position())) {
        return fail(HALYARD_LLM_FULL, std::string(function) + ": " + std::to_string(count) + " tokens do not fit behind the " +
                                          std::to_string(sequence.position()) + " of a context of " + std::to_string(sequence.length()));
    }
    for (size_t i = 0; i < count; i++) {
        if (tokens[i] < 0 || tokens[i] >= sequence.vocabulary()) {
            return bad(function, "a token is not one of the vocabulary");
        }
    }
    return HALYARD_LLM_OK;
}

int load(const char *function, const char *path, int weights, halyard_llm_model **model) {
    if (!path || !model) {
        return bad(function, "a pointer is null");
    }
    *model = nullptr;
    static const MatrixType types[] = {MatrixType::kOfFile, MatrixType::kF32, MatrixType::kBF16};
    if (weights < 0 || size_t(weights) >= std::size(types)) {
        return bad(function, "the type of the weights is none of enum halyard_llm_weights");
    }
    return guarded(HALYARD_LLM_BAD_MODEL, [&] {
        *model = new halyard_llm_model(path, types[weights]);
        return int(HALYARD_LLM_OK);
    });
}

int new_context(const char *function, const halyard_llm_model *model, int length, int cache, halyard_llm_context **context) {
    if (!model || !context) {
        return bad(function, "a pointer is null");
    }
    *context = nullptr;
    if (length < 0) {
        return bad(function, "the length is below 0");
    }
    static const CacheType types[] = {CacheType::kF32, CacheType::kF16, CacheType::kBF16, CacheType::kInt8};
    if (cache < 0 || cache >= kCacheTypes) {
        return bad(function, "the cache is none of enum halyard_llm_cache");
    }
    return guarded(HALYARD_LLM_BAD_ARGUMENT, [&] {
        *context = new halyard_llm_context(*model, length, types[cache]);
        return int(HALYARD_LLM_OK);
    });
}

}  // namespace

const char *halyard_llm_last_error(void) {
    return last_error.c_str();
}

int halyard_llm_load(const char *path, halyard_llm_model **model) {
    return load("halyard_llm_load", path, HALYARD_LLM_WEIGHTS_OF_FILE, model);
}

int halyard_llm_load_as(const char *path, enum halyard_llm_weights weights, halyard_llm_model **model) {
    return load("halyard_llm_load_as", path, weights, model);
}

void halyard_llm_free(halyard_llm_model *model) {
    delete model;
}

int halyard_llm_vocabulary(const halyard_llm_model *model) {
    return model ? model->model.config.vocabulary : 0;
}

int halyard_llm_trained_length(const halyard_llm_model *model) {
    return model ? model->model.config.context : 0;
}

int halyard_llm_tokenize(const halyard_llm_model *model, const char *text, size_t bytes, int special, int32_t *tokens, size_t capacity,
                         size_t *count) {
    if (!model || (!text && bytes > 0) || (!tokens && capacity > 0) || !count) {
        return bad("halyard_llm_tokenize", "a pointer is null");
    }
    return guarded(HALYARD_LLM_FAILED, [&] {
        std::vector<int32_t> found;
        model->model.tokenizer.encode(std::string_view(bytes > 0 ? text : "", bytes), special != 0, &found);
        return give("halyard_llm_tokenize", found, tokens, capacity, count);
    });
}

int halyard_llm_tokenize_question(const halyard_llm_model *model, const char *system, const char *text, int first, int32_t *tokens,
                                  size_t capacity, size_t *count) {
    if (!model || !text || (!tokens && capacity > 0) || !count) {
        return bad("halyard_llm_tokenize_question", "a pointer is null");
    }
    return guarded(HALYARD_LLM_BAD_MODEL, [&] {
        ChatFormat format(model->model.file, model->model.tokenizer);
        std::vector<int32_t> all = first ? format.begin(system ? system : "") : std::vector<int32_t>();
        const std::vector<int32_t> question = format.question(text);
        all.insert(all.end(), question.begin(), question.end());
        return give("halyard_llm_tokenize_question", all, tokens, capacity, count);
    });
}

int halyard_llm_text(const halyard_llm_model *model, int32_t token, char *text, size_t capacity, size_t *bytes) {
    if (!model || (!text && capacity > 0) || !bytes) {
        return bad("halyard_llm_text", "a pointer is null");
    }
    if (token < 0 || token >= model->model.config.vocabulary) {
        return bad("halyard_llm_text", "the token is not one of the vocabulary");
    }
    return guarded(HALYARD_LLM_FAILED,
                   [&] { return give("halyard_llm_text", model->model.tokenizer.text_of(token), text, capacity, bytes); });
}

int halyard_llm_is_end(const halyard_llm_model *model, int32_t token) {
    return model && model->model.tokenizer.is_end(token);
}

int halyard_llm_context_new(const halyard_llm_model *model, int length, halyard_llm_context **context) {
    return new_context("halyard_llm_context_new", model, length, int(default_cache(true)), context);
}

int halyard_llm_context_new_with_cache(const halyard_llm_model *model, int length, enum halyard_llm_cache cache,
                                       halyard_llm_context **context) {
    return new_context("halyard_llm_context_new_with_cache", model, length, cache, context);
}

void halyard_llm_context_free(halyard_llm_context *context) {
    delete context;
}

int halyard_llm_set_int8(halyard_llm_context *context, int on) {
    if (!context) {
        return bad("halyard_llm_set_int8", "a pointer is null");
    }
    return guarded(HALYARD_LLM_BAD_ARGUMENT, [&] {
        context->sequence->set_exact(on == 0);
        return int(HALYARD_LLM_OK);
    });
}

int halyard_llm_feed(halyard_llm_context *context, const int32_t *tokens, size_t count) {
    const int code = check_feed("halyard_llm_feed", context, tokens, count);
    return code != HALYARD_LLM_OK ? code : guarded(HALYARD_LLM_FAILED, [&] {
        context->sequence->feed(tokens, int(count));
        return int(HALYARD_LLM_OK);
    });
}

int halyard_llm_feed_together(size_t contexts_count, halyard_llm_context *const *contexts, const int32_t *const *tokens,
                              const size_t *counts) {
    const char *const name = "halyard_llm_feed_together";
    if (contexts_count > 0 && (!contexts || !tokens || !counts)) {
        return bad(name, "a pointer is null");
    }
    for (size_t i = 0; i < contexts_count; i++) {
        const int code = check_feed(name, contexts[i], tokens[i], counts[i]);
        if (code != HALYARD_LLM_OK) {
            return code;
        }
        if (!contexts[i]->sequence->is_like(*contexts[0]->sequence)) {
            return bad(name, "contexts that are fed together have one model, and rows of one kind, f32 or 8 bits");
        }
        if (std::find(contexts, contexts + i, contexts[i]) != contexts + i) {
            return bad(name, "a context is there twice; give it all of its tokens at once");
        }
    }
    return guarded(HALYARD_LLM_FAILED, [&] {
        std::vector<Feed> feeds;
        for (size_t i = 0; i < contexts_count; i++) {
            feeds.push_back({contexts[i]->sequence.get(), tokens[i], int(counts[i])});
        }
        feed_together(feeds);
        return int(HALYARD_LLM_OK);
    });
}

int halyard_llm_position(const halyard_llm_context *context) {
    return context ? context->sequence->position() : 0;
}

int halyard_llm_rewind(halyard_llm_context *context, int position) {
    if (!context) {
        return bad("halyard_llm_rewind", "a pointer is null");
    }
    return guarded(HALYARD_LLM_BAD_ARGUMENT, [&] {
        context->sequence->rewind(position);
        return int(HALYARD_LLM_OK);
    });
}

const float *halyard_llm_logits(const halyard_llm_context *context) {
    const float *logits = nullptr;
    if (context) {
        guarded(HALYARD_LLM_FAILED, [&] {
            logits = context->sequence->logits();
            return int(HALYARD_LLM_OK);
        });
    }
    return logits;
}

int halyard_llm_set_sampling(halyard_llm_context *context, const halyard_llm_sampling *sampling) {
    if (!context || !sampling) {
        return bad("halyard_llm_set_sampling", "a pointer is null");
    }
    return guarded(HALYARD_LLM_BAD_ARGUMENT, [&] {
        context->sampler = Sampler(sampling->temperature, sampling->top_k, sampling->top_p, sampling->seed);
        return int(HALYARD_LLM_OK);
    });
}

int halyard_llm_sample(halyard_llm_context *context, int32_t *token) {
    if (!context || !token) {
        return bad("halyard_llm_sample", "a pointer is null");
    }
    if (!context->sequence->has_logits()) {
        return bad("halyard_llm_sample", "nothing was fed since the beginning, or since the sequence went back");
    }
    return guarded(HALYARD_LLM_FAILED, [&] {
        *token = context->sequence->draw(&context->sampler);
        return int(HALYARD_LLM_OK);
    });
}
