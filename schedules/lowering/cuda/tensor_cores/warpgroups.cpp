#include "lowering/cuda/tensor_cores/warpgroups.h"

#include "lowering/cuda/print/code_text.h"

namespace halyard {

// Of 65536 registers; with one warpgroup beside the producer each thread has as many as there are.
void open_producer(KernelPrinter &out, int warpgroups, int less) {
    out.open("if (warpgroup == " + number(warpgroups) + ") {  // the producer");
    if (warpgroups > 1 && less > 0) {
        out.line("registers_less<" + number(warpgroups == 3 ? 32 : less) + ">();");
    }
}

void take_registers(KernelPrinter &out, int warpgroups, int more) {
    if (warpgroups > 1 && more > 0) {
        out.line("registers_more<" + number(warpgroups == 3 ? 160 : more) + ">();");
    }
}

void declare_result(KernelPrinter &out, const std::string &type, const std::string &result, int offset, int rows, int columns) {
    out.line("const shared<" + type + "> " + result + " = shared_array<" + type + ">(" + number(offset) + ", " + number(rows * columns) +
             ") + warpgroup * " + number(kRowsOfWarpgroup * columns) + ";");
}

void wait_for_result(KernelPrinter &out) {
    out.open("if (thread == 0) {");
    out.line("tensor_store_wait_read();");
    out.close();
    out.line("warpgroup_barrier(warpgroup);");
}

void store_columns(KernelPrinter &out, const std::string &values, const std::string &result) {
    std::string words;
    for (int k = 0; k < 4; k++) {
        words += ", reinterpret_cast<const uint32_t *>(" + values + ")[" + number(k) + "]";
    }
    out.line("const int line = warp * 16 + lane % 16, chunk = first / 4 % 8 + lane / 16;");
    out.line("store_matrices(" + result + " + first / 32 * " + number(kAcross * kRowsOfWarpgroup) +
             " + line * 64 + (chunk ^ (line % 8)) * 8" + words + ");");
}

void send_result(KernelPrinter &out, const std::string &map, const std::string &result, const std::vector<std::string> &across,
                 const std::string &rest, int columns) {
    out.line("fence_shared();");
    out.line("warpgroup_barrier(warpgroup);");
    out.open("if (thread == 0) {");
    for (size_t i = 0; i < across.size(); i++) {
        out.line("tensor_store(" + map + ", " + result + (i ? " + " + number(int(i) * columns * kRowsOfWarpgroup) : "") + ", " + across[i] +
                 rest + ");");
    }
    out.line("tensor_store_commit();");
    out.close();
}

}  // namespace halyard
