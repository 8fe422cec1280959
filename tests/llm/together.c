/* together MODEL SEQUENCES FARTHEST STEPS [CACHE...]: reads prompts of 1 to FARTHEST tokens, each twice, and then most probable tokens, STEPS of
 * each: of one copy together, of the other alone. Their caches are of these numbers of enum halyard_llm_cache in turn, or of f16. Every second sequence may be
 * a token longer. Now and then a sequence has no turn, and one is another, which begins anew. Writes how many logits and tokens differ, which
 * has to be none, and how many were compared, and how long a step took of each, in microseconds. */

#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <halyard/llm.h>

enum { kMost = 64, kMostTokens = 4096 };

static void need(int code) {
    if (code != 0) {
        fprintf(stderr, "error: %s\n", halyard_llm_last_error());
        exit(1);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static struct halyard_llm_model *model;
static struct halyard_llm_context *alone[kMost], *together[kMost];
static int32_t next[kMost];
static int length, caches = 1;
static enum halyard_llm_cache cache_of[kMost] = {HALYARD_LLM_CACHE_F16};

static void begin(int i, int tokens) {
    int32_t prompt[kMostTokens];
    for (int t = 0; t < tokens; t++) {
        prompt[t] = (t * 31 + i * 7 + 3) % halyard_llm_vocabulary(model);
    }
    struct halyard_llm_context **const both[] = {&alone[i], &together[i]};
    for (int copy = 0; copy < 2; copy++) {
        halyard_llm_context_free(*both[copy]);
        need(halyard_llm_context_new_with_cache(model, length + i % 2, cache_of[i % caches], both[copy]));
        need(halyard_llm_feed(*both[copy], prompt, (size_t)tokens));
    }
    need(halyard_llm_sample(alone[i], &next[i]));
}

int main(int argc, char **argv) {
    if (argc < 5 || argc > 5 + kMost) {
        return 2;
    }
    need(halyard_llm_load(argv[1], &model));
    const int sequences = atoi(argv[2]), farthest = atoi(argv[3]), steps = atoi(argv[4]);
    if (sequences < 2 || sequences > kMost || farthest < 3 || farthest > kMostTokens) {
        return 2;
    }
    for (int i = 5; i < argc; i++) {
        cache_of[i - 5] = (enum halyard_llm_cache)atoi(argv[i]);
        caches = i - 4;
    }
    const size_t row = (size_t)halyard_llm_vocabulary(model);
    length = farthest + steps;
    for (int i = 0; i < sequences; i++) {
        begin(i, 1 + i * (farthest - 1) / (sequences - 1));
    }
    long compared = 0, differ = 0;
    double by_all = 0, by_one = 0;
    for (int step = 0; step < steps; step++) {
        if (step % 8 == 5) {
            begin(step % sequences, 3);
        }
        struct halyard_llm_context *contexts[kMost];
        const int32_t *tokens[kMost];
        size_t counts[kMost], count = 0;
        int which[kMost];
        for (int i = 0; i < sequences; i++) {
            if (step % 4 != 3 || i % 3 != 1) {
                contexts[count] = together[i];
                tokens[count] = &next[i];
                counts[count] = 1;
                which[count++] = i;
            }
        }
        double t = now();
        need(halyard_llm_feed_together(count, contexts, tokens, counts));
        int32_t found[kMost];
        for (size_t c = 0; c < count; c++) {
            need(halyard_llm_sample(contexts[c], &found[c]));
        }
        by_all += now() - t;
        t = now();
        for (size_t c = 0; c < count; c++) {
            const int i = which[c];
            need(halyard_llm_feed(alone[i], &next[i], 1));
            need(halyard_llm_sample(alone[i], &next[i]));
        }
        by_one += now() - t;
        for (size_t c = 0; c < count; c++) {
            const int i = which[c];
            const float *const x = halyard_llm_logits(alone[i]), *const y = halyard_llm_logits(together[i]);
            for (size_t v = 0; v < row; v++) {
                differ += memcmp(&x[v], &y[v], sizeof(float)) != 0;
            }
            differ += found[c] != next[i];
            compared += (long)row + 1;
        }
    }
    printf("%ld of %ld differ; a step %.0f us together, %.0f one by one\n", differ, compared, by_all / steps, by_one / steps);
    for (int i = 0; i < sequences; i++) {
        halyard_llm_context_free(alone[i]);
        halyard_llm_context_free(together[i]);
    }
    halyard_llm_free(model);
    return differ != 0;
}
