#include "model.h"

#include <fmt/format.h>

namespace halyard_llm {

Model::Model(const std::string &path, const Kernels *kernels, MatrixType type)
    : file(path), config(read_config(file)), tokenizer(file), weights(file, config, type), products(weights, !kernels || kernels->fused),
      kernels(kernels) {
    if (tokenizer.size() > config.vocabulary) {
        file.fail(fmt::format("its tokenizer has {} tokens, and its embeddings have {}", tokenizer.size(), config.vocabulary));
    }
}

}  // namespace halyard_llm
