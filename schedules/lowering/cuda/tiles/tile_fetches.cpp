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
    const int across = p.source ? p.across() : panels(p.across(), o.type) * elements_of_line(o.type), turns = across * p.lines() / each;
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

// Of tiles whose lines an index says: each thread has the same 16 bytes of the same lines in all turns of a loop.
struct OwnLines {
    int chunks, lines, apart;  // of a line; of a thread, and how far apart
    explicit OwnLines(const StagedTile &t, int threads)
        : chunks(panels(t.across(), t.operand->type) * elements_of_line(t.operand->type) * t.operand->type.bytes() / 16),
          lines(t.lines() * chunks / threads), apart(threads / chunks) {}
};

bool has_own_lines(const BlockText &text, const StagedTile &t) {
    const int threads = text.launch.warps(Role::kFetch) * kWarp;
    const OwnLines own(t, threads);
    return text.fetching != Fetching::kElements && t.operand->line.defined() && !t.source && threads % own.chunks == 0 &&
           t.lines() % own.apart == 0 && own.apart % 8 == 0;
}

std::string lines_of(const BlockText &text, const StagedTile &t) {
    return text.out.name(t.name + ".lines");
}

std::string swizzled_piece(const StagedTile &t) {
    const int size = t.operand->type.bytes(), of_line = elements_of_line(t.operand->type), of_chunk = 16 / size;
    return "piece / 8 * " + number(t.lines() * of_line) + " + line * " + number(of_line) + " + ((piece % 8) ^ (line % 8)) * " +
           number(of_chunk);
}

void fetch_own_lines(const BlockText &text, const Stream &s, const StagedTile &t) {
    const Operand &o = *t.operand;
    const int threads = text.launch.warps(Role::kFetch) * kWarp, size = o.type.bytes(), each = 16 / size;
    const OwnLines own(t, threads);
    const std::string extent = text.e(extent_of(o, 0)), all = lines_of(text, t);
    text.out.open("{");
    text.out.line("const int piece = thread % " + number(own.chunks) + ", line = thread / " + number(own.chunks) + ";");
    text.out.line("const int c0 = " + in_parentheses(text.e(o.origin[0])) + " + piece * " + number(each) + ";");
    text.out.line("const int valid = c0 >= 0 && c0 < " + extent + " ? minimum(" + extent + " - c0, " + number(each) + ") * " +
                  number(size) + " : 0;");
    text.out.line("const int to = " + text.slot(s, t) + " + " + swizzled_piece(t) + ";");
    std::string place = all + "[i]", some = "valid > 0 && " + all + "[i] >= 0";
    for (int d = 1; d < o.rank(); d++) {
        if (d != o.other_dimension) {
            const std::string at = in_parentheses(text.e(o.origin[size_t(d)]));
            place += " + " + at + " * " + text.e(field(o.buffer, "stride", d));
            some += " && uint32_t" + at + " < uint32_t(" + text.e(extent_of(o, d)) + ")";
        }
    }
    text.out.line("#pragma unroll");
    text.out.open("for (int i = 0; i < " + number(own.lines) + "; i++) {");
    text.out.line("const bool some = " + some + ";");
    text.out.line("copy_async_part(" + text.out.name(t.name) + " + to + i * " + number(own.apart * elements_of_line(o.type)) + ", " +
                  text.out.name(o.buffer) + " + (some ? " + place + " + c0 : 0), some ? valid : 0);");
    text.out.close();
    text.out.close();
}

}  // namespace

// Where the lines are that a thread copies, which no turn of the loop changes; -1 for lines that are 0.
void print_lines(const BlockText &text, const StreamUse &use) {
    for (const auto &t : use.tiles) {
        const Operand &o = *t.operand;
        if (!has_own_lines(text, t)) {
            continue;
        }
        const OwnLines own(t, text.launch.warps(Role::kFetch) * kWarp);
        const std::string all = lines_of(text, t);
        text.out.line("int " + all + "[" + number(own.lines) + "];");
        text.out.line("#pragma unroll");
        text.out.open("for (int i = 0; i < " + number(own.lines) + "; i++) {");
        text.out.line("const int " + text.out.name(kOperandOther) + " = thread / " + number(own.chunks) + " + i * " + number(own.apart) +
                      ";");
        text.out.line("const int line = " + text.e(o.line) + ";");
        text.out.line(all + "[i] = uint32_t(line) < uint32_t(" + text.e(extent_of(o, o.other_dimension)) + ") ? line * " +
                      text.e(field(o.buffer, "stride", o.other_dimension)) + " : -1;");
        text.out.close();
    }
}

void print_fetches(const BlockText &text, const Stream &s, const StreamUse &use, bool lines_known) {
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
        if (lines_known && has_own_lines(text, t)) {
            fetch_own_lines(text, s, t);
        } else if (!engine || t.operand->line.defined()) {
            fetch_by_threads(text, s, t);
        }
    }
}

}  // namespace halyard
