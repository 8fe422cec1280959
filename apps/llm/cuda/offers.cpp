#include "offers.h"

#include <stdexcept>

namespace halyard_llm {

const Offers &offers() {
    static const Offers all = {
        "llm_cuda", "Language models from GGUF files, computed by Halyard kernels on a GPU.", {"f16"}, {}, false, false, false};
    return all;
}

const Kernels *kernels_of_kind(const std::string &) {
    return default_kernels();
}

void explain_token(const Model &, const Precision &, int, int) {
    throw std::logic_error("llm_cuda does not explain tokens");
}

}  // namespace halyard_llm
