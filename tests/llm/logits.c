/* logits KIND CACHE MODEL FIRST MORE TOKEN...: reads FIRST tokens at once and the others one by one, then MORE of the most probable ones;
 * writes the logits behind each of these reads as f32 to standard output, and the tokens that it took to standard error. CACHE is a number of
 * enum halyard_llm_cache. KIND is exact, int8: rows are in 8 bits, or bf16 or f32, which weights are made. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <halyard/llm.h>

static int fail(void) {
    fprintf(stderr, "error: %s\n", halyard_llm_last_error());
    return 1;
}

static enum halyard_llm_weights weights_of(const char *kind) {
    return strcmp(kind, "bf16") == 0  ? HALYARD_LLM_WEIGHTS_BF16
           : strcmp(kind, "f32") == 0 ? HALYARD_LLM_WEIGHTS_F32
                                      : HALYARD_LLM_WEIGHTS_OF_FILE;
}

int main(int argc, char **argv) {
    struct halyard_llm_model *model = NULL;
    struct halyard_llm_context *context = NULL;
    if (argc < 7 || halyard_llm_load_as(argv[3], weights_of(argv[1]), &model) != 0 ||
        halyard_llm_context_new_with_cache(model, 0, (enum halyard_llm_cache)atoi(argv[2]), &context) != 0 ||
        halyard_llm_set_int8(context, strcmp(argv[1], "int8") == 0) != 0) {
        return fail();
    }
    const int first = atoi(argv[4]), more = atoi(argv[5]), count = argc - 6;
    int32_t tokens[4096];
    for (int i = 0; i < count; i++) {
        tokens[i] = atoi(argv[i + 6]);
    }
    int step = first;
    for (int at = 0; at < count + more; at += step, step = 1) {
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
