#include "lowering/cuda/tiles/block_program.h"

#include <algorithm>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

int reads_of(const BlockProgram &program, const std::string &name) {
    int count = 0;
    for (const TileNode *n : program.nodes()) {
        for (const auto &a : n->nest.assignments) {
            count += int(held_in(a.value).count(name));
        }
        count += n->kind == TileNode::kProduct && n->product.a.buffer == name;
    }
    return count;
}

bool is_zero_of(const TileNode &n, const std::string &name) {
    return n.kind == TileNode::kNest && n.nest.kind == FusedNest::kTile && n.nest.assignments.size() == 1 &&
           n.nest.assignments[0].stored == name && is_const_zero(n.nest.assignments[0].value);
}

// acc of acc = acc + sum, or "".
std::string sum_in(const TileNode &n, const std::string &sum) {
    if (n.kind != TileNode::kNest || n.nest.kind != FusedNest::kTile || n.nest.assignments.size() != 1) {
        return "";
    }
    const Assignment &a = n.nest.assignments[0];
    const auto *add = a.value.as<Add>();
    const auto *x = add ? add->a.as<Load>() : nullptr, *y = add ? add->b.as<Load>() : nullptr;
    if (a.index.defined() || !x || !y || a.value.type() != Float(32)) {
        return "";
    }
    const bool is_sum = (x->name == a.stored && y->name == sum) || (y->name == a.stored && x->name == sum);
    return is_sum ? a.stored : "";
}

void visit(BlockProgram &program, TileBody &body) {
    for (auto &n : body) {
        if (n.body) {
            visit(program, *n.body);
        }
    }
    for (size_t i = 0; i < body.size(); i++) {
        // The tensor cores keep too few bits of numbers of 8 bits to add up more than a step.
        if (body[i].kind != TileNode::kProduct || body[i].product.b.number().is_float8()) {
            continue;
        }
        const std::string sum = body[i].product.accumulator;
        const auto zero = std::find_if(body.begin(), body.begin() + long(i), [&](const TileNode &n) { return is_zero_of(n, sum); });
        const std::string to = i + 1 < body.size() ? sum_in(body[i + 1], sum) : "";
        if (zero == body.begin() + long(i) || to.empty() || reads_of(program, sum) != 1) {
            continue;
        }
        body[i].product.accumulator = to;
        program.held.erase(sum);
        body.erase(body.begin() + long(i) + 1);
        body.erase(zero);
        i--;
    }
}

void begin(TileBody &body) {
    for (auto &n : body) {
        if (n.body) {
            begin(*n.body);
        }
    }
    for (size_t i = 0; i < body.size(); i++) {
        if (body[i].kind != TileNode::kProduct || body[i].begins) {
            continue;
        }
        const std::string sum = body[i].product.accumulator;
        // From the product back to where it becomes 0, past what has nothing to do with it.
        for (size_t j = i; j-- > 0;) {
            if (is_zero_of(body[j], sum)) {
                body[i].begins = true;
                body.erase(body.begin() + long(j));
                i--;
                break;
            }
            if (body[j].body || (body[j].kind == TileNode::kProduct && body[j].product.accumulator == sum)) {
                break;
            }
        }
    }
}

// Loads of a row alone, or of a tile, from device memory, become loads of `program`'s registers.
class TakeRows : public IRMutator {
    using IRMutator::visit;

    // What a tile loads under a condition may not be there.
    Expr visit(const Select *op) override {
        const Expr condition = mutate(op->condition);
        const bool outer = conditional;
        conditional = true;
        const Expr a = mutate(op->true_value), b = mutate(op->false_value);
        conditional = outer;
        return Select::make(condition, a, b);
    }

    Expr visit(const Load *op) override {
        const bool by_row = !varies_in_row(op->index) && held_in(op->index).empty() &&
                            (expr_uses_var(op->index, kChainRow) || (!conditional && !program.held.count(op->name)));
        if (!by_row || op->type.is_vector()) {
            return IRMutator::visit(op);
        }
        const std::string name = unique_name(op->name + ".early");
        program.held[name] = {op->type, 0};
        rows.assignments.push_back({name, op, Expr()});
        return Load::make(op->type, name, Variable::make(Int(32), kChainHeldRow), Buffer<>(), Parameter(), const_true(),
                          ModulusRemainder());
    }

    BlockProgram &program;
    bool conditional = false;

public:
    explicit TakeRows(BlockProgram &program) : program(program) {
        rows.kind = FusedNest::kRows;
        rows.row_extent = program.rows;
    }
    FusedNest rows;
};

bool stays_in_registers(const TileNode &n) {
    return n.kind == TileNode::kNest &&
           std::none_of(n.nest.assignments.begin(), n.nest.assignments.end(), [](const Assignment &a) { return a.index.defined(); });
}

void load_early(BlockProgram &program, TileBody &body) {
    for (auto &n : body) {
        if (n.body) {
            load_early(program, *n.body);
        }
    }
    for (size_t i = 0; i < body.size(); i++) {
        if (body[i].kind != TileNode::kProduct) {
            continue;
        }
        size_t behind = i;
        while (behind < body.size() && body[behind].kind == TileNode::kProduct) {
            behind++;
        }
        TakeRows take(program);
        for (; behind < body.size() && stays_in_registers(body[behind]); behind++) {
            for (auto &a : body[behind].nest.assignments) {
                a.value = take.mutate(a.value);
            }
        }
        if (!take.rows.assignments.empty()) {
            TileNode n;
            n.nest = take.rows;
            body.insert(body.begin() + long(i), n);
            behind++;
        }
        i = behind - 1;
    }
}

}  // namespace

void add_to_accumulators(BlockProgram &program) {
    visit(program, program.body);
}

void begin_with_products(BlockProgram &program) {
    begin(program.body);
}

void load_rows_early(BlockProgram &program) {
    load_early(program, program.body);
}

}  // namespace halyard
