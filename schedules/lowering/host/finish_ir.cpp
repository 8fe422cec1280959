#include "lowering/host/finish_ir.h"

#include <map>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "lowering/host/mma_step.h"

namespace halyard {

namespace {

bool starts_with(const std::string &s, const std::string &prefix) {
    return s.compare(0, prefix.size(), prefix) == 0;
}

// The number of `!17` at a position; "" where there is none.
std::string metadata_at(const std::string &line, size_t at) {
    if (at >= line.size() || line[at] != '!') {
        return "";
    }
    const size_t end = line.find_first_not_of("0123456789", at + 1);
    return line.substr(at, (end == std::string::npos ? line.size() : end) - at);
}

// The access tags of streamed buffers. Halide makes a type a buffer, with types below it for
// constant indices, and a tag of each:
//   !3 = !{!"y.streamed", !2, i64 0}     !4 = !{!3, !3, i64 0}
std::set<std::string> streamed_tags(const std::vector<std::string> &lines) {
    std::set<std::string> types, tags;
    for (const auto &line : lines) {
        const std::string id = metadata_at(line, 0), opening = " = !{!\"";
        if (id.empty() || line.compare(id.size(), opening.size(), opening) != 0) {
            continue;
        }
        const size_t begin = id.size() + opening.size();
        const std::string name = line.substr(begin, line.find('"', begin) - begin);
        const size_t at = name.find(kStreamedSuffix);
        const size_t end = at + std::string(kStreamedSuffix).size();
        if (at != std::string::npos && (end == name.size() || name[end] == '.')) {
            types.insert(id);
        }
    }
    for (const auto &line : lines) {
        const std::string id = metadata_at(line, 0), opening = " = !{";
        if (!id.empty() && line.compare(id.size(), opening.size(), opening) == 0 &&
            types.count(metadata_at(line, id.size() + opening.size()))) {
            tags.insert(id);
        }
    }
    return tags;
}

struct VectorType {
    int lanes = 0, bits = 0;
    std::string element;

