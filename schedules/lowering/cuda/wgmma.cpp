#include "wgmma.h"

#include "print_expr.h"

namespace halyard {

std::string wgmma_function(const TileOfProduct &t) {
    return "wgmma_n" + std::to_string(t.columns) + "_" + type_text(t.a.type) +
           (t.b.depth_dimension != 0 ? "_across" : "");
}

// The instruction for a tile's width: as many operands as a thread has sums.
std::string wgmma_text(const TileOfProduct &t) {
    const int sums = t.columns / 2;
    const std::string type = t.a.type.is_bfloat() ? "bf16" : "f16";
    std::string registers, outputs;
    for (int i = 0; i < sums; i++) {
        registers += (i ? ", %" : "%") + std::to_string(i);
        outputs += std::string(i ? ", " : "") + "\"+f\"(d[" + std::to_string(i) + "])";
    }
    const std::string a = std::to_string(sums), b = std::to_string(sums + 1);
    const bool b_across = t.b.depth_dimension != 0;  // columns are neighbours, not the depth
    return "__device__ __forceinline__ void " + wgmma_function(t) + "(sums<" + a + "> &d, uint64_t a, uint64_t b) {\n" +
           "#ifdef HALYARD_EMULATOR\n" + "    emulator::multiply<" + type_text(t.a.type) + ", " +
           std::to_string(t.columns) + ", " + (b_across ? "true" : "false") + ">(d, a, b);\n" + "#else\n" +
           "    asm volatile(\"wgmma.mma_async.sync.aligned.m64n" + std::to_string(t.columns) + "k16.f32." + type +
           "." + type + " {" + registers + "}, %" + a + ", %" + b + ", 1, 1, 1, 0, " + (b_across ? "1" : "0") +
           ";\"\n" + "                 : " + outputs + "\n                 : \"l\"(a), \"l\"(b));\n#endif\n}\n";
}

}  // namespace halyard
