#include "lowering/cuda/tiles/passes.h"

#include <chrono>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

struct ProgramPass {
    const char *name;
    void (*run)(BlockProgram &);
    const char *why;  // it stands here
};

const char *const kFormed = "form_tiles";

const ProgramPass kProgramPasses[] = {
    {"hoist_conditions", hoist_conditions, "first: loops that become one have no conditions in them"},
    {"join_loops", join_loops, "before sums begin with their products, which zeros between loops would keep from it"},
    {"add_to_accumulators", add_to_accumulators, "before zeros are looked for: sums that go away need none"},
    {"begin_with_products", begin_with_products, "before rows are loaded: a zero in between would keep these from the product"},
    {"swap_sides", swap_sides, "before rows are loaded, which are columns until then"},
    {"load_rows_early", load_rows_early, "when what stands behind each product is settled"},
    {"load_numbers_once", load_numbers_once, "last: all places are settled"},
};

Expr name_of(const std::string &array) {
    return Variable::make(Handle(), array);
}

Expr operand(const Operand &o, const BlockProgram &program) {
    if (o.value.defined()) {
        return Call::make(o.type, "computed", {o.value}, Call::PureExtern);
    }
    if (program.held.count(o.buffer)) {
        return name_of(o.buffer);
    }
    std::vector<Expr> args = {name_of(o.buffer)};
    args.insert(args.end(), o.origin.begin(), o.origin.end());
    if (o.line.defined()) {
        args[size_t(o.other_dimension) + 1] = o.line;
    }
    return Call::make(o.type, "tile", args, Call::PureExtern);
}

Expr reduced(const FusedNest &n, const Assignment &a) {
    const Expr so_far = Load::make(a.value.type(), a.stored, Variable::make(Int(32), kChainHeldRow), Buffer<>(), Parameter(), const_true(),
                                   ModulusRemainder());
    switch (n.reduction) {
    case FusedNest::kSum: return so_far + a.value;
    case FusedNest::kMin: return min(so_far, a.value);
    default: return max(so_far, a.value);
    }
}

Stmt nest(const FusedNest &n) {
    Stmt body;
    for (size_t i = n.assignments.size(); i-- > 0;) {
        const Assignment &a = n.assignments[i];
        const bool of_rows = n.kind != FusedNest::kTile;
        const Expr index = a.index.defined() ? a.index : Expr(Variable::make(Int(32), of_rows ? kChainHeldRow : kChainElement));
        const Stmt store = Store::make(a.stored, n.kind == FusedNest::kReduction ? reduced(n, a) : a.value, index, Parameter(),
                                       const_true(), ModulusRemainder());
        body = body.defined() ? Block::make(store, body) : store;
    }
    const auto loop = [&](const char *name, const Expr &extent) {
        body = For::make(name, 0, extent, ForType::Serial, Partition::Auto, DeviceAPI::None, body);
    };
    if (n.kind != FusedNest::kRows) {
        loop(kChainColumn, n.column_extent.defined() ? n.column_extent : Expr(n.columns));
    }
    loop(kChainRow, n.row_extent);
    return body;
}

Stmt statement(const TileBody &body, const BlockProgram &program);

Stmt statement(const TileNode &n, const BlockProgram &program) {
    switch (n.kind) {
    case TileNode::kLoop:
        return For::make(n.loop, n.min, n.extent, ForType::Serial, Partition::Auto, DeviceAPI::None, statement(*n.body, program));
    case TileNode::kIf: return IfThenElse::make(n.condition, statement(*n.body, program));
    case TileNode::kPromise: return AssertStmt::make(n.condition, 0);
    case TileNode::kNest: return nest(n.nest);
    default: {
        const TileOfProduct &t = n.product;
        const std::vector<Expr> args = {name_of(t.accumulator), operand(t.a, program), operand(t.b, program)};
        return Evaluate::make(Call::make(Int(32), n.begins ? "tile_product_from_0" : "tile_product", args, Call::Extern));
    }
    }
}

Stmt statement(const TileBody &body, const BlockProgram &program) {
    Stmt all = Evaluate::make(0);
    for (size_t i = body.size(); i-- > 0;) {
        const Stmt s = statement(body[i], program);
        all = i + 1 == body.size() ? s : Block::make(s, all);
    }
    return all;
}

}  // namespace

Stmt statement_of(const BlockProgram &program) {
    return statement(program.body, program);
}

BlockProgram make_block_program(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides,
                                const std::function<void(const PassRun &)> &observe) {
    const auto timed = [&](const char *name, BlockProgram *program, const std::function<void()> &run) {
        const auto begin = std::chrono::steady_clock::now();
        run();
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
        if (observe) {
            observe({kernel.name, "tiles", name, time.count(), statement_of(*program)});
        }
    };
    BlockProgram program;
    timed(kFormed, &program, [&] { program = form_block_program(kernel, products, host, strides); });
    for (const ProgramPass &p : kProgramPasses) {
        timed(p.name, &program, [&] { p.run(program); });
    }
    return program;
}

}  // namespace halyard
