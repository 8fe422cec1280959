#include "kernels.h"

#include <fmt/format.h>

#include <cstdio>
#include <stdexcept>

#include "minilm_attention.h"
#include "minilm_attention_bf16.h"
#include "minilm_attention_unfused.h"
#include "minilm_gelu.h"
#include "minilm_gelu_bf16.h"
#include "minilm_gelu_unfused.h"
#include "minilm_layer_norm.h"
#include "minilm_layer_norm_bf16.h"
#include "minilm_layer_norm_unfused.h"
#include "minilm_qkv.h"
#include "minilm_qkv_bf16.h"
#include "minilm_qkv_unfused.h"
#include "minilm_residual.h"
#include "minilm_residual_bf16.h"
#include "minilm_residual_unfused.h"

namespace minilm {

namespace {

constexpr Kernels tables[] = {
    {"fused", Precision::F32, minilm_qkv, minilm_gelu, minilm_residual, minilm_attention, minilm_layer_norm},
    {"fused", Precision::BF16, minilm_qkv_bf16, minilm_gelu_bf16, minilm_residual_bf16,
     minilm_attention_bf16, minilm_layer_norm_bf16},
    {"unfused", Precision::F32, minilm_qkv_unfused, minilm_gelu_unfused, minilm_residual_unfused,
     minilm_attention_unfused, minilm_layer_norm_unfused},
};

}  // namespace

const Kernels &find_kernels(const std::string &name, Precision precision) {
    for (const Kernels &kernels : tables) {
        if (name == kernels.name && precision == kernels.precision) {
            return kernels;
        }
    }
    throw std::invalid_argument(fmt::format(
        "no kernels '{}' in this type; there are fused, and in f32 unfused", name));
}

void report_kernel_errors() {
    halide_set_error_handler([](void *, const char *message) {
        fmt::print(stderr, "minilm: kernel: {}\n", message);
    });
}

void set_kernel_threads(int threads) {
    halide_set_num_threads(threads);
}

}  // namespace minilm
