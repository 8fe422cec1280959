#ifndef HALYARD_LLM_CONFIG_H
#define HALYARD_LLM_CONFIG_H

/** \file
 * What a model is made of, by the keys of its file.
 */

#include <string>

#include "gguf.h"

namespace halyard_llm {

/** A decoder of the family of Llama: norm, attention, norm, gated product, with what its members add. */
struct Config {
    std::string architecture;
    int layers = 0;
    int width = 0;       // of a token's row
    int inner = 0;       // of the gated product
    int heads = 0;       // of queries
    int key_heads = 0;   // of keys and values
    int head_width = 0;  // of each of them
    int vocabulary = 0;
    int context = 0;  // tokens that the model was made for
    float eps = 0;
    float embedding_scale = 1;
    float attention_scale = 0;
    float logit_softcap = 0;  // 0: none

    int rope_width = 0;  // elements of a head that are turned
    bool rope_halves = false;
    float rope_base = 0, rope_factor = 1;

    /** Tokens that a local layer sees, itself among them; 0: all. Every `global_every`th layer is not local; 0: all are. */
    int window = 0, global_every = 0;
    float local_rope_base = 0;  // 0: as the others

    bool gelu = false;  // the activation; otherwise silu

    bool is_local(int layer) const {
        return window > 0 && (global_every == 0 || (layer + 1) % global_every != 0);
    }
};

/** Throws std::runtime_error where the architecture, or something of it, is not one that the decoder computes. */
Config read_config(const Gguf &file);

}  // namespace halyard_llm

#endif
