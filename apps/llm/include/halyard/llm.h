#ifndef HALYARD_LLM_H
#define HALYARD_LLM_H

/** \file
 * Language models from GGUF files: libhalyard_llm.a.
 *
 * Functions return 0, or a code with a text in halyard_llm_last_error() of the calling thread. A model is only read after it is loaded: any
 * number of contexts use it at a time, each on one thread. Calls compute on the threads of Halyard's runtime (HL_NUM_THREADS,
 * halide_set_num_threads).
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum halyard_llm_code {
    HALYARD_LLM_OK = 0,
    HALYARD_LLM_BAD_MODEL = 1,    /* the file cannot be read, or is none that is computed */
    HALYARD_LLM_BAD_ARGUMENT = 2, /* null, a token that there is not, a number without a meaning */
    HALYARD_LLM_FULL = 3,         /* a context, or an array of the caller, is too short */
    HALYARD_LLM_NO_MEMORY = 4,
    HALYARD_LLM_FAILED = 5 /* a kernel did */
};

struct halyard_llm_model;
struct halyard_llm_context;

/** What went wrong, where, and what to do, in the last call of this thread that failed. */
const char *halyard_llm_last_error(void);

/** The file is mapped, and has to stay as it is until halyard_llm_free(), and that of all contexts of the model. */
int halyard_llm_load(const char *path, struct halyard_llm_model **model);

/** What matrices are multiplied as: as the file has them, of 4 to 8 bits, 16 or 32; or as f32 or bf16, rounded to the nearest, that is made of them
 * when the model is loaded, and takes memory of its own. */
enum halyard_llm_weights { HALYARD_LLM_WEIGHTS_OF_FILE = 0, HALYARD_LLM_WEIGHTS_F32 = 1, HALYARD_LLM_WEIGHTS_BF16 = 2 };

/** The same as halyard_llm_load(), with other weights than the file's. */
int halyard_llm_load_as(const char *path, enum halyard_llm_weights weights, struct halyard_llm_model **model);

/** Contexts of the model go on; the last one that is freed lets its memory go. Null is nothing. */
void halyard_llm_free(struct halyard_llm_model *model);

/** Tokens of the vocabulary, and those that the model was made to see at once. */
int halyard_llm_vocabulary(const struct halyard_llm_model *model);
int halyard_llm_trained_length(const struct halyard_llm_model *model);

/** Tokens of a text of so many bytes. With `special`, names such as <|im_end|> are their tokens. `count` becomes their number, also where
 * `capacity` is too small, which is HALYARD_LLM_FULL. */
int halyard_llm_tokenize(const struct halyard_llm_model *model, const char *text, size_t bytes, int special, int32_t *tokens,
                         size_t capacity, size_t *count);

/** The same for a question of the user, as the first of a conversation or a later one, in the format of the model. `system` may be null:
 * what the model was trained with. */
int halyard_llm_tokenize_question(const struct halyard_llm_model *model, const char *system, const char *text, int first, int32_t *tokens,
                                  size_t capacity, size_t *count);

/** The bytes of a token, which may end within a character; `bytes` becomes their number. There is no 0 at the end. */
int halyard_llm_text(const struct halyard_llm_model *model, int32_t token, char *text, size_t capacity, size_t *bytes);

/** Whether a text ends with this token. */
int halyard_llm_is_end(const struct halyard_llm_model *model, int32_t token);

/** A sequence of up to `length` tokens; 0: what the model was made for, but 4096 at most. Keys and values are kept in f32, on a GPU in f16. */
int halyard_llm_context_new(const struct halyard_llm_model *model, int length, struct halyard_llm_context **context);

/** What keys and values are kept as. By 16 bits a long sequence takes half of the memory of f32, and reads half of it for each token; by 8, where
 * each head of a token has a scale, a quarter. On a GPU there is no f32. */
enum halyard_llm_cache { HALYARD_LLM_CACHE_F32 = 0, HALYARD_LLM_CACHE_F16 = 1, HALYARD_LLM_CACHE_BF16 = 2, HALYARD_LLM_CACHE_INT8 = 3 };

/** The same with a cache of this type. */
int halyard_llm_context_new_with_cache(const struct halyard_llm_model *model, int length, enum halyard_llm_cache cache,
                                       struct halyard_llm_context **context);
/** Not while a call with the context runs on another thread. Null is nothing. */
void halyard_llm_context_free(struct halyard_llm_context *context);

/** Whether what is fed from here on is multiplied in 8 bits, as other programs do: weights in blocks by rows that are rounded to 8 bits, 32
 * elements with one scale. It is faster, and changes logits by some hundredths of their size. At first rows are f32. */
int halyard_llm_set_int8(struct halyard_llm_context *context, int on);

/** Reads tokens behind those before. */
int halyard_llm_feed(struct halyard_llm_context *context, const int32_t *tokens, size_t count);

/** The same for several contexts of one model in one pass through its layers, which by rows in 8 bits reads the weights once for all:
 * `counts[i]` tokens at
 * `tokens[i]` for each of `contexts`, which are different ones. Each has the same logits as by halyard_llm_feed(), to the bit. Where it fails
 * all sequences are as they were, without logits. */
int halyard_llm_feed_together(size_t contexts_count, struct halyard_llm_context *const *contexts, const int32_t *const *tokens,
                              const size_t *counts);

/** How many tokens the sequence has, and going back to fewer, after which something is fed before the next logits. */
int halyard_llm_position(const struct halyard_llm_context *context);
int halyard_llm_rewind(struct halyard_llm_context *context, int position);

/** Logits of what comes next, one for each token of the vocabulary, valid until the next call with this context; null before anything
 * was fed. */
const float *halyard_llm_logits(const struct halyard_llm_context *context);

/** How tokens are drawn. {0, 0, 1, 0} takes the most probable one. */
struct halyard_llm_sampling {
    float temperature; /* divides the logits; 0: the largest is taken */
    int top_k;         /* of the largest so many; 0: all */
    float top_p;       /* then the largest whose probabilities reach this sum; 1: all */
    uint64_t seed;
};

/** Sets how halyard_llm_sample() draws, and begins the random numbers of the seed. At first it takes the most probable token. */
int halyard_llm_set_sampling(struct halyard_llm_context *context, const struct halyard_llm_sampling *sampling);

/** Draws the next token, without feeding it. */
int halyard_llm_sample(struct halyard_llm_context *context, int32_t *token);

#ifdef __cplusplus
}
#endif

#endif
