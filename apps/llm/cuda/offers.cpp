#include "explain.h"
#include "offers.h"

namespace halyard_llm {

const Offers &offers() {
    static const Offers all = {
        "llm_cuda", "Language models from GGUF files, computed by Halyard kernels on a GPU.", {"f16", "bf16", "int8"}, {}, false, false,
        true};
    return all;
}

const Kernels *kernels_of_kind(const std::string &) {
    return default_kernels();
}

void explain_token(const Model &model, const Precision &precision, int depth, int threads) {
    explain(model, precision, depth, threads);
}

}  // namespace halyard_llm
