/* logits exact|int8 MODEL FIRST TOKEN...: reads FIRST tokens at once and the others one by one, then the most probable ones for as long; writes the
 * logits behind each of these reads as f32 to standard output, and the tokens that it took to standard error. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <halyard/llm.h>

static int fail(void) {
    fprintf(stderr, "error: %s\n", halyard_llm_last_error());
    return 1;
}

int main(int argc, char **argv) {
    struct halyard_llm_model *model = NULL;
    struct halyard_llm_context *context = NULL;
    if (argc < 5 || halyard_llm_load(argv[2], &model) != 0 || halyard_llm_context_new(model, 0, &context) != 0 ||
        halyard_llm_set_int8(context, strcmp(argv[1], "int8") == 0) != 0) {
        return fail();
    }
    const int first = atoi(argv[3]), count = argc - 4;
    int32_t tokens[4096];
    for (int i = 0; i < count; i++) {
        tokens[i] = atoi(argv[i + 4]);
    }
    int step = first;
    for (int at = 0; at < 2 * count; at += step, step = 1) {
        if (at >= count && halyard_llm_sample(context, &tokens[at]) != 0) {
            return fail();
        }
        if (halyard_llm_feed(context, tokens + at, (size_t)(at == 0 ? first : 1)) != 0) {
            return fail();
        }
        if (at >= count) {
            fprintf(stderr, "%d ", tokens[at]);
        }
        fwrite(halyard_llm_logits(context), sizeof(float), (size_t)halyard_llm_vocabulary(model), stdout);
    }
    halyard_llm_context_free(context);
    halyard_llm_free(model);
    return 0;
}
