#include "lowering/cuda/tensor_cores/product.h"

#include <algorithm>
#include <optional>

#include "lowering/accesses.h"
#include "lowering/contraction.h"
#include "lowering/cuda/tensor_cores/coordinates.h"
#include "lowering/cuda/tensor_cores/polynomial.h"
#include "lowering/cuda/tensor_cores/tile_parts.h"
#include "lowering/cuda/tensor_cores/zero_outside.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

const char *const kOperandDepth = "operand_depth", *const kOperandOther = "operand_other";

namespace {

class ReadProduct {
public:
    ReadProduct(const Stmt &nest, const Lets &lets, const CoordinatesOf &coordinates_of,
                const std::function<void(const std::string &)> &fail, const DefinitionOf &definition_of)
        : coordinates_of_(coordinates_of), fail_(fail), definition_of_(definition_of) {
        descend(nest, lets);
        for (const auto &l : loops_) {
            names_.push_back(l.name);
        }
        const Expr index = full(store_->index, lets), value = full(store_->value, lets);
        read_accumulator(without_clamps(index, names_));
        const auto update = contraction(value, [&](const Expr &sum) {
            const auto *load = sum.as<Load>();
            return load && load->name == store_->name;
        });
        if (!update || update->converted) {
            fail("is no sum of products: the update has to be sum += cast(a) * cast(b)");
        }
        const Expr of_x = defined(update->a), of_y = defined(update->b);
        const auto factors = factors_of_product(of_x, of_y, update->times);
        if (!factors) {
            fail("multiplies each product by a constant; multiply the sum by it");
        }
        const Operand x = operand(of_x, factors->first), y = operand(of_y, factors->second);
        const bool x_has_rows = !moves_with(of_x, col_);
        tile_.a = x_has_rows ? x : y;
        tile_.b = x_has_rows ? y : x;
        find_dimensions(tile_.a, rows_);
        find_dimensions(tile_.b, {col_});
        tile_.left = depth_.left;
        count_lines();
        if (conditions_.defined()) {
            tile_.condition = full(conditions_, lets);
            if (std::any_of(names_.begin(), names_.end(), [&](const std::string &l) { return expr_uses_var(tile_.condition, l); })) {
                fail_more();
            }
        }
    }

    TileOfProduct result() const {
        return tile_;
    }

private:
    struct Loop {
        std::string name;
        int extent = 0;
        Expr left;           // of the loop that was split: so many turns from here on, at most the extent
        int64_t factor = 0;  // in the index of the sums
    };

    [[noreturn]] void fail(const std::string &message) const {
        fail_(message);
        throw CompileError(message);
    }

    [[noreturn]] void fail_more() const {
        fail("has more in its loops than the product; split them so that no condition is needed, and compute what it reads elsewhere");
    }

    void descend(Stmt s, const Lets &lets) {
        for (;;) {
            if (const auto *let = s.as<LetStmt>()) {
                inner_.emplace_back(let->name, let->value);
                s = let->body;
            } else if (const auto *loop = s.as<For>()) {
                Expr left;
                const int extent = constant_extent(loop, lets, left);
                loops_.push_back({loop->name, extent, left});
                s = loop->body;
            } else if (const auto *store = s.as<Store>()) {
                store_ = store;
                body_ = s;
                return;
            } else if (const auto *branch = s.as<IfThenElse>(); branch && !branch->else_case.defined() && definition_of_) {
                conditions_ = conditions_.defined() ? conditions_ && branch->condition : branch->condition;
                s = branch->then_case;
            } else {
                fail_more();
            }
        }
    }

    // min(what is left, 64) for a loop that a split made: TMA fills up with zeros.
    int constant_extent(const For *loop, const Lets &lets, Expr &left) {
        Expr e = loop->extent;
        for (auto it = inner_.rbegin(); it != inner_.rend(); ++it) {
            e = substitute(it->first, it->second, e);
        }
        e = simplify(expand(e, lets));
        // A depth of 4 channels in steps of 64 is one of a channel in steps of 16 to the simplifier: min(what is left, 16) * 4.
        const auto *times = e.as<Mul>();
        const auto *factor_of_both = times && is_positive_const(times->b) ? times->a.as<Min>() : nullptr;
        if (factor_of_both) {
            e = Min::make(simplify(factor_of_both->a * times->b), simplify(factor_of_both->b * times->b));
        }
        if (const auto *m = e.as<Max>(); m && is_const_zero(m->b)) {
            e = m->a;  // a step that is not there has no turns anyway
        }
        if (const auto *m = e.as<Min>()) {
            left = as_const_int(m->a) ? m->b : m->a;
            e = as_const_int(m->a) ? m->a : m->b;
        }
        const auto c = as_const_int(e);
        if (!c || !is_const_zero(loop->min)) {
            fail("has a loop " + loop->name + " of an extent that is not known when it is compiled; split it, or bound it");
        }
        return int(*c);
    }

