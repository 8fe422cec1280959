#ifndef HALYARD_LLM_MODEL_H
#define HALYARD_LLM_MODEL_H

/** \file
 * A model in memory.
 */

#include <string>

#include "config.h"
#include "gguf.h"
#include "kernel_table.h"
#include "products.h"
#include "tokenizer.h"
#include "weights.h"

namespace halyard_llm {

/** Of one file. It is only read after it is made, so that any number of sequences may use it, on any threads. */
struct Model {
    /** `kernels`: which compute it; null where those of a GPU do. `type`: what matrices are multiplied as. Throws std::runtime_error with the file, what is wrong and what to do. */
    Model(const std::string &path, const Kernels *kernels, MatrixType type);
    Model(const Model &) = delete;
    Model &operator=(const Model &) = delete;

    Gguf file;
    Config config;
    Tokenizer tokenizer;
    Weights weights;
    Products products;
    const Kernels *kernels;
};

}  // namespace halyard_llm

#endif
