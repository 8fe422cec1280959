#include "lowering/cuda/tensor_cores/scalar_arguments.h"
#include "lowering/cuda/tensor_cores/tile_text.h"

#include <algorithm>

#include "lowering/accesses.h"
#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/simt/hoisted_uniforms.h"
#include "lowering/cuda/tensor_cores/tensor_argument.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

const char *const kSteps = "steps_of_tile";

class PutPlaces : public IRMutator {
    using IRMutator::visit;

    template<typename Op>
    Expr place(const Op *op) {
        const Expr e = IRMutator::visit(op);
        for (const auto &p : places) {
            if (equal(e, p.value)) {
                return Variable::make(Int(32), p.name);
            }
        }
        const auto *o = e.as<Op>();
        if (!blocks || !o || e.type() != Int(32) || is_const(o->b) || !of_blocks(e)) {
            return e;
        }
        places.push_back({e, "in_grid." + number(int(places.size()))});
        return Variable::make(Int(32), places.back().name);
    }

    bool of_blocks(const Expr &e) const {
        const bool moves =
            std::any_of(blocks->begin(), blocks->end(), [&](const std::string &b) { return !b.empty() && expr_uses_var(e, b); });
        FreeVariables free;
        e.accept(&free);
        return std::all_of(free.types.begin(), free.types.end(), [&](const auto &v) { return !inside.count(v.first); }) &&
               (moves || std::any_of(places.begin(), places.end(), [&](const PlaceInGrid &p) { return free.types.count(p.name); }));
    }

    Expr visit(const Div *op) override {
        return place(op);
    }
    Expr visit(const Mod *op) override {
        return place(op);
    }

    std::vector<PlaceInGrid> &places;
    const std::array<std::string, 3> *blocks;
    const std::set<std::string> inside;

public:
    /** With names of blocks it finds places too, where no variable is one of `inside`. */
    explicit PutPlaces(std::vector<PlaceInGrid> &places, const std::array<std::string, 3> *blocks = nullptr,
                       std::set<std::string> inside = {})
        : places(places), blocks(blocks), inside(std::move(inside)) {}
};

const char *const kMultiplierOfDivisor = ".multiplier", *const kShiftOfDivisor = ".shift";

// What is divided by, other than by constants, that has no variable but those of the launch.
class FindDivisors : public IRGraphVisitor {
    using IRGraphVisitor::visit;

    template<typename Op>
    void look(const Op *op) {
        IRGraphVisitor::visit(op);
        FreeVariables free;
        op->b.accept(&free);
        const bool of_launch =
            std::none_of(free.types.begin(), free.types.end(), [&](const auto &v) { return local.count(v.first) > 0; }) &&
            accesses_of(op->b).loaded.empty();
        const bool known = std::any_of(found.begin(), found.end(), [&](const Expr &e) { return equal(e, op->b); });
        if (op->type == Int(32) && !is_const(op->b) && of_launch && !known) {
            found.push_back(op->b);
        }
    }
    void visit(const Div *op) override {
        look(op);
    }
    void visit(const Mod *op) override {
        look(op);
    }
    // Its variable is none of the launch.
    void visit(const Let *op) override {
        local.insert(op->name);
        IRGraphVisitor::visit(op);
    }

    std::set<std::string> local;

public:
    explicit FindDivisors(std::set<std::string> local) : local(std::move(local)) {}
    std::vector<Expr> found;
};

class PutDivisors : public IRMutator {
    using IRMutator::visit;

    template<typename Op>
    Expr put(const Op *op) {
        if (op->type == Int(32) && !is_const(op->b)) {
            for (const auto &d : divisors) {
                if (declared.count(d.name) && equal(d.value, op->b)) {
                    return Op::make(mutate(op->a), Variable::make(Int(32), d.name));
                }
            }
        }
        return IRMutator::visit(op);
    }
    Expr visit(const Div *op) override {
        return put(op);
    }
    Expr visit(const Mod *op) override {
        return put(op);
    }

    const std::vector<DivisorOfLaunch> &divisors;
    const std::set<std::string> &declared;

public:
    PutDivisors(const std::vector<DivisorOfLaunch> &divisors, const std::set<std::string> &declared)
        : divisors(divisors), declared(declared) {}
};

}  // namespace

template<typename T>
T TileText::with_places(const T &x) {
    return PutPlaces(places_).mutate(x);
}
template<typename T>
T TileText::with_divisors(const T &x) const {
    return PutDivisors(divisors_, declared_).mutate(x);
}
template Expr TileText::with_divisors(const Expr &x) const;
template Stmt TileText::with_divisors(const Stmt &x) const;
template Expr TileText::with_places(const Expr &x);
template Stmt TileText::with_places(const Stmt &x);