    Expr full(Expr e, const Lets &lets) const {
        for (auto it = inner_.rbegin(); it != inner_.rend(); ++it) {
            e = substitute(it->first, it->second, e);
        }
        return without_promises(expand(e, lets));
    }

    // Of what bounds inference was promised nothing is needed any more.
    static Expr without_promises(const Expr &e) {
        class Drop : public IRMutator {
            using IRMutator::visit;
            Expr visit(const Call *op) override {
                const bool promise = op->is_intrinsic(Call::promise_clamped) || op->is_intrinsic(Call::unsafe_promise_clamped);
                return promise ? mutate(op->args[0]) : IRMutator::visit(op);
            }
        };
        return Drop().mutate(e);
    }

    void read_accumulator(const Expr &index) {
        const Linear at = linear(index);
        for (auto &l : loops_) {
            l.factor = at.factor_of(l.name);
            if (l.factor == 0) {
                depth_ = l;
            } else if (l.factor == 1) {
                col_ = l;
            } else {
                rows_.push_back(l);
            }
        }
        std::sort(rows_.begin(), rows_.end(), [](const Loop &x, const Loop &y) { return x.factor < y.factor; });
        tile_.columns = col_.extent;
        tile_.rows = 1;
        int64_t next = tile_.columns;
        bool whole = true;
        for (const auto &r : rows_) {
            whole = whole && r.factor >= next;
            next = r.factor * r.extent;
            tile_.rows *= r.extent;
            tile_.row_loops.push_back(r.extent);
            tile_.row_strides.push_back(r.factor);
        }
        if (loops_.size() != rows_.size() + 2 || depth_.name.empty() || col_.name.empty() || rows_.empty() ||
            at.terms.size() != rows_.size() + 1 || at.constant != 0 || !whole) {
            fail("has other loops than rows, columns and depth over a whole tile of sums");
        }
        tile_.accumulator = store_->name;
        tile_.sum = store_->value.type();
        tile_.depth = depth_.extent;
    }

    // x, or a select between x and 0.
    static const Select *or_zero(const Expr &e) {
        const auto *cast = e.as<Cast>();
        const auto *select = (cast ? cast->value : e).as<Select>();
        return select && (is_const_zero(select->true_value) || is_const_zero(select->false_value)) ? select : nullptr;
    }

    static const Load *widened(const Expr &e) {
        if (const auto *select = or_zero(e)) {
            return widened(is_const_zero(select->true_value) ? select->false_value : select->true_value);
        }
        const auto *cast = e.as<Cast>();
        return cast ? cast->value.as<Load>() : e.as<Load>();
    }

    bool moves_with(const Expr &e, const Loop &l) const {
        return expr_uses_var(e, l.name);
    }

    // Its coordinates are left with the loops in them, for find_dimensions().
    Operand operand(const Expr &factor, const FactorOfProduct &read) {
        const Expr e = read.element;
        const Load *load = widened(e);
        if (definition_of_ && (!load || load->type.bits() != rounded_to(e).bits())) {
            return computed(factor);
        }
        if (!load) {
            fail("multiplies something that is not stored; compute the operand first, or leave it as it is in memory");
        }
        Operand o;
        o.buffer = load->name;
        o.type = load->type;
        o.format = read.format;
        const auto *select = or_zero(e);
        const Expr index = definition_of_ ? take_line(load->index, o) : load->index;
        if (select && o.line.defined()) {
            o.counts = line_counts(*select, o);
            select = nullptr;
        }
        ProductLoops product = {names_, {}, depth_.name.substr(0, depth_.name.find('.', depth_.name.find('.') + 1) + 1)};
        for (const auto &r : rows_) {
            product.rows.push_back(r.name);
        }
        Expr counts = const_true();
        if (select) {
            counts = is_const_zero(select->true_value) ? !select->condition : select->condition;
            if (const auto inside = zero_outside(counts, load->index, o.buffer, product, coordinates_of_)) {
                o.origin = *inside;
                return o;
            }
        }
        if (!select && reads_edge(index, product)) {
            fail("reads " + o.buffer + " at its edge in place of what is outside; outside may be zeros: select(inside, " + o.buffer +
                 "(..), 0)");
        }
        const auto all = coordinates_of_(without_clamps(index, names_), o.buffer);
        if (!all) {
            fail("reads " + load->name +
                 " at an index that is no sum of coordinates, the first of them with a stride of 1; leave its storage in the order of "
                 "its dimensions, and its strides open");
        }
        o.origin = *all;
        if (select) {
            counts = without_clamps(counts, names_);
            o.end = definition_of_ ? end_of_depth(counts, *all) : Expr();
        }
        if (select && !o.end.defined()) {
            o.counts = simplify(substitute(depth_.name, Variable::make(Int(32), kOperandDepth), counts));
            for (const auto &l : loops_) {
                if (expr_uses_var(o.counts, l.name)) {
                    fail("reads " + o.buffer + " under a condition that is neither on its depth alone nor on where the buffer ends");
                }
            }
        }
        return o;
    }

