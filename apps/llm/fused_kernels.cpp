#include "kernel_table.h"

#include "llm_attention.h"
#include "llm_attention_bf16.h"
#include "llm_attention_f16.h"
#include "llm_attention_int8.h"
#include "llm_decode_attention.h"
#include "llm_decode_attention_128.h"
#include "llm_decode_attention_64.h"
#include "llm_decode_attention_bf16.h"
#include "llm_decode_attention_f16.h"
#include "llm_decode_attention_f16_128.h"
#include "llm_decode_attention_f16_64.h"
#include "llm_decode_attention_int8.h"
#include "llm_bf16.h"
#include "llm_f16.h"
#include "llm_f32.h"
#include "llm_gated_gelu_tanh.h"
#include "llm_gated_silu.h"
#include "llm_int8_q4_0.h"
#include "llm_int8_q4_1.h"
#include "llm_int8_q4_k.h"
#include "llm_int8_q5_0.h"
#include "llm_int8_q5_1.h"
#include "llm_int8_q5_k.h"
#include "llm_int8_q6_k.h"
#include "llm_int8_q8_0.h"
#include "llm_q4_0.h"
#include "llm_q4_1.h"
#include "llm_q4_k.h"
#include "llm_q5_0.h"
#include "llm_q5_1.h"
#include "llm_q5_k.h"
#include "llm_q6_k.h"
#include "llm_q8_0.h"
#include "llm_rms_norm.h"
#include "llm_rope.h"
#include "llm_rope_halves.h"
#include "llm_store_bf16.h"
#include "llm_store_f16.h"
#include "llm_store_int8.h"

namespace halyard_llm {

const Kernels &fused_kernels() {
    static const Kernels kernels = {
        true,
        {{HALYARD_LLM_KERNEL(llm_int8_q4_0), HALYARD_LLM_KERNEL(llm_q4_0)},
         {HALYARD_LLM_KERNEL(llm_int8_q4_1), HALYARD_LLM_KERNEL(llm_q4_1)},
         {HALYARD_LLM_KERNEL(llm_int8_q5_0), HALYARD_LLM_KERNEL(llm_q5_0)},
         {HALYARD_LLM_KERNEL(llm_int8_q5_1), HALYARD_LLM_KERNEL(llm_q5_1)},
         {HALYARD_LLM_KERNEL(llm_int8_q8_0), HALYARD_LLM_KERNEL(llm_q8_0)},
         {HALYARD_LLM_KERNEL(llm_int8_q4_k), HALYARD_LLM_KERNEL(llm_q4_k)},
         {HALYARD_LLM_KERNEL(llm_int8_q5_k), HALYARD_LLM_KERNEL(llm_q5_k)},
         {HALYARD_LLM_KERNEL(llm_int8_q6_k), HALYARD_LLM_KERNEL(llm_q6_k)},
         {HALYARD_LLM_KERNEL(llm_f16), HALYARD_LLM_KERNEL(llm_f16)},
         {HALYARD_LLM_KERNEL(llm_bf16), HALYARD_LLM_KERNEL(llm_bf16)},
         {HALYARD_LLM_KERNEL(llm_f32), HALYARD_LLM_KERNEL(llm_f32)}},
        HALYARD_LLM_KERNEL(llm_rms_norm),
        HALYARD_LLM_KERNEL(llm_rope),
        HALYARD_LLM_KERNEL(llm_rope_halves),
        HALYARD_LLM_KERNEL(llm_gated_silu),
        HALYARD_LLM_KERNEL(llm_gated_gelu_tanh),
        {{"copy", nullptr}, HALYARD_LLM_KERNEL(llm_store_f16), HALYARD_LLM_KERNEL(llm_store_bf16)},
        {HALYARD_LLM_KERNEL(llm_decode_attention), HALYARD_LLM_KERNEL(llm_decode_attention_f16),
         HALYARD_LLM_KERNEL(llm_decode_attention_bf16)},
        {HALYARD_LLM_KERNEL(llm_decode_attention_64), HALYARD_LLM_KERNEL(llm_decode_attention_f16_64), {}},
        {HALYARD_LLM_KERNEL(llm_decode_attention_128), HALYARD_LLM_KERNEL(llm_decode_attention_f16_128), {}},
        {HALYARD_LLM_KERNEL(llm_attention), HALYARD_LLM_KERNEL(llm_attention_f16), HALYARD_LLM_KERNEL(llm_attention_bf16)},
        HALYARD_LLM_KERNEL(llm_store_int8),
        HALYARD_LLM_KERNEL(llm_decode_attention_int8),
        HALYARD_LLM_KERNEL(llm_attention_int8),
    };
    return kernels;
}

}  // namespace halyard_llm