    int bytes() const {
        return lanes * bits / 8;
    }
    std::string text() const {
        return fmt::format("<{} x {}>", lanes, element);
    }
    std::string mangled() const {
        return fmt::format("v{}{}", lanes, element);
    }
    bool operator<(const VectorType &other) const {
        return mangled() < other.mangled();
    }
};

// `<16 x float>` at a position; no lanes where it is none of ours.
VectorType vector_at(const std::string &line, size_t at) {
    static const std::map<std::string, int> kBits = {{"float", 32}, {"half", 16}, {"bfloat", 16}, {"double", 64},
                                                     {"i8", 8},     {"i16", 16},  {"i32", 32},    {"i64", 64}};
    VectorType t;
    const size_t x = line.find(" x ", at), close = line.find('>', at);
    if (line[at] != '<' || x == std::string::npos || close == std::string::npos || x > close) {
        return t;
    }
    t.element = line.substr(x + 3, close - x - 3);
    const auto bits = kBits.find(t.element);
    const std::string lanes = line.substr(at + 1, x - at - 1);
    if (bits == kBits.end() || lanes.find_first_not_of("0123456789") != std::string::npos) {
        return t;
    }
    t.bits = bits->second;
    t.lanes = std::stoi(lanes);
    return t;
}

// `store <16 x float> VALUE, ptr PLACE, align 4, !tbaa !9` to a call of the function below.
bool stream_store(std::string &line, const std::set<std::string> &tags, std::set<VectorType> &used) {
    const std::string opening = "store <", tag = "!tbaa ";
    const size_t store = line.find_first_not_of(' ');
    const size_t tbaa = line.rfind(tag);
    if (store == std::string::npos || line.compare(store, opening.size(), opening) != 0 || tbaa == std::string::npos ||
        !tags.count(metadata_at(line, tbaa + tag.size()))) {
        return false;
    }
    const VectorType type = vector_at(line, store + opening.size() - 1);
    const size_t place = line.rfind(", ptr "), align = line.find(", align ", place);
    if (place == std::string::npos || align == std::string::npos || (type.bytes() != 16 && type.bytes() != 32 && type.bytes() != 64)) {
        return false;
    }
    const size_t value = store + std::string("store ").size();
    line = fmt::format("{}call void @halyard.stream.{}({})", line.substr(0, store), type.mangled(), line.substr(value, align - value));
    used.insert(type);
    return true;
}

// Stores the vector past the caches: in one piece where the place is aligned to its size, in pieces
// of 16 bytes where to that, else as usual.
std::string stream_function(const VectorType &t) {
    const int pieces = t.bytes() / 16, lanes = t.lanes / pieces;
    std::string f = fmt::format("define internal void @halyard.stream.{0}({1} %value, ptr %place) alwaysinline nounwind {{\n"
                                "  %address = ptrtoint ptr %place to i64\n"
                                "  %low = and i64 %address, {2}\n"
                                "  %aligned = icmp eq i64 %low, 0\n"
                                "  br i1 %aligned, label %whole, label %shifted\n"
                                "whole:\n"
                                "  store {1} %value, ptr %place, align {3}, !nontemporal !{{i32 1}}\n"
                                "  ret void\n"
                                "shifted:\n"
                                "  %low16 = and i64 %address, 15\n"
                                "  %aligned16 = icmp eq i64 %low16, 0\n"
                                "  br i1 %aligned16, label %pieces, label %plain\n"
                                "pieces:\n",
                                t.mangled(), t.text(), t.bytes() - 1, t.bytes());
    for (int p = 0; p < pieces; p++) {
        std::string mask;
        for (int i = 0; i < lanes; i++) {
            mask += fmt::format("{}i32 {}", i ? ", " : "", p * lanes + i);
        }
        f += fmt::format("  %piece{0} = shufflevector {1} %value, {1} poison, <{2} x i32> <{3}>\n"
                         "  %place{0} = getelementptr inbounds i8, ptr %place, i64 {4}\n"
                         "  store <{2} x {5}> %piece{0}, ptr %place{0}, align 16, !nontemporal !{{i32 1}}\n",
                         p, t.text(), lanes, mask, p * 16, t.element);
    }
    return f + fmt::format("  ret void\n"
                           "plain:\n"
                           "  store {} %value, ptr %place, align {}\n"
                           "  ret void\n"
                           "}}\n",
                           t.text(), t.bits / 8);
}

// What defines the names of a function, by name: `add <16 x i32> %1, %2`.
using Definitions = std::map<std::string, std::string>;

Definitions definitions(const std::vector<std::string> &lines, size_t begin, size_t end) {
    Definitions d;
    for (size_t i = begin; i < end; i++) {
        const size_t name = lines[i].find_first_not_of(' '), equals = lines[i].find(" = ");
        if (name != std::string::npos && equals != std::string::npos && lines[i][name] == '%') {
            d[lines[i].substr(name, equals - name)] = lines[i].substr(equals + 3);
        }
    }
    return d;
}

// The two operands of `OPERATION ... TYPE a, b`; empty where `name` is defined by anything else.
std::vector<std::string> operands(const Definitions &d, const std::string &name, const std::string &operation, const std::string &type) {
    const auto found = d.find(name);
    if (found == d.end() || !starts_with(found->second, operation + " ")) {
        return {};
    }
    const std::string &text = found->second, opening = " " + type + " ";
    const size_t at = text.find(opening), comma = text.find(", ", at);
    if (at == std::string::npos || comma == std::string::npos) {
        return {};
    }
    const size_t begin = at + opening.size(), end = text.find(", !", comma + 2);
    return {text.substr(begin, comma - begin), text.substr(comma + 2, end == std::string::npos ? end : end - comma - 2)};
}

bool shifts_right_by_16(const Definitions &d, const std::string &name, const std::string &type, std::string &of) {
    const auto o = operands(d, name, "lshr", type);
    of = o.empty() ? "" : o[0];
    return o.size() == 2 && o[1] == "splat (i32 16)";
}

// The leaves of a sum of three.
std::vector<std::string> summands(const Definitions &d, const std::string &name, const std::string &type) {
    std::vector<std::string> leaves = operands(d, name, "add", type);
    for (size_t i = 0; i < leaves.size(); i++) {
        const auto inner = operands(d, leaves[i], "add", type);
        if (inner.size() == 2) {
            return {inner[0], inner[1], leaves[1 - i]};
        }
    }
    return {};
}

// Halide rounds f32 to bf16 by integers, x being the bits of the float:
//   trunc((x + ((x >> 16) & 1) + 0x7fff) >> 16)
// LLVM's own conversion becomes one instruction where there is one. It makes zeros of denormals, as the
// instructions do that multiply bf16, and keeps every NaN one.
bool convert_to_bf16(std::string &line, const Definitions &d) {
    const size_t begin = line.find_first_not_of(' '), equals = line.find(" = trunc ");
    const size_t from = line.find(" <", equals), to = line.find(" to <", equals);
    if (equals == std::string::npos || from == std::string::npos || to == std::string::npos) {
        return false;
    }
    const VectorType wide = vector_at(line, from + 1), narrow = vector_at(line, to + 4);
    const std::string type = wide.text();
    if (wide.element != "i32" || narrow.element != "i16" || wide.lanes != narrow.lanes) {
        return false;
    }
    const size_t value = from + 1 + type.size() + 1;
    std::string sum, bits, shifted;
    if (!shifts_right_by_16(d, line.substr(value, to - value), type, sum)) {
        return false;
    }
    const auto leaves = summands(d, sum, type);
    bool half = false;
    for (const auto &leaf : leaves) {
        const auto odd = operands(d, leaf, "and", type);
        if (leaf == "splat (i32 32767)") {
            half = true;
        } else if (odd.size() == 2 && odd[1] == "splat (i32 1)") {
            shifted = odd[0];
        } else {
            bits = leaf;
        }
    }
    std::string same;
    if (!half || shifted.empty() || !shifts_right_by_16(d, shifted, type, same) || same != bits) {
        return false;
    }
    const std::string indent = line.substr(0, begin), name = line.substr(begin, equals - begin);
    const bool quoted = name[1] == '"';
    const std::string plain = name.substr(quoted ? 2 : 1), sign = quoted ? "%\"" : "%";
    // What was computed is cast to bits; what was loaded is loaded as bits.
    const auto cast = d.find(bits);
    const std::string opening = fmt::format("bitcast <{} x float> ", wide.lanes), converted = sign + "bf16." + plain;
    std::string f, before;
    if (cast != d.end() && starts_with(cast->second, opening)) {
        f = cast->second.substr(opening.size(), cast->second.find(" to ") - opening.size());
    } else {
        f = sign + "float." + plain;
        before = fmt::format("{}{} = bitcast {} {} to <{} x float>\n", indent, f, type, bits, wide.lanes);
    }
    line = fmt::format("{0}{1}{2} = fptrunc <{3} x float> {4} to <{3} x bfloat>\n"
                       "{1}{5} = bitcast <{3} x bfloat> {2} to <{3} x i16>",
                       before, indent, converted, wide.lanes, f, name);
    return true;
}

// As Halide names the features of the target in the module.
bool has_feature(const std::string &ir, const std::string &name) {
    const size_t at = ir.find("!\"halide_mattrs\"");
    return at != std::string::npos && ir.substr(at, ir.find('\n', at) - at).find("+" + name) != std::string::npos;
}

// Halide has LLVM compile for a processor by its name, and so for features that no target of Halide's speaks of: a Zen's SSE4a where
// Intel's processors run the code, too; and halves in AVX512-FP16 where a Zen or a virtual machine runs what has AMX, by plain loops.
// Sums are of f32, so that these gain nothing.
std::string unspoken_feature(const std::string &ir) {
    const std::string cpu = "\"halide_mcpu_target\", !\"";
    return ir.find(cpu + "znver") != std::string::npos ? "sse4a" : ir.find(cpu + "sapphirerapids") != std::string::npos ? "avx512fp16" : "";
}

void leave_out(const std::string &feature, std::string &line) {
    for (const std::string opening : {"\"target-features\"=\"", "!\"halide_mattrs\", !\""}) {
        const size_t at = line.find(opening);
        if (at != std::string::npos) {
            line.insert(line.find('"', at + opening.size()), ",-" + feature);
        }
    }
}

std::string fence_function() {
    return fmt::format("define internal i32 @{}() alwaysinline nounwind {{\n"
                       "  call void @llvm.x86.sse.sfence()\n"
                       "  ret i32 0\n"
                       "}}\n"
                       "declare void @llvm.x86.sse.sfence()\n",
                       kStreamFence);
}

std::string prefetch_function(const std::string &name, bool for_write) {
    return fmt::format("define internal i32 @{}(ptr %base, i64 %bytes) alwaysinline nounwind {{\n"
                       "  %place = getelementptr i8, ptr %base, i64 %bytes\n"
                       "  call void @llvm.prefetch.p0(ptr %place, i32 {}, i32 3, i32 1)\n"
                       "  ret i32 0\n"
                       "}}\n",
                       name, for_write ? 1 : 0);
}

}  // namespace

FinishedIr finish_ir(const std::string &ir) {
    std::vector<std::string> lines;
    std::istringstream in(ir);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(std::move(line));
    }
    const std::set<std::string> tags = streamed_tags(lines);
    const std::string fence = fmt::format(" @{}(", kStreamFence);
    std::set<VectorType> used;
    FinishedIr finished;
    if (has_feature(ir, "avx512bf16")) {
        for (size_t i = 0; i < lines.size(); i++) {
            if (!starts_with(lines[i], "define ")) {
                continue;
            }
            size_t end = i;
            while (end < lines.size() && lines[end] != "}") {
                end++;
            }
            const Definitions d = definitions(lines, i, end);
            for (; i < end; i++) {
                finished.converted += convert_to_bf16(lines[i], d);
            }
        }
    }
    bool prefetches = false, steps = false;
    const bool with_tiles = has_feature(ir, "amx-bf16");
    const std::string unspoken = unspoken_feature(ir);
    for (auto &line : lines) {
        if (!unspoken.empty()) {
            leave_out(unspoken, line);
        }
        finished.streamed += stream_store(line, tags, used);
        if (starts_with(line, "declare ") && line.find(fence) != std::string::npos) {
            line = fence_function();
        }
        for (const char *name : {kPrefetchRead, kPrefetchWrite}) {
            if (starts_with(line, "declare ") && line.find(fmt::format(" @{}(", name)) != std::string::npos) {
                line = prefetch_function(name, name == kPrefetchWrite);
                prefetches = true;
            }
        }
        const std::string step = starts_with(line, "declare ") ? mma_step_function(line, with_tiles) : "";
        if (!step.empty()) {
            line = step;
            steps = steps || with_tiles;
        }
        finished.text += line + "\n";
    }
    if (steps) {
        finished.text += mma_step_declarations();
    }
    if (prefetches && ir.find("declare void @llvm.prefetch.p0(") == std::string::npos) {
        finished.text += "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n";
    }
    for (const auto &type : used) {
        finished.text += stream_function(type);
    }
    return finished;
}

}  // namespace halyard