    // Where a coordinate that runs with the depth ends, if the condition says that and nothing else, of what is known at the launch.
    Expr end_of_depth(const Expr &counts, const std::vector<Expr> &coordinates) const {
        const auto *less = counts.as<LT>();
        const auto moves = [&](const Expr &e) {
            return std::any_of(loops_.begin(), loops_.end(), [&](const Loop &l) { return moves_with(e, l); });
        };
        if (!less || !moves_with(less->a, depth_) || moves(less->b) || !accesses_of(less->b).loaded.empty()) {
            return Expr();
        }
        for (const Expr &c : coordinates) {
            const Expr apart = linear(c - less->a).expr();
            if (!moves(apart)) {
                return simplify(less->b + apart);
            }
        }
        return Expr();
    }

    // Rows or columns of a tile that are left out of a sum are 0 in an operand.
    void count_lines() {
        for (const auto &[loops, o] : {std::pair(rows_, &tile_.a), std::pair(std::vector<Loop>{col_}, &tile_.b)}) {
            for (const Loop &l : loops) {
                if (!l.left.defined()) {
                    continue;
                }
                const Expr other = Variable::make(Int(32), kOperandOther), counts = other < l.left;
                if (o->value.defined()) {
                    o->value = Select::make(counts, o->value, make_zero(o->type));
                    continue;
                }
                if (!definition_of_ || loops.size() != 1 || o->other_dimension <= 0 || o->step[size_t(o->other_dimension)] != 1) {
                    fail("leaves out rows or columns of its tile, which are no lines of " + o->buffer +
                         " in memory; compute it first, with 0 there");
                }
                Expr &first = o->origin[size_t(o->other_dimension)];
                o->line = simplify(Select::make(counts, o->line.defined() ? o->line : first + other, -1));
                first = 0;
            }
        }
    }

    static bool loads_by(const Expr &e, const std::vector<std::string> &loops) {
        class Find : public IRVisitor {
            using IRVisitor::visit;
            void visit(const Load *op) override {
                found = found || std::any_of(loops.begin(), loops.end(), [&](const std::string &l) { return expr_uses_var(op->index, l); });
            }

        public:
            explicit Find(const std::vector<std::string> &loops) : loops(loops) {}
            const std::vector<std::string> &loops;
            bool found = false;
        } find(loops);
        e.accept(&find);
        return find.found;
    }

    // A coordinate that is loaded by the row or column, as of rows that are taken by an index: kLine stands in its place.
    Expr take_line(const Expr &index, Operand &o) const {
        class Take : public IRMutator {
        public:
            using IRMutator::mutate;

            Expr mutate(const Expr &e) override {
                if (e.type() != Int(32) || e.as<Add>() || e.as<Sub>() || e.as<Mul>() || !loads_by(e, loops)) {
                    return IRMutator::mutate(e);
                }
                several = several || (line.defined() && !equal(line, e));
                line = e;
                return Variable::make(Int(32), kLine);
            }

            explicit Take(const std::vector<std::string> &loops) : loops(loops) {}
            const std::vector<std::string> &loops;
            Expr line;
            bool several = false;
        } take(names_);
        const Expr rest = take.mutate(index);
        if (take.several || (take.line.defined() && expr_uses_var(take.line, depth_.name))) {
            fail("reads " + o.buffer + " by several indices, or by one for each element; take whole rows by an index");
        }
        o.line = take.line;
        return rest;
    }

    // Whether a line that is taken by an index counts; elsewhere it is 0, and has no place in the buffer.
    Expr line_counts(const Select &select, const Operand &o) const {
        const Expr counts = is_const_zero(select.true_value) ? !select.condition : select.condition;
        if (expr_uses_var(counts, depth_.name)) {
            fail("reads " + o.buffer + " under a condition on single elements of rows that are taken by an index; let whole rows be 0");
        }
        return counts;
    }

