#include "lowering/cuda/tiles/block_program.h"

#include <algorithm>
#include <set>
#include <utility>

#include "lowering/accesses.h"
#include "lowering/cuda/tensor_cores/coordinates.h"
#include "lowering/cuda/tensor_cores/nest_reader.h"
#include "lowering/cuda/tensor_cores/tile_parts.h"
#include "lowering/cuda/tensor_cores/tile_program.h"
#include "lowering/cuda/tiles/kernel_shape.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class Former {
public:
    Former(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides)
        : kernel_(kernel), products_(products), strides_(strides),
          nests_(
              program.held, [this](const Expr &e) { return inlined(e); }, [this](const std::string &message) { fail(message); }) {
        for (auto it = host.cbegin(); it != host.cend(); ++it) {
            lets_.push(it.name(), it.value());
            program.lets.push(it.name(), it.value());
        }
        staged_ = shape_of(kernel, products).staged;
        walk(kernel.body, program.body);
        for (const auto &p : products) {
            const auto all = program.products();
            if (std::none_of(all.begin(), all.end(), [&](const TileNode *n) { return n->asked == &p; })) {
                p.fail("is no product of tiles: split its loops so that a tile of rows, columns and depth is innermost");
            }
        }
        for (const auto &name : staged_) {
            program.held.erase(name);
        }
    }

    BlockProgram program;

