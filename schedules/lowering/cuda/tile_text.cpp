#include "tile_text.h"

#include "tensor_argument.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

std::vector<Expr> TileText::used() const {
    const ProductPart &first = program_.first();
    std::vector<Expr> all = {program_.base.blocks[0], program_.base.blocks[1], program_.base.blocks[2], first.min,
                             first.extent};
    for (const auto &o : program_.operands()) {
        all.insert(all.end(), o.origin.begin(), o.origin.end());
    }
    for (const auto &list : {program_.before, program_.after}) {
        for (const auto &p : list) {
            all.insert(all.end(), {p.value, p.row_extent, p.col_extent});
        }
    }
    return all;
}

void TileText::add_scalars(Kernel &k, const std::vector<Expr> &used) const {
    FreeVariables free;
    for (const Expr &x : used) {
        x.accept(&free);
    }
    std::set<std::string> local = {kRow, kCol, kElement, "fragment_lane", step_name()};
    local.insert(program_.parts.block_names.begin(), program_.parts.block_names.end());
    for (const auto &[name, type] : free.types) {
        if (!local.count(name) && name.find(".buffer") == std::string::npos) {
            k.arguments.push_back({name, false, false, type, Expr(), value_on_host(name)});
        }
    }
}

Expr TileText::value_on_host(const std::string &name) const {
    for (const auto &o : program_.operands()) {
        for (int d = 0; d < 2; d++) {
            if (name == o.buffer + ".extent." + number(d)) {
                return field_on_host(o.buffer, Call::buffer_get_extent, d);
            }
            if (name == o.buffer + ".stride." + number(d)) {
                return field_on_host(o.buffer, Call::buffer_get_stride, d);
            }
        }
    }
    return Expr();
}

void TileText::declare_array(const std::string &type, const std::string &name, int offset, int elements) {
    out_->line("const shared<" + type + "> " + name + " = shared_array<" + type + ">(" + number(offset) + ", " +
               number(elements) + ");");
}

void TileText::declare_tiles_of_grid() {
    const std::string across = parenthesised(program_.base.blocks[0]), down = parenthesised(program_.base.blocks[1]);
    out_->line("const int across = " + across + ", down = " + down + ";");
}

void TileText::coordinates_of_tile(const std::string &tile) {
    const std::string g = number(program_.asked.group);
    out_->line("const int group = " + tile + " / (" + g + " * across), in_group = " + tile + " % (" + g +
               " * across);");
    out_->line("const int rows_of_group = minimum(" + g + ", down - group * " + g + ");");
    const auto &names = program_.parts.block_names;
    if (!names[1].empty()) {
        out_->line("const int " + out_->name(names[1]) + " = group * " + g + " + in_group % rows_of_group;");
    }
    if (!names[0].empty()) {
        out_->line("const int " + out_->name(names[0]) + " = in_group / rows_of_group;");
    }
}

void TileText::open_elements(const std::string &first, const std::string &end) {
    const std::string i = out_->name(kElement);
    out_->line("#pragma unroll");
    out_->open("for (int " + i + " = " + first + "; " + i + " < " + end + "; " + i + " += 2) {");
}

void TileText::first_value(const Pair &p) {
    open_elements();
    if (expr_uses_var(p.value, kRow) || expr_uses_var(p.value, kCol)) {
        coordinates_of_element();
    }
    out_->print(Store::make(p.stored, p.value, Ramp::make(Variable::make(Int(32), kElement), 1, 2), Parameter(),
                            const_true(2), ModulusRemainder()));
    out_->close();
}

void TileText::store_inside(const Pair &p) {
    const Expr row = Variable::make(Int(32), kRow), col = Variable::make(Int(32), kCol);
    const Expr inside =
        Ramp::make(col, 1, 2) < Broadcast::make(p.col_extent, 2) && Broadcast::make(row < p.row_extent, 2);
    open_elements();
    coordinates_of_element();
    out_->print(Store::make(p.stored, loaded_inside(p, program_.accumulators), p.index, Parameter(), inside,
                            ModulusRemainder()));
    out_->close();
}

}  // namespace halyard