std::vector<Expr> TileText::used() const {
    const ProductPart &first = program_.first();
    std::vector<Expr> all = {program_.base.blocks[0], program_.base.blocks[1], program_.base.blocks[2], first.min, first.extent, counts()};
    for (const auto &o : program_.operands()) {
        all.insert(all.end(), o.origin.begin(), o.origin.end());
    }
    for (const auto &list : {program_.before, program_.after}) {
        for (const auto &p : list) {
            all.insert(all.end(), {p.value, p.row_is_inside(), p.col_extent});
        }
    }
    for (const auto &n : program_.rows) {
        for (const auto &a : n.assignments) {
            all.insert(all.end(), {a.value, n.row_extent});
            if (n.counts.defined()) {
                all.push_back(n.counts);
            }
            if (a.index.defined()) {
                all.push_back(a.index);
            }
        }
    }
    return all;
}

std::set<std::string> TileText::in_tile() const {
    std::set<std::string> names = {kCol, kElement, kChainHeldRow, "fragment_lane", step_name()};
    for (size_t i = 0; i < tile().row_loops.size(); i++) {
        names.insert(row_name(tile(), i));
    }
    return names;
}

void TileText::add_scalars(Kernel &k, const std::vector<Expr> &used) {
    const std::set<std::string> local = not_of_launch();
    const std::vector<Operand> all = program_.operands();
    std::vector<const Operand *> operands;
    for (const auto &o : all) {
        operands.push_back(&o);
    }
    halyard::add_scalars(k, used, local, operands);
    FindDivisors find(local);
    for (const Expr &x : used) {
        x.accept(&find);
    }
    std::map<std::string, Expr> on_host;
    for (const auto &a : k.arguments) {
        if (a.value.defined()) {
            on_host[a.name] = a.value;
        }
    }
    for (const Expr &value : find.found) {
        auto known = std::find_if(divisors_.begin(), divisors_.end(), [&](const DivisorOfLaunch &d) { return equal(d.value, value); });
        if (known == divisors_.end()) {
            divisors_.push_back({value, unique_name("by_size")});
            known = divisors_.end() - 1;
        }
        const auto [multiplier, shift] = multiplier_and_shift(max(substitute(on_host, value), 1));
        k.arguments.push_back({known->name + kMultiplierOfDivisor, false, false, multiplier.type(), Expr(), multiplier});
        k.arguments.push_back({known->name + kShiftOfDivisor, false, false, shift.type(), Expr(), shift});
    }
}

void TileText::declare_divisors(const Kernel &k) {
    declared_.clear();
    for (const auto &d : divisors_) {
        const std::string argument = d.name + kMultiplierOfDivisor;
        if (std::any_of(k.arguments.begin(), k.arguments.end(), [&](const LaunchArgument &a) { return a.name == argument; })) {
            out_->line("const divisor " + out_->name(d.name) + " = {" + out_->expr(d.value) + ", " + out_->name(argument) + ", " +
                       out_->name(d.name + kShiftOfDivisor) + "};");
            declared_.insert(d.name);
        }
    }
}

// Variables that a launch does not have once for all its blocks.
std::set<std::string> TileText::not_of_launch() const {
    std::set<std::string> names = in_tile();
    names.insert(program_.parts.block_names.begin(), program_.parts.block_names.end());
    return names;
}

void TileText::declare_array(const std::string &type, const std::string &name, int offset, int elements) {
    out_->line("const shared<" + type + "> " + name + " = shared_array<" + type + ">(" + number(offset) + ", " + number(elements) + ");");
}

bool TileText::has_planes() const {
    return !program_.parts.block_names[2].empty();
}

std::string TileText::tiles_of_grid() {
    return has_planes() ? "across * down * " + parenthesised(program_.base.blocks[2]) : "across * down";
}

void TileText::declare_tiles_of_grid() {
    const std::string across = parenthesised(program_.base.blocks[0]), down = parenthesised(program_.base.blocks[1]);
    out_->line("const int across = " + across + ", down = " + down + ";");
}

void TileText::coordinates_of_tile(const std::string &tile) {
    const std::string g = number(program_.asked.raster);
    const auto &names = program_.parts.block_names;
    std::string in_plane = tile;
    if (has_planes()) {
        out_->line("const int " + out_->name(names[2]) + " = " + tile + " / (across * down), in_plane = " + tile + " % (across * down);");
        in_plane = "in_plane";
    }
    out_->line("const int group = " + in_plane + " / (" + g + " * across), in_group = " + in_plane + " % (" + g + " * across);");
    out_->line("const int rows_of_group = minimum(" + g + ", down - group * " + g + ");");
    if (!names[1].empty()) {
        out_->line("const int " + out_->name(names[1]) + " = group * " + g + " + in_group % rows_of_group;");
    }
    if (!names[0].empty()) {
        out_->line("const int " + out_->name(names[0]) + " = in_group / rows_of_group;");
    }
    declare_places();
}