private:
    [[noreturn]] void fail(const std::string &message) const {
        products_.front().fail(message);
        throw CompileError(message);
    }

    void walk(const Stmt &s, TileBody &into) {
        if (define_staged(s)) {
            return;
        }
        if (const auto *let = s.as<LetStmt>()) {
            if (note_block_name(let, program.block_names)) {
                walk(let->body, into);
                return;
            }
            local_.emplace_back(let->name, let->value);
            ScopedBinding<Expr> bind(lets_, let->name, let->value);
            walk(let->body, into);
            local_.pop_back();
        } else if (const auto *block = s.as<Block>()) {
            walk(block->first, into);
            walk(block->rest, into);
        } else if (const auto *pc = s.as<ProducerConsumer>()) {
            walk(pc->body, into);
        } else if (const auto *allocate = s.as<Allocate>()) {
            nests_.hold(allocate);
            walk(allocate->body, into);
        } else if (s.as<Free>() || s.as<Evaluate>()) {
            return;
        } else if (const auto *promise = s.as<AssertStmt>()) {
            TileNode n;
            n.kind = TileNode::kPromise;
            n.condition = inlined(promise->condition);
            if (!is_const_one(n.condition)) {
                into.push_back(n);
            }
        } else if (const auto *branch = s.as<IfThenElse>(); branch && !branch->else_case.defined()) {
            TileNode n;
            n.kind = TileNode::kIf;
            n.condition = by_one_thread(inlined(branch->condition));
            if (is_const_one(n.condition)) {
                walk(branch->then_case, into);
                return;
            }
            n.body = std::make_shared<TileBody>();
            walk(branch->then_case, *n.body);
            into.push_back(n);
        } else if (const auto *loop = s.as<For>()) {
            visit_loop(loop, into);
        } else {
            fail("stands in one kernel with something else than loops over its tile");
        }
    }

    // Where a stage is computed by threads, the tiles are left to the first of them, which here are all.
    static Expr by_one_thread(const Expr &condition) {
        std::map<std::string, Expr> first;
        for (const char *name : kThreadNames) {
            first[name] = 0;
        }
        return simplify(substitute(first, condition));
    }

    void visit_loop(const For *loop, TileBody &into) {
        const auto in_it = [&](const TensorCores &p) { return has_product(Stmt(loop), p); };
        const auto asked = std::find_if(products_.begin(), products_.end(), in_it);
        if (asked == products_.end()) {
            TileNode n;
            n.nest = nests_.read(loop, false);
            into.push_back(n);
        } else if (is_tile_of_product(loop)) {
            add_product(product(*asked, loop), into);
        } else {
            TileNode n;
            n.kind = TileNode::kLoop;
            n.loop = loop->name;
            n.min = inlined(loop->min);
            n.extent = inlined(loop->extent);
            n.body = std::make_shared<TileBody>();
            steps_.push_back(n);
            walk(loop->body, *n.body);
            steps_.pop_back();
            into.push_back(n);
        }
    }

    Expr inlined(Expr e) const {
        for (auto it = local_.rbegin(); it != local_.rend(); ++it) {
            e = substitute(it->first, it->second, e);
        }
        return simplify(substitute_in_all_lets(e));
    }

    // ---- Products ----

    static void add_product(TileNode n, TileBody &into) {
        const Expr condition = n.product.condition;
        if (!condition.defined() || is_const_one(condition)) {
            into.push_back(n);
            return;
        }
        n.product.condition = Expr();
        TileNode branch;
        branch.kind = TileNode::kIf;
        branch.condition = condition;
        branch.body = std::make_shared<TileBody>(TileBody{n});
        into.push_back(branch);
    }

    TileNode product(const TensorCores &asked, const For *loop) {
        const Stmt nest = loop;
        IndexVariables variables = {loops_of(nest), extents_of_launch(kernel_, program.block_names, strides_)};
        variables.tile.insert(variables.tile.end(), {kOperandDepth, kOperandOther});
        std::vector<std::string> steps;
        for (const TileNode &l : steps_) {
            steps.push_back(l.loop);
            if (is_const_zero(simplify(l.min))) {
                variables.extents[l.loop] = strides_.expanded(l.extent);
            }
        }
        const CoordinatesOf coordinates_of = [&](const Expr &index, const std::string &buffer) {
            return nests_.holds(buffer) ? held_coordinates(index) : tensor_coordinates(index, buffer, strides_, variables);
        };
        TileNode n;
        n.kind = TileNode::kProduct;
        n.asked = &asked;
        n.product = read_product(nest, lets_, coordinates_of, asked.fail, [&](const Load *load) { return definition_of(load); });
        TileOfProduct &t = n.product;
        if (t.row_loops.size() != 1 || t.row_strides[0] != t.columns) {
            asked.fail("has rows of several loops, or gaps between them");
        }
        if (program.rows != 0 && program.rows != t.rows) {
            asked.fail("has tiles of " + std::to_string(t.rows) + " rows, and stands in one kernel with a product of " +
                       std::to_string(program.rows));
        }
        program.rows = t.rows;
        nests_.set_rows(t.rows);
        bool ends = !t.left.defined();
        for (Operand *o : {&t.a, &t.b}) {
            if (o->value.defined()) {
                ends = true;
                for (auto &s : o->sources) {
                    settle(s);
                }
                o->value = inlined(o->value);
            } else if (nests_.holds(o->buffer)) {
                nests_.know(o->buffer, t.depth);
            } else {
                ends = find_end(*o, steps, program.block_names, program.lets) || ends;
                settle(*o);
            }
        }
        t.left = t.left.defined() ? inlined(t.left) : t.left;
        t.condition = t.condition.defined() ? by_one_thread(inlined(t.condition)) : t.condition;
        if (!ends) {
            asked.fail("reads both operands to another end in each block or step; sum over a range that is the same for all");
        }
        nests_.know(t.accumulator, t.columns);
        return n;
    }

    void settle(Operand &o) const {
        for (auto &c : o.origin) {
            c = collapse(simplify(substitute_in_all_lets(c)), program.lets);
        }
        if (o.line.defined()) {
            o.line = collapse(simplify(substitute_in_all_lets(o.line)), program.lets);
        }
        if (o.counts.defined()) {
            o.counts = simplify(substitute_in_all_lets(o.counts));
        }
    }

    // ---- Operands that a stage of their own computes ----

    struct Definition {
        std::vector<std::string> loops;
        Expr index, value;
    };

    bool define_staged(const Stmt &s) {
        const std::set<std::string> stored = accesses_of(s).stored;
        if (stored.empty() || !std::all_of(stored.begin(), stored.end(), [&](const std::string &n) { return staged_.count(n) > 0; })) {
            return false;
        }
        if (const auto *block = s.as<Block>()) {
            define_staged(block->first);
            define_staged(block->rest);
        } else {
            define(s, {}, {});
        }
        return true;
    }

    void define(const Stmt &s, std::vector<std::string> loops, std::vector<std::pair<std::string, Expr>> inner) {
        if (const auto *let = s.as<LetStmt>()) {
            inner.emplace_back(let->name, let->value);
            define(let->body, loops, inner);
        } else if (const auto *pc = s.as<ProducerConsumer>()) {
            define(pc->body, loops, inner);
        } else if (const auto *branch = s.as<IfThenElse>()) {  // a tail, which no element of the tile is in
            define(branch->then_case, loops, inner);
        } else if (const auto *loop = s.as<For>()) {
            loops.push_back(loop->name);
            define(loop->body, loops, inner);
        } else if (const auto *store = s.as<Store>(); store && store->value.type().is_scalar() && !definitions_.count(store->name)) {
            const auto full = [&](Expr e) {
                for (auto it = inner.rbegin(); it != inner.rend(); ++it) {
                    e = substitute(it->first, it->second, e);
                }
                return inlined(e);
            };
            definitions_[store->name] = {loops, full(store->index), full(store->value)};
        } else {
            fail("multiplies " + *accesses_of(s).stored.begin() +
                 ", whose stage has more than one store of one value in its loops; compute it with its definition alone, and no vectors");
        }
    }

    // The element at an index of what the loops of a definition store: each loop has its digit of the index.
    Expr definition_of(const Load *load) const {
        const auto found = definitions_.find(load->name);
        if (found == definitions_.end()) {
            return Expr();
        }
        const Definition &d = found->second;
        Linear at = linear(d.index);
        std::sort(at.terms.begin(), at.terms.end(), [](const Linear::Term &x, const Linear::Term &y) { return x.factor < y.factor; });
        const Expr place = inlined(load->index) - int(at.constant);
        std::map<std::string, Expr> digits;
        for (size_t i = 0; i < at.terms.size(); i++) {
            const auto *v = at.terms[i].atom.as<Variable>();
            const int64_t factor = at.terms[i].factor, next = i + 1 < at.terms.size() ? at.terms[i + 1].factor : 0;
            if (!v || factor <= 0 || (next != 0 && next % factor != 0)) {
                fail("multiplies " + load->name + ", which is not stored in the order of its loops");
            }
            const Expr digit = place / int(factor);
            digits[v->name] = next != 0 ? digit % int(next / factor) : digit;
        }
        for (const auto &l : d.loops) {
            if (!digits.count(l) && expr_uses_var(d.value, l)) {
                digits[l] = 0;  // of one turn
            }
        }
        return substitute(digits, d.value);
    }

    const Kernel &kernel_;
    const std::vector<TensorCores> &products_;
    const Strides &strides_;
    Lets lets_;
    std::vector<std::pair<std::string, Expr>> local_;
    NestReader nests_;
    std::set<std::string> staged_;
    std::map<std::string, Definition> definitions_;
    std::vector<TileNode> steps_;  // the loops around
};

void add_nodes(const TileBody &body, std::vector<const TileNode *> &all) {
    for (const auto &n : body) {
        all.push_back(&n);
        if (n.body) {
            add_nodes(*n.body, all);
        }
    }
}

}  // namespace

std::vector<const TileNode *> BlockProgram::nodes() const {
    std::vector<const TileNode *> all;
    add_nodes(body, all);
    return all;
}

std::vector<const TileNode *> BlockProgram::products() const {
    std::vector<const TileNode *> all = nodes();
    all.erase(std::remove_if(all.begin(), all.end(), [](const TileNode *n) { return n->kind != TileNode::kProduct; }), all.end());
    return all;
}

std::vector<NumberOfTile> BlockProgram::all_numbers() const {
    std::vector<NumberOfTile> all = numbers;
    for (const TileNode *n : nodes()) {
        all.insert(all.end(), n->numbers.begin(), n->numbers.end());
    }
    return all;
}

BlockProgram form_block_program(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides) {
    return std::move(Former(kernel, products, host, strides).program);
}

}  // namespace halyard
