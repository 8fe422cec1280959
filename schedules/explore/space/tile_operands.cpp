#include "explore/space/tile_operands.h"

#include <algorithm>
#include <memory>

#include "explore/space/graph.h"

namespace halyard::explore {

namespace {

std::string type_of(const Description &d, const std::string &name) {
    const Func *f = d.func(name);
    const auto b = d.buffers.find(name);
    return f ? (f->types.size() == 1 ? f->types[0] : "") : b == d.buffers.end() ? "" : b->second.type;
}

bool is_byte(const std::string &type) {
    return type == "uint8_t" || type == "int8_t";
}

// The only loop of an index, which is nothing else.
std::string loop_of(const Index &i) {
    return i.loops.size() == 1 && i.loops.begin()->second == 1 ? i.loops.begin()->first : "";
}

class Operand {
public:
    Operand(const Description &d, const Func &product, const std::string &depth, int64_t group)
        : d_(d), product_(product), depth_(depth), group_(group) {}

    /** Follows a factor from one Func to the next as long as those only convert. The last that suits is the operand. */
    bool find(std::string name, const std::string &type, const std::string &column) {
        for (std::set<std::string> through;;) {
            const Read *r = read(name, through);
            if (!r) {
                break;
            }
            if (type_of(d_, name) == type && (column.empty() ? is_row(*r) : is_packed(*r, column))) {
                name_ = name;
                inlined_ = through;
            }
            const Func *f = d_.func(name);
            if (!f || f->fixed || f->output || f->reduction() || f->permuted || !f->pure().plain) {
                break;
            }
            through.insert(name);
            name = f->pure().reads[0].func;
        }
        return !name_.empty();
    }

    void add_to(TileOperands &all) const {
        all.inlined.insert(inlined_.begin(), inlined_.end());
        if (d_.func(name_)) {
            all.stored.insert(name_);
        }
    }

private:
    const Read *read(const std::string &name, const std::set<std::string> &through) {
        graph_ = std::make_unique<Graph>(d_, through);
        const Read *only = nullptr;
        for (const Read &r : graph_->reads(product_.name, 1)) {
            if (r.func == name) {
                if (only) {
                    return nullptr;  // both factors read it
                }
                only = &r;
            }
        }
        return only;
    }

    // Neighbours along the sum are neighbours in memory.
    bool is_row(const Read &r) const {
        return !r.index.empty() && r.index[0].is(depth_) && std::none_of(r.index.begin() + 1, r.index.end(), [&](const Index &i) {
            return i.uses(depth_) || !i.exact || i.div != 0 || i.mod != 0;
        });
    }

    // [member of a group, column (of a panel), group, ...]
    bool is_packed(const Read &r, const std::string &column) const {
        if (r.index.size() < 3 || loop_of(r.index[1]) != column || r.index[1].div != 0 || r.index[1].clamped) {
            return false;
        }
        const Index &member = r.index[0], &group = r.index[2];
        if (group_ == 1 ? !member.loops.empty() || !group.is(depth_)
                        : loop_of(member) != depth_ || member.mod != group_ || loop_of(group) != depth_ || group.div != group_) {
            return false;
        }
        return std::none_of(r.index.begin() + 3, r.index.end(), [&](const Index &i) {
            return i.uses(depth_) || (i.uses(column) && (r.index[1].mod == 0 || i.div != r.index[1].mod));
        });
    }

    const Description &d_;
    const Func &product_;
    const std::string depth_;
    const int64_t group_;
    std::unique_ptr<Graph> graph_;
    std::string name_;
    std::set<std::string> inlined_;
};

}  // namespace

std::optional<TileOperands> tile_operands(const Description &d, const Product &p) {
    const Func &f = *d.func(p.func);
    if (p.turned || p.stencil || p.vector.empty() || p.update != 1 || f.fixed || f.permuted) {
        return std::nullopt;
    }
    if (std::none_of(p.rows.begin(), p.rows.end(), [&](const std::string &row) { return f.extent(row) > 1; })) {
        return std::nullopt;  // a product with a vector
    }
    const Stage &sum = f.stages[1];
    if (!sum.plain || sum.factors.size() != 2 || sum.factors[0].size() != 1 || sum.factors[1].size() != 1 || f.dims[0] != p.vector) {
        return std::nullopt;
    }
    std::string names[2] = {sum.reads[sum.factors[0][0]].func, sum.reads[sum.factors[1][0]].func};
    if (sum.reads[sum.factors[0][0]].uses(p.vector)) {
        std::swap(names[0], names[1]);  // the columns are those of the second
    }
    const std::string depth = std::find_if(sum.loops.begin(), sum.loops.end(), [](const Loop &l) { return l.rvar; })->name;
    const std::string type = type_of(d, p.func);
    for (const std::string a_type : {"bfloat16_t", "uint8_t", "int8_t", "float"}) {
        const std::string b_type = is_byte(a_type) ? "int8_t" : a_type;
        const int64_t group = is_byte(a_type) ? 4 : a_type == "float" ? 1 : 2;
        const size_t stages = group > 1 ? 3 : 2;  // the last one sums what groups leave
        Operand a(d, f, depth, group), b(d, f, depth, group);
        if (f.stages.size() == stages && type == (is_byte(a_type) ? "int32_t" : "float") && sum.loop(depth)->extent >= double(group) &&
            a.find(names[0], a_type, "") && b.find(names[1], b_type, p.vector)) {
            TileOperands all;
            all.group = group;
            a.add_to(all);
            b.add_to(all);
            return all;
        }
    }
    return std::nullopt;
}

}  // namespace halyard::explore
