#include "lowering/cuda/tensor_cores/wgmma_operands.h"

#include <utility>

#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"

namespace halyard {

using namespace Halide;

WgmmaOperands::WgmmaOperands(const TileProgram &program, const WgmmaLayout &layout, KernelPrinter &out,
                             std::function<std::string(const Expr &)> text)
    : program_(program), layout_(layout), out_(out), e(std::move(text)) {}

void WgmmaOperands::fetch() {
    out_.line("barrier_expect(&full[stage], " + number(layout_.bytes_a() + program_.products() * layout_.bytes_b()) + ");");
    const Operand &a = tile().a;
    out_.line("tensor_load(a_tiles + stage * " + number(tile().rows * tile().depth) + ", " + out_.name(a.buffer + ".map") +
              ", &full[stage], " + e(a.origin[0]) + others(a) + ");");
    for (int i = 0; i < program_.products(); i++) {
        fetch_b(program_.tiles[size_t(i)].b, "b_tiles + " + b_tile("stage", i));
    }
}

// Where the tile of b of a product begins, in elements.
std::string WgmmaOperands::b_tile(const std::string &stage, int product) const {
    const std::string start = stage + " * " + number(program_.products() * layout_.elements_b());
    return product == 0 ? start : start + " + " + number(product * layout_.elements_b());
}

void WgmmaOperands::fetch_b(const Operand &b, const std::string &to) {
    const std::string map = out_.name(b.buffer + ".map");
    if (b.depth_dimension == 0) {
        out_.line("tensor_load(" + to + ", " + map + ", &full[stage], " + e(b.origin[0]) + others(b) + ");");
        return;
    }
    out_.line("#pragma unroll");
    out_.open("for (int i = 0; i < " + number(tile().columns / 64) + "; i++) {");
    out_.line("tensor_load(" + to + " + i * " + number(64 * tile().depth) + ", " + map + ", &full[stage], " +
              in_parentheses(e(b.origin[0])) + " + i * 64" + others(b) + ");");
    out_.close();
}

// The coordinates of a tile but the first, with a comma before each.
std::string WgmmaOperands::others(const Operand &o) {
    std::string all;
    for (int d = 1; d < o.rank(); d++) {
        all += ", " + e(o.origin[size_t(d)]);
    }
    return all;
}

void WgmmaOperands::fetch_elements() {
    fetch_elements(tile().a, "a_tiles", tile().rows);
    for (int i = 0; i < program_.products(); i++) {
        const std::string array = i == 0 ? "b_tiles" : "(b_tiles + " + number(i * layout_.elements_b()) + ")";
        fetch_elements(program_.tiles[size_t(i)].b, array, tile().columns);
    }
    out_.line("fence_shared();");
    out_.line("__syncthreads();");
}

// What lies outside is 0.
void WgmmaOperands::fetch_elements(const Operand &o, const std::string &array, int others) {
    const bool across = o.depth_dimension != 0;  // lines run along the depth, so many others each
    const std::string of_line = number(elements_of_line(o.type)), of_chunk = number(elements_of_line(o.type) / 8);
    const std::string place =
        "line * " + of_line + " + ((in_line / " + of_chunk + ") ^ (line % 8)) * " + of_chunk + " + in_line % " + of_chunk + ";";
    const int elements = others * tile().depth;
    const std::string x = out_.name(o.buffer);
    out_.open("for (int i = threadIdx.x; i < " + number(elements) +
              "; i += " + number(layout_.warpgroups(WgmmaForm::kElements) * kWarpgroup) + ") {");
    coordinates_of_element_of(o, across ? others : elements_of_line(o.type));
    if (across) {
        out_.line("const int line = i / " + number(others) + ", in_line = i % " + number(others) + " % " + of_line + ";");
        out_.line("const int to = i % " + number(others) + " / " + of_line + " * " + number(elements_of_line(o.type) * tile().depth) +
                  " + " + place);
    } else {
        out_.line("const int line = i / " + of_line + ", in_line = i % " + of_line + ";");
        out_.line("const int to = " + place);
    }
    std::string inside, at;
    for (int d = 0; d < o.rank(); d++) {
        const std::string c = "c" + number(d);
        inside += (d ? " && " : "") + c + " >= 0 && " + c + " < " + e(extent_of(o, d));
        at += d ? " + " + c + " * " + e(field(o.buffer, "stride", d)) : c;
    }
    out_.line(array + "[to] = " + inside + " ? " + x + "[" + at + "] : " + type_text(o.type) + "(0.0f);");
    out_.close();
}

// Of element i of a tile, whose lines have so many elements and go through its box one dimension after the other.
void WgmmaOperands::coordinates_of_element_of(const Operand &o, int line) {
    std::string text = "const int c0 = " + in_parentheses(e(o.origin[0])) + " + i % " + number(line);
    int lines = line;  // elements of those inside
    for (int d = 1; d < o.rank(); d++) {
        const int box = o.box[size_t(d)], step = o.step[size_t(d)];
        text += ", c" + number(d) + " = " + in_parentheses(e(o.origin[size_t(d)]));
        if (box > 1) {
            text += " + i / " + number(lines) + " % " + number(box) + (step == 1 ? "" : " * " + number(step));
        }
        lines *= box;
    }
    out_.line(text + ";");
}

}  // namespace halyard