void TileText::declare_places() {
    const auto &names = program_.parts.block_names;
    PutPlaces find(places_, &names, in_tile());
    for (const Expr &x : used()) {
        find.mutate(x);
    }
    for (const auto &p : program_.after) {
        find.mutate(p.index);
    }
    for (const auto &p : places_) {
        out_->line("const int " + out_->name(p.name) + " = " + out_->expr(with_divisors(p.value)) + ";");
    }
}

Expr TileText::counts() const {
    if (program_.asked.ping_pong) {
        return const_true();  // a warpgroup skips the steps of the other's tile, and has to know how many
    }
    Expr any = const_false();
    for (const auto &p : program_.parts.products) {
        any = any || p.counts;
    }
    return simplify(any);
}

Expr TileText::steps() const {
    return is_const_one(counts()) ? program_.first().extent : Variable::make(Int(32), kSteps);
}

void TileText::declare_steps() {
    if (!is_const_one(counts())) {
        out_->line("const int " + out_->name(kSteps) + " = " + e(select(counts(), program_.first().extent, 0)) + ";");
    }
}

void TileText::open_elements(const std::string &first, const std::string &end) {
    const std::string i = out_->name(kElement);
    out_->line("#pragma unroll");
    out_->open("for (int " + i + " = " + first + "; " + i + " < " + end + "; " + i + " += 2) {");
}

std::string TileText::row_in_loop(const std::string &row, size_t loop) const {
    const auto &extents = tile().row_loops;
    int rows = 1;  // of the loops inside
    for (size_t i = 0; i < loop; i++) {
        rows *= extents[i];
    }
    const std::string in_loop = rows == 1 ? row : row + " / " + number(rows);
    return loop + 1 == extents.size() ? in_loop : in_loop + " % " + number(extents[loop]);
}

void TileText::declare_place(const std::string &row, const std::string &col) {
    std::string text = "const int " + out_->name(kRow) + " = " + row + ", " + out_->name(kCol) + " = " + col;
    for (size_t i = 0; i < tile().row_loops.size() && tile().row_loops.size() > 1; i++) {
        text += ", " + out_->name(row_name(tile(), i)) + " = " + row_in_loop(out_->name(kRow), i);
    }
    out_->line(text + ";");
}

void TileText::first_value(const Pair &p) {
    open_elements();
    const bool anywhere = std::none_of(p.rows.begin(), p.rows.end(), [&](const PairRows &r) { return expr_uses_var(p.value, r.name); }) &&
                          !expr_uses_var(p.value, kCol);
    if (!anywhere) {
        coordinates_of_element();
    }
    print(Store::make(p.stored, p.value, Ramp::make(Variable::make(Int(32), kElement), 1, 2), Parameter(), const_true(2),
                      ModulusRemainder()));
    out_->close();
}

void TileText::store_inside(const Pair &p, const Expr &value) {
    const Expr inside =
        Ramp::make(Variable::make(Int(32), kCol), 1, 2) < Broadcast::make(p.col_extent, 2) && Broadcast::make(p.row_is_inside(), 2);
    open_elements();
    coordinates_of_element();
    print(Store::make(p.stored, value, p.index, Parameter(), inside, ModulusRemainder()));
    out_->close();
}

void TileText::reduce_rows(const RowsOfThread &rows, int columns, const std::string &condition) {
    if (program_.rows.empty()) {
        return;
    }
    FusedNests threads(*out_, program_.asked, rows);
    for (const auto &[name, type] : program_.numbers) {
        out_->declare_registers(name, type_text(type), 2 * rows.fragments);
    }
    Expr whole;
    const std::vector<FusedNest> plain = of_whole_tile(program_.rows, &whole);
    const auto nests = [&](const std::vector<FusedNest> &list) {
        for (FusedNest n : list) {
            n.columns = n.kind == FusedNest::kReduction ? columns : 0;
            for (Expr *x : {&n.row_extent, &n.counts}) {
                *x = x->defined() ? with_places(*x) : *x;
            }
            for (auto &a : n.assignments) {
                a.value = with_places(a.value);
                a.index = a.index.defined() ? with_places(a.index) : a.index;
            }
            if (n.assignments.front().index.defined()) {
                threads.store_rows(n, condition);
            } else {
                threads.nest(n);
            }
        }
    };
    if (whole.defined()) {
        out_->open("if (" + e(whole) + ") {");
        nests(plain);
        out_->otherwise();
    }
    nests(program_.rows);
    if (whole.defined()) {
        out_->close();
    }
}

}  // namespace halyard
