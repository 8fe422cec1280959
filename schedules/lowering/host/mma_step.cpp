#include "lowering/host/mma_step.h"

#include <cstddef>
#include <map>

#include <fmt/format.h>

#include "runtime/mma_ahead.h"

namespace halyard {

namespace {

using halyard_mma::kA;
using halyard_mma::kB;
using halyard_mma::Pairs;

// halyard_mma::Ahead::step(), which says what it does.
std::string with_tiles_function(const std::string &name, const std::string &instruction) {
    const auto field = [](const char *name, const char *type, size_t offset) {
        return fmt::format("  %at.{0} = getelementptr i8, ptr %p, i64 {2}\n  %{0} = load {1}, ptr %at.{0}\n", name, type, offset);
    };
    const auto multiply = [&](int c, int a, int b) {
        return fmt::format("  call void @llvm.x86.{}(i8 {}, i8 {}, i8 {})\n", instruction, c, a, b);
    };
    const auto load = [](int tile, const char *from, const char *stride) {
        return fmt::format("  call void @llvm.x86.tileloadd64(i8 {}, ptr %{}, i64 %{})\n", tile, from, stride);
    };
    static_assert(Pairs::kPairs == 4 && sizeof(Pairs::Step) == 16 && offsetof(Pairs::Step, b) == 8, "as it is written below");
    return fmt::format("define internal i32 @{}(ptr %p, i32 %turn) alwaysinline nounwind {{\n", name) +
           field("mask", "i32", offsetof(Pairs, mask)) +
           "  %off = and i32 %turn, %mask\n"
           "  %due = icmp eq i32 %off, 0\n"
           "  br i1 %due, label %some, label %end\n"
           "some:\n" +
           field("shift", "i32", offsetof(Pairs, shift)) + field("each", "i32", offsetof(Pairs, each)) +
           field("count", "i32", offsetof(Pairs, count)) +
           "  %due.turns = ashr i32 %turn, %shift\n"
           "  %first = mul i32 %due.turns, %each\n"
           "  %most = add i32 %first, %each\n"
           "  %fewer = icmp slt i32 %count, %most\n"
           "  %to = select i1 %fewer, i32 %count, i32 %most\n"
           "  %any = icmp slt i32 %first, %to\n"
           "  br i1 %any, label %operands, label %end\n"
           "operands:\n" +
           field("a", "ptr", offsetof(Pairs, a)) + field("b", "ptr", offsetof(Pairs, b)) +
           field("a.stride", "i64", offsetof(Pairs, a_stride)) + field("b.stride", "i64", offsetof(Pairs, b_stride)) +
           field("second", "i64", offsetof(Pairs, second)) +
           "  br label %pair\n"
           "pair:\n"
           "  %number = phi i32 [ %first, %operands ], [ %next, %paired ]\n"
           "  %step = lshr i32 %number, 2\n"
           "  %step64 = zext i32 %step to i64\n" +
           fmt::format("  %entry = getelementptr i8, ptr %p, i64 {}\n", offsetof(Pairs, steps) + sizeof(Pairs::Step)) +
           "  %of.a = getelementptr {i64, i64}, ptr %entry, i64 %step64\n"
           "  %of.b = getelementptr i8, ptr %of.a, i64 8\n"
           "  %upper = and i32 %number, 2\n"
           "  %is.upper = icmp ne i32 %upper, 0\n"
           "  %odd = and i32 %number, 1\n"
           "  %is.odd = icmp ne i32 %odd, 0\n"
           "  br i1 %is.upper, label %second.row, label %first.row\n"
           "first.row:\n"
           "  br i1 %is.odd, label %one, label %zero\n"
           "second.row:\n"
           "  %by.b = load i64, ptr %of.b\n"
           "  %next.b = getelementptr i8, ptr %b, i64 %by.b\n"
           "  br i1 %is.odd, label %three, label %two\n"
           "zero:\n" +
           multiply(0, kA, kB) +
           "  br label %paired\n"
           "one:\n" +
           multiply(1, kA, kB + 1) +
           "  %by.a = load i64, ptr %of.a\n"
           "  %next.a = getelementptr i8, ptr %a, i64 %by.a\n" +
           load(kA, "next.a", "a.stride") +
           "  br label %paired\n"
           "two:\n" +
           multiply(2, kA + 1, kB) + load(kB, "next.b", "b.stride") +
           "  br label %paired\n"
           "three:\n" +
           multiply(3, kA + 1, kB + 1) +
           "  %by.a.again = load i64, ptr %of.a\n"
           "  %next.a.again = getelementptr i8, ptr %a, i64 %by.a.again\n"
           "  %below = getelementptr i8, ptr %next.a.again, i64 %second\n" +
           load(kA + 1, "below", "a.stride") +
           fmt::format("  %right = getelementptr i8, ptr %next.b, i64 {}\n", 4 * halyard_mma::kTileGroups) +
           load(kB + 1, "right", "b.stride") +
           "  br label %paired\n"
           "paired:\n"
           "  %next = add i32 %number, 1\n"
           "  %more = icmp slt i32 %next, %to\n"
           "  br i1 %more, label %pair, label %end\n"
           "end:\n"
           "  ret i32 0\n"
           "}\n";
}

}  // namespace

std::string mma_step_function(const std::string &declaration, bool with_tiles) {
    static const std::map<std::string, std::string> kInstructions = {
        {"halyard_mma_bf16", "tdpbf16ps"}, {"halyard_mma_u8s8", "tdpbusd"}, {"halyard_mma_s8s8", "tdpbssd"}};
    for (const auto &[product, instruction] : kInstructions) {
        const std::string name = product + kMmaStepSuffix;
        if (declaration.find(" @" + name + "(") != std::string::npos) {
            return with_tiles ? with_tiles_function(name, instruction)
                              : fmt::format("define internal i32 @{}(ptr %p, i32 %turn) alwaysinline nounwind {{\n  ret i32 0\n}}\n", name);
        }
    }
    return "";
}

std::string mma_step_declarations() {
    std::string s = "declare void @llvm.x86.tileloadd64(i8, ptr, i64)\n";
    for (const char *instruction : {"tdpbf16ps", "tdpbusd", "tdpbssd"}) {
        s += fmt::format("declare void @llvm.x86.{}(i8, i8, i8)\n", instruction);
    }
    return s;
}

}  // namespace halyard
