#include "explain.h"
#include "offers.h"

namespace halyard_llm {

const Offers &offers() {
    static const Offers all = {"llm",
                               "Language models from GGUF files, computed by Halyard kernels.",
                               {"f32", "f16", "bf16", "int8"},
                               {"fused", "unfused"},
                               true,
                               true,
                               true};
    return all;
}

const Kernels *kernels_of_kind(const std::string &kind) {
    return kind == "unfused" ? &unfused_kernels() : &fused_kernels();
}

void explain_token(const Model &model, const Precision &precision, int depth, int threads) {
    explain(model, precision, depth, threads);
}

}  // namespace halyard_llm
