// The assembly's loops by Halide's names, and llvm-mca on them.

#include <catch2/catch.hpp>

#include "explain/assembly.h"
#include "explain/mca.h"
#include "tests/command/support.h"

namespace {

// As LLVM 21 prints it: a loop within a loop, and a copy of the outer one.
const char *const kText = R"(	.text
f:                                      # @f
# %bb.0:                                # %entry
	pushq	%rbp
.LBB0_2:                                # %"1_for_y.s0.row.row_inner"
                                        # =>This Loop Header: Depth=1
                                        #     Child Loop BB0_9 Depth 2
	xorl	%eax, %eax
.LBB0_9:                                # %"2_for_sum.s1.col$x.col$x"
                                        #   Parent Loop BB0_2 Depth=1
                                        # =>  This Inner Loop Header: Depth=2
	vmovups	(%rdi,%rax), %ymm1
	vaddps	%ymm1, %ymm0, %ymm0
	addq	$32, %rax
	cmpq	%rax, %rsi
	jne	.LBB0_9
# %bb.10:                               # %"2_end_for_sum.s1.col$x.col$x"
                                        #   in Loop: Header=BB0_2 Depth=1
	decl	%ecx
	jne	.LBB0_2
	jmp	.LBB0_4
.LBB0_3:                                # %"3_for_y.s0.row.row_inner.us"
                                        # =>This Inner Loop Header: Depth=1
	decl	%ecx
	jne	.LBB0_3
.LBB0_4:
	popq	%rbp
	retq
.Lfunc_end0:
)";

}  // namespace

TEST_CASE("Loops and blocks by Halide's names", "[assembly]") {
    const halyard::Assembly a = halyard::read_assembly(kText);
    REQUIRE(a.loops.size() == 3);
    CHECK(a.loops[0].name == "y.s0.row.row_inner");
    CHECK(a.loops[0].number == 1);
    CHECK_FALSE(a.loops[0].innermost);
    CHECK(a.loops[0].instructions == std::vector<std::string>{"xorl\t%eax, %eax", "decl\t%ecx", "jne\t.LBB0_2", "jmp\t.LBB0_4"});
    CHECK(a.loops[1].name == "sum.s1.col$x.col$x");
    CHECK(a.loops[1].innermost);
    CHECK(a.loops[1].instructions.size() == 5);
    CHECK(a.loops[2].name == "y.s0.row.row_inner");
    CHECK(a.loops[2].occurrence == 1);
    REQUIRE(a.blocks.size() == 6);
    CHECK(a.blocks[0].loop == -1);
    CHECK(a.blocks[2].loop == 1);
    CHECK(a.blocks[3].loop == 0);
    // Every block is a symbol that an assembler keeps.
    CHECK(contains(a.labelled, "\nLBB0_9:"));
    CHECK(contains(a.labelled, "jne\tLBB0_9"));
    CHECK_FALSE(contains(a.labelled, ".LBB"));
}

TEST_CASE("Text that is no assembly has no loops", "[assembly]") {
    CHECK(halyard::read_assembly("").loops.empty());
    CHECK(halyard::read_assembly(".LBB0_1: # %\"1_for_\n# =>This Inner Loop Header: Depth=1\n").loops.size() <= 1);
    CHECK(halyard::read_assembly("# in Loop: Header=\n:\n\n.LBB\n").loops.empty());
}

TEST_CASE("llvm-mca sees a chain of additions and a busy unit", "[assembly]") {
    const std::vector<std::string> chain = {"vaddps %ymm1, %ymm0, %ymm0", "vaddps %ymm1, %ymm0, %ymm0"};
    const std::vector<std::string> wide = {"vdivps %ymm1, %ymm2, %ymm3", "vdivps %ymm1, %ymm2, %ymm4", "vdivps %ymm1, %ymm2, %ymm5"};
    const std::vector<std::string> broken = {"no such instruction"};
    const halyard::McaResult r = halyard::analyse_loops({chain, wide}, "znver4");
    if (r.program.empty()) {
        WARN("skipped: " << r.error);
        return;
    }
    INFO(r.error);
    REQUIRE(r.loops.size() == 2);
    CHECK(r.loops[0].cycles == Approx(6).epsilon(0.1));
    CHECK(r.loops[0].instructions == 2);
    CHECK(contains(r.loops[0].limit, "wait for each other"));
    CHECK(r.loops[1].cycles > 8);
    CHECK(contains(r.loops[1].limit, "busy units: "));
    CHECK(halyard::analyse_loops({broken}, "znver4").loops[0].cycles == 0);
}
