// The edit of textual IR: which stores it takes, and which it leaves.

#include <catch2/catch.hpp>

#include "lowering/host/finish_ir.h"
#include "lowering/host/llvm.h"
#include "kernel/paths.h"

using halyard::finish_ir;

namespace {

const char *const kMetadata = "!0 = !{!\"Halide buffer\"}\n"
                              "!1 = !{!\"y.streamed\", !0, i64 0}\n"
                              "!2 = !{!1, !1, i64 0}\n"
                              "!3 = !{!\"y.streamed.width16.base0\", !1, i64 0}\n"
                              "!4 = !{!3, !3, i64 0}\n"
                              "!5 = !{!\"y\", !0, i64 0}\n"
                              "!6 = !{!5, !5, i64 0}\n"
                              "!7 = !{!\"y.streamed_not\", !0, i64 0}\n"
                              "!8 = !{!7, !7, i64 0}\n";

bool streams(const std::string &store) {
    const auto finished = finish_ir("  " + store + "\n" + kMetadata);
    CHECK((finished.streamed == 1) == (finished.text.find("call void @halyard.stream.") != std::string::npos));
    CHECK((finished.streamed == 1) == (finished.text.find(", !nontemporal ") != std::string::npos));
    return finished.streamed == 1;
}

}  // namespace

TEST_CASE("vector stores of a streamed buffer are taken", "[finish_ir]") {
    CHECK(streams("store <16 x float> %v, ptr %p, align 4, !tbaa !2"));
    CHECK(streams("store <8 x float> %v, ptr %p, align 4, !tbaa !4"));
    CHECK(streams("store <16 x half> %v, ptr %p, align 2, !tbaa !2"));
    CHECK(streams("store <32 x bfloat> %v, ptr %p, align 2, !tbaa !2"));
    CHECK(streams("store <64 x i8> %v, ptr %p, align 1, !tbaa !2"));
    CHECK(streams("store <16 x float> zeroinitializer, ptr %p, align 4, !tbaa !2, !noalias !3"));
    CHECK(finish_ir(std::string("  store <4 x i32> <i32 1, i32 2, i32 3, i32 4>, ptr %p, align 4, !tbaa !2\n") + kMetadata)
              .text.find("  call void @halyard.stream.v4i32(<4 x i32> <i32 1, i32 2, i32 3, i32 4>, "
                         "ptr %p)\n") == 0);
}

TEST_CASE("other stores are left", "[finish_ir]") {
    CHECK_FALSE(streams("store <16 x float> %v, ptr %p, align 4, !tbaa !6"));
    CHECK_FALSE(streams("store <16 x float> %v, ptr %p, align 4, !tbaa !8"));
    CHECK_FALSE(streams("store <16 x float> %v, ptr %p, align 4"));
    CHECK_FALSE(streams("store float %v, ptr %p, align 4, !tbaa !2"));
    CHECK_FALSE(streams("store <2 x float> %v, ptr %p, align 4, !tbaa !2"));
    CHECK_FALSE(streams("store <32 x float> %v, ptr %p, align 4, !tbaa !2"));
    CHECK_FALSE(streams("store <8 x i1> %v, ptr %p, align 1, !tbaa !2"));
    CHECK_FALSE(streams("store <4 x ptr> %v, ptr %p, align 8, !tbaa !2"));
    CHECK_FALSE(streams("%v = load <16 x float>, ptr %p, align 4, !tbaa !2"));
}

TEST_CASE("the fence gets its body", "[finish_ir]") {
    const std::string text = finish_ir("declare i32 @halyard_stream_fence() local_unnamed_addr #5\n").text;
    CHECK(text.find("define internal i32 @halyard_stream_fence()") == 0);
    CHECK(finish_ir("declare i32 @halyard_stream_fence_2()\n").text == "declare i32 @halyard_stream_fence_2()\n");
}

