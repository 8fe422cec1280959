#include "lowering/cuda/tensor_cores/mma_operands.h"

#include <set>
#include <utility>

#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/print/print_expr.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kChunksOfBlock = 256;  // 64 columns that are neighbours, of a stage

// Whether a tile is more than rows of a matrix.
bool is_box(const Operand &o) {
    return o.rank() > 2 || o.step[1] != 1;
}

std::string chunk_type(const Operand &o, int lines) {
    return (is_across(o) ? "chunk_across_columns<" : "chunk_along_depth<") + number(lines) + ">";
}

std::string chunks_name(size_t operand) {
    return operand == 0 ? "a_chunks" : "b_chunks_" + number(int(operand));
}

}  // namespace

MmaOperands::MmaOperands(const TileProgram &program, const MmaLayout &layout, bool by_elements, KernelPrinter &out,
                         std::function<std::string(const Expr &)> text)
    : program_(program), layout_(layout), by_elements_(by_elements), out_(out), e(std::move(text)) {}

void MmaOperands::declare() {
    std::set<std::string> declared;
    for (const auto &o : program_.operands()) {
        if (!declared.insert(o.buffer).second) {
            continue;
        }
        if (is_box(o)) {
            declare_tensor(o);
        } else {
            out_.line("const matrix<" + type_text(o.type) + "> " + out_.name(o.buffer + ".matrix") + " = {" + out_.name(o.buffer) + ", " +
                      e(field(o.buffer, "stride", 1)) + ", " + e(extent_of(o, 0)) + ", " + e(extent_of(o, 1)) + "};");
        }
    }
}

void MmaOperands::declare_tensor(const Operand &o) {
    const std::string rank = number(o.rank()), name = out_.name(o.buffer + ".tensor");
    std::string strides = "1", extents = e(extent_of(o, 0)), box, step;
    for (int d = 1; d < o.rank(); d++) {
        strides += ", " + e(field(o.buffer, "stride", d));
        extents += ", " + e(extent_of(o, d));
    }
    for (int d = 0; d < o.rank(); d++) {
        // A stage has a slice of the depth.
        const int lines = d == o.depth_dimension ? layout_.depth_of_stage() : o.box[size_t(d)];
        box += (d ? ", " : "") + number(lines);
        step += (d ? ", " : "") + number(o.step[size_t(d)]);
    }
    out_.line("const tensor<" + type_text(o.type) + ", " + rank + "> " + name + " = {" + out_.name(o.buffer) + ", {" + strides + "}, {" +
              extents + "}};");
    out_.line("constexpr tensor_box<" + rank + "> " + out_.name(o.buffer + ".box") + " = {{" + box + "}, {" + step + "}};");
}

std::string MmaOperands::b_tile(const std::string &stage, int product) const {
    const std::string start = stage + " * " + number(program_.products() * layout_.elements_b());
    return product == 0 ? start : start + " + " + number(product * layout_.elements_b());
}

void MmaOperands::fetch(const std::string &slice, const std::string &stage) {
    const ProductPart &first = program_.first();
    const std::string n = number(layout_.slices_of_step());
    const std::string from = is_const_zero(first.min) ? "" : in_parentheses(e(first.min)) + " + ";
    out_.line("const int " + out_.name(first.step) + " = " + from + slice + " / " + n + ", depth = " + slice + " % " + n + " * " +
              number(layout_.depth_of_stage()) + ";");
    fetch_tile(tile().a, tile().rows, "a_tiles + " + stage + " * " + number(layout_.elements_a()));
    for (int i = 0; i < program_.products(); i++) {
        fetch_tile(program_.tiles[size_t(i)].b, tile().columns, "b_tiles + " + b_tile(stage, i));
    }
}

void MmaOperands::fetch_tile(const Operand &o, int others, const std::string &to) {
    const std::string chunk = chunk_type(o, others);
    std::string at;
    for (int d = 0; d < o.rank(); d++) {
        const Expr &origin = o.origin[size_t(d)];
        at += ", " + (d == o.depth_dimension ? in_parentheses(e(origin)) + " + depth" : e(origin));
    }
    const std::string from = is_box(o) ? out_.name(o.buffer + ".tensor") + ", " + out_.name(o.buffer + ".box") + ", {" + at.substr(2) + "}"
                                       : out_.name(o.buffer + ".matrix") + at;
    out_.line(std::string(by_elements_ ? "fetch_elements<" : "fetch<") + chunk + ", " + number(layout_.threads()) + ">(" + to + ", " +
              from + ");");
}

