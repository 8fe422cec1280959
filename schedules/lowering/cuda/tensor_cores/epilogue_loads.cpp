#include "lowering/cuda/tensor_cores/epilogue_loads.h"

#include <algorithm>
#include <functional>

#include "lowering/accesses.h"
#include "lowering/cuda/print/print_expr.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class VisitLoads : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Load *op) override {
        IRVisitor::visit(op);
        look(op);
    }

    const std::function<void(const Load *)> &look;

public:
    explicit VisitLoads(const std::function<void(const Load *)> &look) : look(look) {}
};

void visit_loads(const Expr &e, const std::function<void(const Load *)> &look) {
    VisitLoads v(look);
    e.accept(&v);
}

bool is_of_two_columns(const Load *op) {
    return expr_uses_var(op->index, kCol) && !expr_uses_var(op->index, kElement) && op->type.lanes() == 2 && is_const_one(op->predicate);
}

Expr element_index() {
    return Variable::make(Int(32), kElement);
}

// Where TMA puts an element of a tile: blocks of whole lines, one beside the other, swizzled.
Expr place_in_tile(const Type &element) {
    const int line = elements_of_line(element), chunk = line / 8;
    const Expr row = Variable::make(Int(32), kRow) % kRowsOfWarpgroup, col = Variable::make(Int(32), kCol), in_line = col % line;
    return col / line * (line * kRowsOfWarpgroup) + row * line + ((in_line / chunk) ^ (row % 8)) * chunk + in_line % chunk;
}

}  // namespace

std::vector<EpilogueLoads::EpilogueColumns> EpilogueLoads::find_columns(const std::vector<const Pair *> &after,
                                                                        const std::set<std::string> &known) const {
    std::vector<EpilogueColumns> found;
    for (const Pair *p : after) {
        visit_loads(p->value, [&](const Load *op) {
            const bool same =
                std::none_of(p->rows.begin(), p->rows.end(), [&](const PairRows &r) { return expr_uses_var(op->index, r.name); });
            if (same && is_of_two_columns(op) && op->type.bits() == 16 && !known.count(op->name) &&
                std::none_of(found.begin(), found.end(), [&](const EpilogueColumns &e) { return equal(e.load, op); })) {
                found.push_back({op, p, op->name + ".early." + number(int(found.size()))});
            }
        });
    }
    return found;
}

std::vector<EpilogueLoads::EpilogueTile> EpilogueLoads::find_tiles(const std::vector<const Pair *> &after,
                                                                   const std::set<std::string> &known) const {
    std::vector<EpilogueTile> found;
    for (const Pair *p : after) {
        visit_loads(p->value, [&](const Load *op) {
            const Type element = op->type.element_of();
            if (!is_of_two_columns(op) || known.count(op->name) || !moves_by_tma(element, tile().columns)) {
                return;
            }
            const auto same = std::find_if(found.begin(), found.end(), [&](const EpilogueTile &t) { return equal(t.load, op); });
            if (same != found.end()) {
                same->users += same->pair == p ? 0 : 1;
                return;
            }
            if (const auto box = tensor_box(program_, op->name, element, op->index, p->rows)) {
                found.push_back({op, op->name, op->name + ".tile." + number(int(found.size())), *box, p});
            }
        });
    }
    return found;
}

Expr EpilogueLoads::with_epilogue_loads(const Expr &value) const {
    class Put : public IRMutator {
        using IRMutator::visit;

        Expr visit(const Load *op) override {
            for (const auto &l : early.columns_) {
                if (equal(l.load, op)) {
                    return Reinterpret::make(op->type, Load::make(UInt(32), l.name, element_index() / 4, Buffer<>(), Parameter(),
                                                                  const_true(), ModulusRemainder()));
                }
            }
            for (const auto &t : early.tiles_) {
                if (equal(t.load, op)) {
                    return Load::make(op->type, t.name, Ramp::make(place_in_tile(t.type()), 1, 2), Buffer<>(), Parameter(), const_true(2),
                                      ModulusRemainder(2, 0));
                }
            }
            return IRMutator::visit(op);
        }

        const EpilogueLoads &early;

    public:
        explicit Put(const EpilogueLoads &early) : early(early) {}
    };
    return Put(*this).mutate(value);
}