    // ---- Operands that are computed ----

    Expr defined(const Expr &e) const {
        class Define : public IRMutator {
            using IRMutator::visit;
            Expr visit(const Load *op) override {
                const Expr value = definition_of(op);
                return value.defined() ? mutate(value) : IRMutator::visit(op);
            }

        public:
            explicit Define(const DefinitionOf &definition_of) : definition_of(definition_of) {}
            const DefinitionOf &definition_of;
        };
        return definition_of_ ? simplify(Define(definition_of_).mutate(e)) : e;
    }

    // The type of an operand before it was widened for the product.
    static Type rounded_to(const Expr &e) {
        if (const auto *select = e.as<Select>(); select && or_zero(e)) {
            return rounded_to(is_const_zero(select->true_value) ? select->false_value : select->true_value);
        }
        const auto *cast = e.as<Cast>();
        return cast ? cast->value.type() : e.type();
    }

    Operand computed(const Expr &factor) {
        const auto *wide = factor.as<Cast>();
        Operand o;
        o.type = rounded_to(factor);
        if (!wide || !o.type.is_float() || o.type.bits() != 16) {
            fail("multiplies what is computed on the way in as a number that the tensor cores do not take; cast it to float16 or "
                 "bfloat16, and that to float");
        }
        const Loop &other = moves_with(factor, col_) ? col_ : rows_.front();
        if (rows_.size() != 1 || (moves_with(factor, col_) && moves_with(factor, rows_.front()))) {
            fail("multiplies what is computed on the way in over other loops than a tile of rows and depth, or columns and depth");
        }
        Scope<Interval> tile;
        tile.push(kOperandDepth, Interval(0, depth_.extent - 1));
        tile.push(kOperandOther, Interval(0, other.extent - 1));
        const Expr value = substitute(
            {{depth_.name, Variable::make(Int(32), kOperandDepth)}, {other.name, Variable::make(Int(32), kOperandOther)}}, wide->value);
        o.value = sourced(simplify(value, true, tile), o, tile, depth_.extent * other.extent);
        // Neighbours in the tile are neighbours in memory where they can be; of rows, those along the depth.
        const bool across = moves_with(factor, col_) && !o.sources.empty() && o.sources[0].other_dimension == 0;
        o.depth_dimension = across ? 1 : 0;
        o.other_dimension = 1 - o.depth_dimension;
        o.box = across ? std::vector<int>{other.extent, depth_.extent} : std::vector<int>{depth_.extent, other.extent};
        o.step = {1, 1};
        return o;
    }

    // Loads that run with both coordinates of the tile come through shared memory, but for those of which many elements share one.
    Expr sourced(const Expr &value, Operand &o, const Scope<Interval> &tile, int elements) {
        class Source : public IRMutator {
            using IRMutator::visit;
            Expr visit(const Load *op) override {
                const Expr source = reader.source_of(op, o, tile, elements);
                return source.defined() ? source : IRMutator::visit(op);
            }

        public:
            Source(ReadProduct &reader, Operand &o, const Scope<Interval> &tile, int elements)
                : reader(reader), o(o), tile(tile), elements(elements) {}
            ReadProduct &reader;
            Operand &o;
            const Scope<Interval> &tile;
            const int elements;
        };
        return Source(*this, o, tile, elements).mutate(value);
    }