void MmaOperands::commit() {
    if (!by_elements_) {
        out_.line("copy_async_commit();");
    }
}

void MmaOperands::arrive() {
    if (!by_elements_) {
        out_.line("copy_async_wait<" + number(layout_.stages() - 2) + ">();");
    }
    out_.line("__syncthreads();");
}

void MmaOperands::finish() {
    if (!by_elements_) {
        out_.line("copy_async_wait<0>();");
    }
}

bool MmaOperands::has_chunks() const {
    if (by_elements_) {
        return false;
    }
    const Expr step = Variable::make(Int(32), program_.first().step);
    const auto operands = program_.operands();
    for (size_t i = 0; i < operands.size(); i++) {
        const Operand &o = operands[i];
        const bool regular = lines_of(i) * kBytesOfStage / kChunk % layout_.threads() == 0 &&
                             (kChunksOfBlock % layout_.threads() == 0 || layout_.threads() % kChunksOfBlock == 0);
        if (is_box(o) || !regular) {
            return false;
        }
        for (int d = 0; d < o.rank(); d++) {
            const Expr &at = o.origin[size_t(d)];
            const int moved = d == o.depth_dimension ? tile().depth : 0;
            if (!can_prove(simplify(substitute(program_.first().step, step + 1, at) - at) == moved)) {
                return false;
            }
        }
    }
    return true;
}

int MmaOperands::lines_of(size_t operand) const {
    return operand == 0 ? tile().rows : tile().columns;
}

// Of a stage.
int MmaOperands::chunks_of_thread(size_t operand) const {
    return lines_of(operand) * kBytesOfStage / kChunk / layout_.threads();
}

void MmaOperands::declare_chunks() {
    const auto operands = program_.operands();
    std::string inside = "slices";
    for (size_t i = 0; i < operands.size(); i++) {
        const Operand &o = operands[i];
        const std::string matrix = out_.name(o.buffer + ".matrix"), depth = number(layout_.depth_of_stage()), lines = number(lines_of(i));
        std::string at;
        for (const auto &c : o.origin) {
            at += ", " + e(simplify(substitute(program_.first().step, program_.first().min, c)));
        }
        out_.line("const chunks_of_thread<" + chunk_type(o, lines_of(i)) + ", " + number(layout_.threads()) + ", " + type_text(o.type) +
                  "> " + chunks_name(i) + "(" + matrix + at + ");");
        inside = "minimum(" + inside + ", tiles_inside<" + (is_across(o) ? "1" : "0") + ">(" + matrix + at + ", " +
                 (is_across(o) ? lines + ", " + depth : depth + ", " + lines) + "))";
    }
    out_.line("const int slices_inside = " + inside + ";  // of which tiles are whole");
}

void MmaOperands::define_fetch_part() {
    const auto operands = program_.operands();
    int all = 0;
    for (size_t i = 0; i < operands.size(); i++) {
        all += chunks_of_thread(i);
    }
    const std::string at_once = number((all + layout_.parts() - 1) / layout_.parts());
    out_.open("const auto fetch_part = [&](int part) {");
    out_.line("#pragma unroll");
    out_.open("for (int i = part * " + at_once + "; i < (part + 1) * " + at_once + "; i++) {");
    int first = 0;
    for (size_t i = 0; i < operands.size(); i++) {
        const Operand &o = operands[i];
        const int end = first + chunks_of_thread(i);
        const std::string tile =
                              i == 0 ? "a_tiles + behind * " + number(layout_.elements_a()) : "b_tiles + " + b_tile("behind", int(i) - 1),
                          further =
                              "next * " + number(layout_.depth_of_stage()) + (is_across(o) ? " * " + e(field(o.buffer, "stride", 1)) : "");
        out_.open("if (i >= " + number(first) + " && i < " + number(end) + ") {");
        out_.line(chunks_name(i) + ".fetch(i - " + number(first) + ", " + tile + ", " + further + ");");
        out_.close();
        first = end;
    }
    out_.close();
    out_.close("};");
}

}  // namespace halyard
