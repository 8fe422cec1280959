/* ask MODEL QUESTION: a question, and the answer of a language model as it comes. */

#include <stdio.h>

#include <halyard/llm.h>

enum { LENGTH = 2048 };

static int32_t tokens[LENGTH];

static int fail(void) {
    fprintf(stderr, "%s\n", halyard_llm_last_error());
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: ask MODEL QUESTION\n");
        return 2;
    }
    struct halyard_llm_model *model;
    struct halyard_llm_context *context;
    if (halyard_llm_load(argv[1], &model) != 0 || halyard_llm_context_new(model, LENGTH, &context) != 0) {
        return fail();
    }
    size_t count;
    if (halyard_llm_tokenize_question(model, NULL, argv[2], 1, tokens, LENGTH, &count) != 0 ||
        halyard_llm_feed(context, tokens, count) != 0) {
        return fail();
    }
    int32_t token;
    while (halyard_llm_position(context) < LENGTH && halyard_llm_sample(context, &token) == 0 && !halyard_llm_is_end(model, token)) {
        char text[256];
        size_t bytes = 0;
        if (halyard_llm_text(model, token, text, sizeof(text), &bytes) != 0 || halyard_llm_feed(context, &token, 1) != 0) {
            return fail();
        }
        fwrite(text, 1, bytes, stdout);
        fflush(stdout);
    }
    printf("\n");
    halyard_llm_context_free(context);
    halyard_llm_free(model);
    return 0;
}
