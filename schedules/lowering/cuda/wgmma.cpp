#include "wgmma.h"

#include "print_expr.h"

namespace halyard {

std::string WgmmaInstruction::name() const {
    return "wgmma_n" + std::to_string(columns) + "_" + type_text(type) + (b_across ? "_across" : "") +
           (a_in_registers ? "_registers" : "");
}

std::string WgmmaInstruction::text() const {
    const int sums = columns / 2;  // of a thread
    const std::string of = type.is_bfloat() ? "bf16" : "f16";
    std::string registers, outputs;
    for (int i = 0; i < sums; i++) {
        registers += (i ? ", %" : "%") + std::to_string(i);
        outputs += std::string(i ? ", " : "") + "\"+f\"(d[" + std::to_string(i) + "])";
    }
    int operand = sums;
    const auto next = [&] { return "%" + std::to_string(operand++); };
    std::string a, inputs;
    if (a_in_registers) {
        for (int i = 0; i < 4; i++) {
            a += (i ? ", " : "{") + next();
            inputs += (i ? ", " : "") + std::string("\"r\"(a[") + std::to_string(i) + "])";
        }
        a += "}";
    } else {
        a = next();
        inputs = "\"l\"(a)";
    }
    const std::string b = next(), accumulate = next();
    // Whether a is negated, b is negated, and, of matrices in shared memory, transposed.
    const std::string modes = std::string(", 1, 1") + (a_in_registers ? "" : ", 0") + (b_across ? ", 1" : ", 0");
    return "__device__ __forceinline__ void " + name() + "(sums<" + std::to_string(sums) + "> &d, " +
           (a_in_registers ? "const uint32_t *a" : "uint64_t a") + ", uint64_t b, bool accumulate) {\n" +
           "#ifdef HALYARD_EMULATOR\n" + "    emulator::multiply<" + type_text(type) + ", " + std::to_string(columns) +
           ", " + (b_across ? "true" : "false") + ">(d, a, b, accumulate);\n" + "#else\n" +
           "    asm volatile(\"{\\n.reg .pred add;\\nsetp.ne.b32 add, " + accumulate +
           ", 0;\\nwgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) + "k16.f32." + of + "." + of + " {" +
           registers + "}, " + a + ", " + b + ", add" + modes + ";\\n}\"\n" + "                 : " + outputs +
           "\n                 : " + inputs + ", \"l\"(b), \"r\"(int(accumulate)));\n#endif\n}\n";
}

}  // namespace halyard