TEST_CASE("Halide's conversion to bf16 becomes LLVM's where the target has an instruction", "[finish_ir]") {
    const std::string cast = "bitcast <16 x float> %0 to <16 x i32>";
    const auto module = [](const std::string &half, const std::string &features, const std::string &bits) {
        return "define i32 @f() {\n"
               "  %1 = " +
               bits +
               "\n"
               "  %2 = lshr <16 x i32> %1, splat (i32 16)\n"
               "  %3 = and <16 x i32> %2, splat (i32 1)\n"
               "  %4 = add <16 x i32> %1, splat (i32 " +
               half +
               ")\n"
               "  %5 = add <16 x i32> %4, %3\n"
               "  %6 = lshr <16 x i32> %5, splat (i32 16)\n"
               "  %7 = trunc nuw <16 x i32> %6 to <16 x i16>\n"
               "}\n"
               "!7 = !{i32 2, !\"halide_mattrs\", !\"" +
               features + "\"}\n";
    };
    const auto finished = finish_ir(module("32767", "+fma,+avx512bf16,+avx512vnni", cast));
    CHECK(finished.converted == 1);
    CHECK(finished.text.find("  %bf16.7 = fptrunc <16 x float> %0 to <16 x bfloat>\n"
                             "  %7 = bitcast <16 x bfloat> %bf16.7 to <16 x i16>\n") != std::string::npos);
    CHECK(finish_ir(module("32767", "+fma,+avx512f", cast)).converted == 0);
    CHECK(finish_ir(module("32768", "+avx512bf16", cast)).converted == 0);

    // What is stored as it was summed is loaded as bits.
    const auto loaded = finish_ir(module("32767", "+avx512bf16", "load <16 x i32>, ptr %p, align 64"));
    CHECK(loaded.converted == 1);
    CHECK(loaded.text.find("  %float.7 = bitcast <16 x i32> %1 to <16 x float>\n"
                           "  %bf16.7 = fptrunc <16 x float> %float.7 to <16 x bfloat>\n"
                           "  %7 = bitcast <16 x bfloat> %bf16.7 to <16 x i16>\n") != std::string::npos);
}

// Halide has LLVM compile for a Zen what Intel's processors have too, but for SSE4a, which takes bytes out of a vector's half.
TEST_CASE("What is compiled for a Zen runs where a level has its features", "[finish_ir]") {
    const auto insert = [](const std::string &cpu) {
        const std::string features = "+avx2";
        return "target triple = \"x86_64-unknown-linux-gnu\"\n"
               "define <16 x i8> @f(<16 x i8> %a, <16 x i8> %b) #0 {\n"
               "  %c = shufflevector <16 x i8> %a, <16 x i8> %b, <16 x i32> <i32 16, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, "
               "i32 undef, i32 undef, i32 undef, i32 undef, i32 undef, i32 undef, i32 undef, i32 undef>\n"
               "  ret <16 x i8> %c\n"
               "}\n"
               "attributes #0 = { \"target-cpu\"=\"" +
               cpu + "\" \"target-features\"=\"" + features +
               "\" }\n"
               "!llvm.module.flags = !{!0, !1}\n"
               "!0 = !{i32 2, !\"halide_mcpu_target\", !\"" +
               cpu +
               "\"}\n"
               "!1 = !{i32 2, !\"halide_mattrs\", !\"" +
               features + "\"}\n";
    };
    const halyard::Llvm &llvm = halyard::Llvm::load(halyard::paths().llvm);
    halyard::Llvm::Outputs assembly;
    assembly.assembly = true;
    const std::string taken = "insertq";
    CHECK(llvm.compile(insert("znver4"), assembly).assembly.find(taken) != std::string::npos);  // or it tests nothing
    CHECK(llvm.compile(finish_ir(insert("znver4")).text, assembly).assembly.find(taken) == std::string::npos);
    CHECK(finish_ir(insert("sapphirerapids")).text.find("sse4a") == std::string::npos);
}

// What has AMX runs by plain loops elsewhere, as on a Zen, which has no AVX512-FP16.
TEST_CASE("What is compiled for AMX has no halves of AVX512-FP16", "[finish_ir]") {
    const std::string ir = "target triple = \"x86_64-unknown-linux-gnu\"\n"
                           "define void @f(ptr %from, ptr %to) #0 {\n"
                           "  %h = load half, ptr %from, align 2\n"
                           "  %w = fpext half %h to float\n"
                           "  store float %w, ptr %to, align 4\n"
                           "  ret void\n"
                           "}\n"
                           "attributes #0 = { \"target-cpu\"=\"sapphirerapids\" \"target-features\"=\"+avx512bf16\" }\n"
                           "!llvm.module.flags = !{!0, !1}\n"
                           "!0 = !{i32 2, !\"halide_mcpu_target\", !\"sapphirerapids\"}\n"
                           "!1 = !{i32 2, !\"halide_mattrs\", !\"+avx512bf16\"}\n";
    const halyard::Llvm &llvm = halyard::Llvm::load(halyard::paths().llvm);
    halyard::Llvm::Outputs assembly;
    assembly.assembly = true;
    const std::string taken = "vmovsh";
    CHECK(llvm.compile(ir, assembly).assembly.find(taken) != std::string::npos);  // or it tests nothing
    CHECK(llvm.compile(finish_ir(ir).text, assembly).assembly.find(taken) == std::string::npos);
}
