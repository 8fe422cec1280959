#include "lowering/cuda/tiles/block_text.h"

#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"
#include "lowering/cuda/tensor_cores/warps.h"
#include "lowering/cuda/tiles/computed_tile.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool is_in_registers(const BlockProgram &program, const TileOfProduct &t) {
    return t.a.value.defined() || program.held.count(t.a.buffer) > 0;
}

std::string registers_of(const BlockText &text, const TileOfProduct &t) {
    return text.out.name(t.a.value.defined() ? rows_of(t) : t.a.buffer);
}

std::string tile_text(const BlockText &text, const Operand &o) {
    const OperandPlace place = text.launch.streams().place_of(o);
    return text.out.name(place.tile->name) + " + " + text.slot(*place.stream, *place.tile);
}

void multiply_by_mma(const BlockText &text, const TileOfProduct &t, bool begins) {
    const bool held = is_in_registers(text.program, t), across = t.b.depth_dimension != 0;
    if (begins) {
        text.out.line("#pragma unroll");
        text.out.open("for (int i = 0; i < " + number(t.columns / 2 * text.launch.fragments()) + "; i++) {");
        text.out.line(text.out.name(t.accumulator) + "[i] = 0.0f;");
        text.out.close();
    }
    const std::string type = t.b.number().text(), fragments = number(text.launch.fragments()),
                      shape = number(t.columns) + ", " + number(t.depth) + (across ? ", true" : ", false");
    const std::string rows = " + warp * " + number(kRowsOfFragment * text.launch.fragments() * elements_of_line(t.b.type)),
                      sums = text.out.name(t.accumulator);
    text.out.line(held ? "multiply_rows<" + type + ", " + fragments + ", " + shape + ">(" + sums + ", " + registers_of(text, t) + ", " +
                             tile_text(text, t.b) + ");"
                       : "multiply_tiles<" + t.a.number().text() + ", " + type + ", " + fragments + ", " + number(t.rows) + ", " + shape +
                             ">(" + sums + ", " + tile_text(text, t.a) + rows + ", " + tile_text(text, t.b) + ");");
}

// Descriptors count in 16 bytes.
void multiply_by_wgmma(const BlockText &text, const TileOfProduct &t, bool begins) {
    const bool held = is_in_registers(text.program, t), across = t.b.depth_dimension != 0;
    const auto along_depth = [&](const std::string &name, int lines) {
        return panels(t.depth, t.b.type) == 1 ? name + " + d * 2"
                                              : name + " + (d / 4 * " + number(lines * kSwizzledBytes / 16) + " + d % 4 * 2)";
    };
    text.out.open("{");
    if (!held) {
        text.out.line("const uint64_t a = matrix_descriptor(shared_address(" + tile_text(text, t.a) + " + warpgroup * " +
                      number(kRowsOfWarpgroup * elements_of_line(t.a.type)) + "), 16, 1024);");
    }
    text.out.line("const uint64_t b = matrix_descriptor(shared_address(" + tile_text(text, t.b) + "), " +
                  number(across ? t.depth * kSwizzledBytes : 16) + ", 1024);");
    text.out.line("#pragma unroll");
    text.out.open("for (int d = 0; d < " + number(t.depth / depth_of_instruction(t.b.type)) + "; d++) {");
    text.out.line(instruction_of(text.program, t).name() + "(" + text.out.name(t.accumulator) + ", " +
                  (held ? registers_of(text, t) + " + d * 4" : along_depth("a", t.rows)) + ", " +
                  (across ? "b + d * 128" : along_depth("b", t.columns)) + (begins ? ", d > 0);" : ", true);"));
    text.out.close();
    text.out.close();
}

}  // namespace

ComputedTile computed_tile(const BlockText &text, const Operand &o) {
    ComputedTile tile;
    tile.operand = &o;
    tile.value = o.value;
    for (const auto &source : o.sources) {
        const OperandPlace place = text.launch.streams().place_of(source);
        tile.sources[source.tile] = {place.tile->name,
                                     Variable::make(Int(32), stage(*place.stream)) * (place.stream->bytes() / source.type.bytes()),
                                     place.tile->across(), place.tile->lines(), place.tile->swizzle()};
    }
    for (const TileNode *n : text.program.products()) {
        if (&o == &n->product.a || &o == &n->product.b) {
            tile.left = n->product.left;
            tile.depth = n->product.depth;
        }
    }
    return tile;
}

// Those of another depth are other registers.
std::string rows_of(const TileOfProduct &t) {
    return t.accumulator + ".rows_" + number(t.depth);
}

std::string next_rows_of(const TileOfProduct &t) {
    return t.accumulator + ".next_rows_" + number(t.depth);
}

WgmmaInstruction instruction_of(const BlockProgram &program, const TileOfProduct &t) {
    return {t.b.number(), t.b.number(), t.columns, t.b.depth_dimension != 0, is_in_registers(program, t)};
}

void print_computed(const BlockText &text, const Stream &s, const StagedTile &t) {
    ComputedTile tile = computed_tile(text, *t.operand);
    tile.name = t.name;
    tile.lines = t.lines();
    tile.slot = Variable::make(Int(32), stage(s)) * (s.bytes() / t.operand->type.bytes());
    print_computed_tile(tile, text.launch.warps_of_compute() * kWarp, text.out);
}

void print_rows(const BlockText &text, const ComputedTile &tile, const std::string &registers) {
    print_computed_rows(tile, text.out.name(registers), kFirstRow, text.launch.fragments(), text.out);
}

void print_product(const BlockText &text, const TileOfProduct &t, bool begins) {
    if (text.launch.by_wgmma()) {
        multiply_by_wgmma(text, t, begins);
    } else {
        multiply_by_mma(text, t, begins);
    }
}

}  // namespace halyard