std::set<std::string> EpilogueLoads::loaded(bool early) const {
    std::vector<Expr> all = used();
    if (early) {
        std::transform(all.begin(), all.end(), all.begin(), [&](const Expr &value) { return with_epilogue_loads(value); });
    }
    for (const auto &c : columns_) {
        all.push_back(c.load);
    }
    return loaded_by(all);
}

std::string EpilogueLoads::rest_of_box(const TensorBox &box) {
    std::string rest;
    for (size_t d = 1; d < box.origin.size(); d++) {
        const std::string row = "warpgroup * " + number(kRowsOfWarpgroup);
        rest += ", " + parenthesised(box.origin[d]) +
                (program_.asked.ping_pong || box.loop[d] < 0 ? "" : " + " + row_in_loop(row, size_t(box.loop[d])));
    }
    return rest;
}

std::vector<std::string> EpilogueLoads::across_box(const TensorBox &box, const Type &element, int first, int columns) {
    std::vector<std::string> across;
    for (int i = 0; i < columns; i += elements_of_line(element)) {
        across.push_back(e(simplify(box.origin[0] + first + i)));
    }
    return across;
}

void EpilogueLoads::load_columns() {
    for (const auto &l : columns_) {
        const auto text = [&](const Expr &value) {
            const std::string i = out_->name(kElement);
            out_->line("#pragma unroll");
            out_->open("for (int " + i + " = 0; " + i + " < " + number(sums()) + "; " + i + " += 4) {");
            coordinates_of_element();
            print(Store::make(l.name, Reinterpret::make(UInt(32), value), element_index() / 4, Parameter(), const_true(),
                              ModulusRemainder()));
            out_->close();
        };
        out_->declare_registers(l.name, "uint32_t", sums() / 4);
        Pair inside = *l.pair;
        inside.value = l.load;
        out_->open("if (" + e(l.pair->is_whole(tile().columns)) + ") {");
        text(l.load);
        out_->otherwise();
        text(loaded_inside(inside, program_.accumulators));
        out_->close();
    }
}

void EpilogueLoads::declare_tiles(int rows) {
    for (const auto &t : tiles_) {
        declare_result(*out_, type_text(t.type()), out_->name(t.name), t.offset, rows, tile().columns);
    }
    if (!tiles_.empty()) {
        out_->line("int early_phase = 0;");
    }
}

// In the third step, when what left of the tile before has been read: that the thread waits for it sooner holds up products.
void EpilogueLoads::prepare_tiles(const Expr &first, const Expr &steps) {
    if (tiles_.empty()) {
        return;
    }
    int bytes = 0;
    for (const auto &t : tiles_) {
        bytes += kRowsOfWarpgroup * tile().columns * t.type().bytes();
    }
    out_->line("const int fetch_at = " + e(simplify(first + min(2, steps - 1))) + ";");
    out_->open("const auto fetch_early = [&] {");
    out_->open("if (thread == 0) {");
    out_->line("tensor_store_wait_read();");
    out_->line("barrier_expect(&early_full[warpgroup], " + number(bytes) + ");");
    for (const auto &t : tiles_) {
        const auto across = across_box(t.box, t.type(), 0, tile().columns);
        for (size_t i = 0; i < across.size(); i++) {
            const std::string block = i ? " + " + number(int(i) * elements_of_line(t.type()) * kRowsOfWarpgroup) : "";
            out_->line("tensor_load(" + out_->name(t.name) + block + ", " + out_->name(t.buffer + ".map.early") +
                       ", &early_full[warpgroup], " + across[i] + rest_of_box(t.box) + ");");
        }
    }
    out_->close();
    out_->close("};");
}

void EpilogueLoads::fetch_tiles_at(const std::string &step) {
    if (!tiles_.empty()) {
        out_->open("if (" + step + " == fetch_at) {");
        out_->line("fetch_early();");
        out_->close();
    }
}

void EpilogueLoads::fetch_tiles_without_steps(const Expr &steps) {
    if (!tiles_.empty()) {
        out_->open("if (" + e(simplify(steps <= 0)) + ") {");
        out_->line("fetch_early();");
        out_->close();
    }
}

void EpilogueLoads::wait_for_tiles() {
    if (!tiles_.empty()) {
        out_->line("warp_wait(&early_full[warpgroup], early_phase);");
        out_->line("early_phase ^= 1;");
    }
}

}  // namespace halyard
