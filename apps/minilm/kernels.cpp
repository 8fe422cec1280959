#include "kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <stdexcept>

#include "minilm_attention.h"
#include "minilm_attention_bf16.h"
#include "minilm_attention_tiles_bf16.h"
#include "minilm_attention_unfused.h"
#include "minilm_gelu.h"
#include "minilm_gelu_bf16.h"
#include "minilm_gelu_tiles.h"
#include "minilm_gelu_tiles_bf16.h"
#include "minilm_gelu_unfused.h"
#include "minilm_layer_norm.h"
#include "minilm_layer_norm_bf16.h"
#include "minilm_layer_norm_unfused.h"
#include "minilm_qkv.h"
#include "minilm_qkv_bf16.h"
#include "minilm_qkv_tiles.h"
#include "minilm_qkv_tiles_bf16.h"
#include "minilm_qkv_unfused.h"
#include "minilm_residual.h"
#include "minilm_residual_bf16.h"
#include "minilm_residual_tiles.h"
#include "minilm_residual_tiles_bf16.h"
#include "minilm_residual_unfused.h"

namespace minilm {

namespace {

bool has_tiles() {
    constexpr int kLevel = halide_target_feature_avx512_sapphirerapids, kWords = halide_target_feature_end / 64 + 1;
    static const bool has = [] {
        uint64_t features[kWords] = {};
        features[kLevel / 64] |= uint64_t(1) << (kLevel % 64);
        return halide_can_use_target_features(kWords, features) != 0;
    }();
    return has;
}

// Blocks of 32 queries and keys in AMX tiles pay for long sentences. Vectors are faster up to 48 tokens, and tiles from 64 on.
int attention_bf16(halide_buffer_t *q, halide_buffer_t *k, halide_buffer_t *v, float scale, halide_buffer_t *out) {
    constexpr int kLong = 56;
    const bool tiles = k->dim[1].extent >= kLong && has_tiles();
    return (tiles ? minilm_attention_tiles_bf16 : minilm_attention_bf16)(q, k, v, scale, out);
}

constexpr Kernels by_tiles[] = {
    {"fused", Precision::F32, minilm_qkv_tiles, minilm_gelu_tiles, minilm_residual_tiles, minilm_attention, minilm_layer_norm,
     halide_get_num_threads, halide_do_par_for, 32},
    {"fused", Precision::BF16, minilm_qkv_tiles_bf16, minilm_gelu_tiles_bf16, minilm_residual_tiles_bf16, attention_bf16,
     minilm_layer_norm_bf16, halide_get_num_threads, halide_do_par_for, 32},
};

constexpr Kernels tables[] = {
    {"fused", Precision::F32, minilm_qkv, minilm_gelu, minilm_residual, minilm_attention, minilm_layer_norm, halide_get_num_threads,
     halide_do_par_for},
    {"fused", Precision::BF16, minilm_qkv_bf16, minilm_gelu_bf16, minilm_residual_bf16, attention_bf16, minilm_layer_norm_bf16,
     halide_get_num_threads, halide_do_par_for},
    {"unfused", Precision::F32, minilm_qkv_unfused, minilm_gelu_unfused, minilm_residual_unfused, minilm_attention_unfused,
     minilm_layer_norm_unfused, halide_get_num_threads, halide_do_par_for},
};

}  // namespace

const Kernels &find_kernels(const std::string &name, Precision precision) {
    const auto wanted = [&](const Kernels &kernels) { return name == kernels.name && precision == kernels.precision; };
    const auto *tiles = std::find_if(std::begin(by_tiles), std::end(by_tiles), wanted);
    if (tiles != std::end(by_tiles) && has_tiles()) {
        return *tiles;
    }
    const auto *found = std::find_if(std::begin(tables), std::end(tables), wanted);
    if (found != std::end(tables)) {
        return *found;
    }
    throw std::invalid_argument(fmt::format("no kernels '{}' in this type; there are fused, and in f32 unfused", name));
}

void report_kernel_errors() {
    halide_set_error_handler([](void *, const char *message) { fmt::print(stderr, "minilm: kernel: {}\n", message); });
}

void set_kernel_threads(int threads) {
    halide_set_num_threads(threads);
}

}  // namespace minilm