    Expr source_of(const Load *op, Operand &o, const Scope<Interval> &tile, int elements) {
        // From so many elements of the tile for one of the source it is loaded where it is used; lines are at least so long.
        constexpr int kFewer = 8, kLeastBytes = 32;
        const std::vector<std::string> own = {kOperandDepth, kOperandOther};
        if (!expr_uses_var(op->index, own[0]) || !expr_uses_var(op->index, own[1]) || op->type.is_vector()) {
            return Expr();
        }
        const auto all = coordinates_of_(without_clamps(op->index, own), op->name);
        if (!all) {
            return Expr();
        }
        Operand source;
        source.buffer = op->name;
        source.type = op->type;
        Expr place = 0;
        int64_t size = 1, used = 1;
        for (const Expr &at : *all) {
            const Expr first = simplify(substitute({{own[0], Expr(0)}, {own[1], Expr(0)}}, at)), local = simplify(at - first, true, tile);
            const auto last = as_const_int(find_constant_bound(local, Direction::Upper, tile)),
                       least = as_const_int(find_constant_bound(local, Direction::Lower, tile));
            if (!last || !least || *least != 0) {
                return Expr();
            }
            const int dimension = int(source.origin.size()), chunk = 16 / source.type.bytes();
            for (const auto &[name, own_dimension] :
                 {std::pair(own[0], &source.depth_dimension), std::pair(own[1], &source.other_dimension)}) {
                if (expr_uses_var(local, name)) {
                    *own_dimension = *own_dimension < 0 ? dimension : *own_dimension;
                }
            }
            source.origin.push_back(first);
            source.box.push_back(dimension == 0 ? (int(*last) / chunk + 1) * chunk : int(*last) + 1);  // lines of whole chunks of 16 bytes
            source.step.push_back(1);
            place = place + local * int(size);
            size *= source.box.back();
            used *= *last + 1;
        }
        if (used * kFewer < elements || source.box[0] * source.type.bytes() < kLeastBytes) {
            return Expr();
        }
        const auto same = std::find_if(o.sources.begin(), o.sources.end(), [&](const Operand &s) {
            return s.buffer == source.buffer && s.box == source.box &&
                   std::equal(s.origin.begin(), s.origin.end(), source.origin.begin(),
                              [](const Expr &x, const Expr &y) { return equal(x, y); });
        });
        source.tile = same != o.sources.end() ? same->tile : unique_name(op->name + ".source");
        if (same == o.sources.end()) {
            o.sources.push_back(source);
        }
        return Load::make(op->type, source.tile, simplify(place, true, tile), Buffer<>(), Parameter(), const_true(), ModulusRemainder());
    }

    void find_dimensions(Operand &o, const std::vector<Loop> &others) {
        if (o.value.defined()) {
            return;
        }
        size_t found = 0;  // of the others: neighbours in the tile are so in memory
        for (size_t d = 0; d < o.origin.size(); d++) {
            Expr &at = o.origin[d];
            const Linear c = linear(at);
            int box = 1, step = 1;
            Expr origin = at;
            const auto moves = [&](const Loop &l) {
                box = l.extent;
                origin = substitute(l.name, 0, at);
            };
            if (o.line.defined() && c.factor_of(kLine) == 1 && others.size() == 1 && found == 0) {
                o.other_dimension = int(d);
                o.line = substitute(kLine, o.line, at);
                o.line = o.counts.defined() ? Select::make(o.counts, o.line, -1) : o.line;
                o.line = simplify(substitute(others[0].name, Variable::make(Int(32), kOperandOther), o.line));
                o.counts = Expr();
                moves(others[found++]);
                origin = 0;
            } else if (c.factor_of(depth_.name) == 1 && o.depth_dimension < 0) {
                o.depth_dimension = int(d);
                moves(depth_);
            } else if (found < others.size() && c.factor_of(others[found].name) >= 1) {
                o.other_dimension = found == 0 ? int(d) : o.other_dimension;
                step = int(c.factor_of(others[found].name));
                moves(others[found++]);
            }
            at = simplify(origin);
            const bool more = std::any_of(names_.begin(), names_.end(), [&](const std::string &l) { return expr_uses_var(at, l); });
            if (more || (d == 0 && step != 1)) {
                fail("reads " + o.buffer + " in another order than a tile of it");
            }
            o.box.push_back(box);
            o.step.push_back(step);
        }
        if (o.depth_dimension < 0 || found < others.size() || (o.depth_dimension != 0 && o.other_dimension != 0)) {
            fail("reads " + o.buffer + " where neighbours of its tile are not neighbours in memory");
        }
        if (depth_.left.defined()) {
            const Expr end = Polynomial(o.origin[size_t(o.depth_dimension)] + depth_.left).expr();
            o.end = o.end.defined() ? min(o.end, end) : end;
        }
    }

    static constexpr const char *kLine = "operand_line_by_index";

    const CoordinatesOf &coordinates_of_;
    const std::function<void(const std::string &)> &fail_;
    const DefinitionOf &definition_of_;
    Expr conditions_;
    std::vector<std::pair<std::string, Expr>> inner_;
    std::vector<Loop> loops_, rows_;
    std::vector<std::string> names_;  // of loops_
    Loop col_, depth_;
    const Store *store_ = nullptr;
    Stmt body_;
    TileOfProduct tile_;
};

}  // namespace

TileOfProduct read_product(const Stmt &nest, const Lets &lets, const CoordinatesOf &coordinates_of,
                           const std::function<void(const std::string &)> &fail, const DefinitionOf &definition_of) {
    return ReadProduct(nest, lets, coordinates_of, fail, definition_of).result();
}

}  // namespace halyard
