#include "lowering/cuda/tiles/block_text.h"

#include <algorithm>

#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/tensor_cores/tile_program.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"
#include "lowering/cuda/tensor_cores/warps.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// One thread asks for all boxes.
void fetch_by_engine(const BlockText &text, const Stream &s, const StreamUse &use) {
    int bytes = 0;
    for (const auto &p : use.tiles) {
        bytes += p.operand->line.defined() ? 0 : p.elements() * p.operand->type.bytes();
    }
    text.out.line("barrier_expect(&" + full(s) + "[" + stage(s) + "], " + number(bytes) + ");");
    for (const auto &p : use.tiles) {
        const Operand &o = *p.operand;
        if (o.line.defined()) {
            continue;
        }
        std::string rest;
        for (int d = 1; d < o.rank(); d++) {
            rest += ", " + text.e(o.origin[size_t(d)]);
        }
        const int step = p.swizzle() == kSwizzledBytes ? elements_of_line(o.type) : p.across();
        for (int x = 0; x < p.across(); x += step) {
            const std::string to = text.out.name(p.name) + " + " + text.slot(s, p) + (x ? " + " + number(x * p.lines()) : "");
            text.out.line("tensor_load(" + to + ", " + text.out.name(p.name + ".map") + ", &" + full(s) + "[" + stage(s) + "], " +
                          text.e(simplify(o.origin[0] + x)) + rest + ");");
        }
    }
}

// What lies outside is 0. The line's place is found once for all of its dimensions.
void fetch_by_threads(const BlockText &text, const Stream &s, const StagedTile &p) {
    const Operand &o = *p.operand;
    const bool chunks = text.fetching != Fetching::kElements;
    const int size = o.type.bytes(), each = chunks ? 16 / size : 1;
    const int across = p.source ? p.across() : panels(p.across()) * kAcross, turns = across * p.lines() / each;
    text.out.open("for (int i = thread; i < " + number(turns) + "; i += " + number(text.launch.warps(Role::kFetch) * kWarp) + ") {");
    text.out.line("const int x = i % " + number(across / each) + (each > 1 ? " * " + number(each) : "") + ", line = i / " +
                  number(across / each) + ";");
    text.out.line("const int c0 = " + in_parentheses(text.e(o.origin[0])) + " + x;");
    std::string inside, at;
    int lines = 1;
    for (int d = 1; d < o.rank(); d++) {
        const int box = o.box[size_t(d)];
        const std::string digit = box == 1 ? ""
                                           : " + " + std::string(lines == 1 ? "line" : "line / " + number(lines)) +
                                                 (lines * box < p.lines() ? " % " + number(box) : "");
        const std::string c = "c" + number(d);
        if (o.line.defined() && d == o.other_dimension) {
            text.out.line("const int " + text.out.name(kOperandOther) + " = line;");
            text.out.line("const int " + c + " = " + text.e(o.line) + ";");
        } else {
            text.out.line("const int " + c + " = " + in_parentheses(text.e(o.origin[size_t(d)])) + digit + ";");
        }
        inside += (d > 1 ? " && " : "") + ("uint32_t(" + c + ") < uint32_t(" + text.e(extent_of(o, d)) + ")");
        at += " + " + c + " * " + text.e(field(o.buffer, "stride", d));
        lines *= box;
    }
    const std::string of_line = number(std::max(p.swizzle(), 16) / size), of_chunk = number(16 / size);
    const std::string lines_apart = p.swizzle() == kSwizzledBytes ? "(line % 8)" : "(line / 2 % 4)";
    text.out.line("const int to = " + text.slot(s, p) + " + " +
                  (p.swizzle() == 0
                       ? "line * " + number(across) + " + x"
                       : "x / " + of_line + " * " + number(p.lines() * p.swizzle() / size) + " + line * " + of_line + " + ((x % " +
                             of_line + " / " + of_chunk + ") ^ " + lines_apart + ") * " + of_chunk + " + x % " + of_chunk) +
                  ";");
    const std::string extent = text.e(extent_of(o, 0)), buffer = text.out.name(o.buffer), tile = text.out.name(p.name);
    if (chunks) {
        text.out.line("const int valid = " + inside + " && uint32_t(c0) < uint32_t(" + extent + ") ? minimum(" + extent + " - c0, " +
                      number(each) + ") : 0;");
        text.out.line("copy_async_part(" + tile + " + to, " + buffer + " + (valid > 0 ? c0" + at + " : 0), valid * " + number(size) + ");");
    } else {
        text.out.line(tile + "[to] = " + inside + " && uint32_t(c0) < uint32_t(" + extent + ") ? " + buffer + "[c0" + at +
                      "] : " + type_text(o.type) + "(0.0f);");
    }
    text.out.close();
}

}  // namespace

void print_fetches(const BlockText &text, const Stream &s, const StreamUse &use) {
    const bool engine = text.fetching == Fetching::kEngine, beside_others = text.launch.threads_fetch(text.fetching);
    if (engine) {
        if (beside_others) {
            text.out.open("if (thread == 0) {");
        }
        fetch_by_engine(text, s, use);
        if (beside_others) {
            text.out.close();
        }
    }
    for (const auto &t : use.tiles) {
        if (!engine || t.operand->line.defined()) {
            fetch_by_threads(text, s, t);
        }
    }
}

}  // namespace halyard
