#include "lowering/cuda/tensor_cores/wgmma.h"

#include "lowering/cuda/tensor_cores/warpgroups.h"

namespace halyard {

std::string WgmmaInstruction::name() const {
    return "wgmma_n" + std::to_string(columns) + "_" + a.text() + (a == b ? "" : "_" + b.text()) + (b_across ? "_across" : "") +
           (a_in_registers ? "_registers" : "");
}

std::string WgmmaInstruction::text() const {
    const int sums = columns / 2;  // of a thread
    const bool integers = a.is_byte();
    std::string registers, outputs;
    for (int i = 0; i < sums; i++) {
        registers += (i ? ", %" : "%") + std::to_string(i);
        outputs += std::string(i ? ", " : "") + (integers ? "\"+r\"(d[" : "\"+f\"(d[") + std::to_string(i) + "])";
    }
    int operand = sums;
    const auto next = [&] { return "%" + std::to_string(operand++); };
    std::string a_text, inputs;
    if (a_in_registers) {
        for (int i = 0; i < 4; i++) {
            a_text += (i ? ", " : "{") + next();
            inputs += (i ? ", " : "") + std::string("\"r\"(a[") + std::to_string(i) + "])";
        }
        a_text += "}";
    } else {
        a_text = next();
        inputs = "\"l\"(a)";
    }
    const std::string b_text = next(), accumulate = next();
    // Whether a is negated, b is negated, and, of matrices of 16 bits in shared memory, transposed; integers have no such modes.
    const std::string transposed = a.is_half() ? std::string(a_in_registers ? "" : ", 0") + (b_across ? ", 1" : ", 0") : "";
    const std::string modes = integers ? "" : ", 1, 1" + transposed;
    const std::string sum_type = integers ? ", int32_t" : "";
    return "__device__ __forceinline__ void " + name() + "(sums<" + std::to_string(sums) + sum_type + "> &d, " +
           (a_in_registers ? "const uint32_t *a" : "uint64_t a") + ", uint64_t b, bool accumulate) {\n" + "#ifdef HALYARD_EMULATOR\n" +
           "    emulator::multiply<" + a.text() + ", " + b.text() + ", " + std::to_string(columns) + ", " + (b_across ? "true" : "false") +
           ">(d, a, b, accumulate);\n" + "#else\n" + "    asm volatile(\"{\\n.reg .pred add;\\nsetp.ne.b32 add, " + accumulate +
           ", 0;\\nwgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) + "k" + std::to_string(depth_of_instruction(a.type)) +
           (integers ? ".s32." : ".f32.") + a.ptx() + "." + b.ptx() + " {" + registers + "}, " + a_text + ", " + b_text + ", add" + modes +
           ";\\n}\"\n" + "                 : " + outputs + "\n                 : " + inputs +
           ", \"l\"(b), \"r\"(int(accumulate)));\n#endif\n}\n";
}

}  // namespace halyard
