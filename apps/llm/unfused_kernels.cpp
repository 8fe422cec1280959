#include "kernel_table.h"

#include "llm_unfused_attention.h"
#include "llm_unfused_decode_attention.h"
#include "llm_unfused_bf16.h"
#include "llm_unfused_f16.h"
#include "llm_unfused_f32.h"
#include "llm_unfused_gated_gelu_tanh.h"
#include "llm_unfused_gated_silu.h"
#include "llm_unfused_int8_q4_0.h"
#include "llm_unfused_int8_q4_1.h"
#include "llm_unfused_int8_q4_k.h"
#include "llm_unfused_int8_q5_0.h"
#include "llm_unfused_int8_q5_1.h"
#include "llm_unfused_int8_q5_k.h"
#include "llm_unfused_int8_q6_k.h"
#include "llm_unfused_int8_q8_0.h"
#include "llm_unfused_q4_0.h"
#include "llm_unfused_q4_1.h"
#include "llm_unfused_q4_k.h"
#include "llm_unfused_q5_0.h"
#include "llm_unfused_q5_1.h"
#include "llm_unfused_q5_k.h"
#include "llm_unfused_q6_k.h"
#include "llm_unfused_q8_0.h"
#include "llm_unfused_rms_norm.h"
#include "llm_unfused_rope.h"
#include "llm_unfused_rope_halves.h"

namespace halyard_llm {

const Kernels &unfused_kernels() {
    static const Kernels kernels = {
        false,
        {{HALYARD_LLM_KERNEL(llm_unfused_int8_q4_0), HALYARD_LLM_KERNEL(llm_unfused_q4_0)},
         {HALYARD_LLM_KERNEL(llm_unfused_int8_q4_1), HALYARD_LLM_KERNEL(llm_unfused_q4_1)},
         {HALYARD_LLM_KERNEL(llm_unfused_int8_q5_0), HALYARD_LLM_KERNEL(llm_unfused_q5_0)},
         {HALYARD_LLM_KERNEL(llm_unfused_int8_q5_1), HALYARD_LLM_KERNEL(llm_unfused_q5_1)},
         {HALYARD_LLM_KERNEL(llm_unfused_int8_q8_0), HALYARD_LLM_KERNEL(llm_unfused_q8_0)},
         {HALYARD_LLM_KERNEL(llm_unfused_int8_q4_k), HALYARD_LLM_KERNEL(llm_unfused_q4_k)},
         {HALYARD_LLM_KERNEL(llm_unfused_int8_q5_k), HALYARD_LLM_KERNEL(llm_unfused_q5_k)},
         {HALYARD_LLM_KERNEL(llm_unfused_int8_q6_k), HALYARD_LLM_KERNEL(llm_unfused_q6_k)},
         {HALYARD_LLM_KERNEL(llm_unfused_f16), HALYARD_LLM_KERNEL(llm_unfused_f16)},
         {HALYARD_LLM_KERNEL(llm_unfused_bf16), HALYARD_LLM_KERNEL(llm_unfused_bf16)},
         {HALYARD_LLM_KERNEL(llm_unfused_f32), HALYARD_LLM_KERNEL(llm_unfused_f32)}},
        HALYARD_LLM_KERNEL(llm_unfused_rms_norm),
        HALYARD_LLM_KERNEL(llm_unfused_rope),
        HALYARD_LLM_KERNEL(llm_unfused_rope_halves),
        HALYARD_LLM_KERNEL(llm_unfused_gated_silu),
        HALYARD_LLM_KERNEL(llm_unfused_gated_gelu_tanh),
        {{"copy", nullptr}, {}, {}},
        {HALYARD_LLM_KERNEL(llm_unfused_decode_attention), {}, {}},
        {},
        {},
        {HALYARD_LLM_KERNEL(llm_unfused_attention), {}, {}},
        {},
        {},
        {},
    };
    return kernels;
}

}  // namespace halyard_llm
