#include "lowering/cuda/tensor_cores/tile_program.h"

#include <algorithm>
#include <sstream>

#include "lowering/cuda/tensor_cores/polynomial.h"
#include "lowering/cuda/tensor_cores/tensor_argument.h"
#include "lowering/cuda/tensor_cores/tile_order.h"
#include "lowering/multiprocessor.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

int rank_of_operand(const ProductPart &product, const std::string &buffer) {
    FreeVariables free;
    product.nest.accept(&free);
    for (auto it = product.lets->cbegin(); it != product.lets->cend(); ++it) {
        it.value().accept(&free);
    }
    std::set<std::string> names;
    for (const auto &v : free.types) {
        names.insert(v.first);
    }
    return rank_of(names, buffer);
}

// Steps begin inside of the buffer, so that a coordinate is as far from what it is a remainder of at every step as at the first.
Expr without_remainders(const Expr &e, const std::string &step) {
    class Drop : public IRMutator {
        using IRMutator::visit;
        Expr visit(const Mod *op) override {
            const Expr a = mutate(op->a);
            return a - substitute(step, 0, a) / op->b * op->b;
        }

    public:
        explicit Drop(const std::string &step) : step(step) {}
        const std::string &step;
    };
    return simplify(Drop(step).mutate(e));
}

// The loops over steps of several products become one.
TileOfProduct with_step(TileOfProduct t, const std::string &step, const std::string &common) {
    for (Operand *o : {&t.a, &t.b}) {
        for (auto &e : o->origin) {
            e = substitute(step, Variable::make(Int(32), common), e);
        }
        o->end = o->end.defined() ? substitute(step, Variable::make(Int(32), common), o->end) : o->end;
    }
    return t;
}

void check_types(const TileOfProduct &t, const TensorCores &product) {
    const TensorNumber a = t.a.number(), b = t.b.number();
    const bool halves = a == b && a.is_half(), tf32 = a == b && a.format == TensorNumber::kTF32;
    if (!halves && !tf32 && !(a.is_byte() && b.is_byte()) && !(a.is_float8() && b.is_float8())) {
        product.fail("there are tensor cores for float16 by float16, bfloat16 by bfloat16, float32 that is cut to TF32 (as by tf32=true of "
                     "gemm), 8-bit integers by 8-bit integers, and numbers of float8_e4m3 or float8_e5m2 by each other, not for " +
                     a.name() + " by " + b.name());
    }
    if (t.sum != a.sum()) {
        std::ostringstream s;
        s << "sums products of " << a.name() << " as " << t.sum << "; the tensor cores sum them as " << a.sum();
        product.fail(s.str());
    }
    if (!halves && t.b.depth_dimension != 0) {
        product.fail("reads " + t.b.buffer + " by columns; the tensor cores take operands of " + (tf32 ? "TF32" : "8 bits") +
                     " whose neighbours run along k, as in weights = \"nk\"");
    }
}

void check_tile(const TileOfProduct &t, const TileOfProduct &first, const TensorCores &product) {
    const bool same = t.row_loops == first.row_loops && t.row_strides == first.row_strides && t.columns == first.columns &&
                      t.a.buffer == first.a.buffer && t.a.step == first.a.step && t.a.number() == first.a.number() &&
                      t.b.number() == first.b.number() &&
                      std::equal(t.a.origin.begin(), t.a.origin.end(), first.a.origin.begin(), first.a.origin.end(),
                                 [](const Expr &x, const Expr &y) { return equal(x, y); });
    if (!same) {
        product.fail("stands in one kernel with a product of other tiles, of another matrix a, or of another type");
    }
    check_types(t, product);
    const bool skinny = t.rows <= kSkinnyRows;
    if (t.b.depth_dimension != 0 && t.columns % 64 != 0 && !(skinny && t.columns == 32)) {
        product.fail("has tiles of " + std::to_string(t.columns) + " columns, which are neighbours in memory; take " +
                     (skinny ? "32 or " : "") + "a multiple of 64");
    }
    if (t.a.depth_dimension != 0) {
        product.fail("reads a by columns; its rows have to be neighbours along k");
    }
    for (const auto &o : {t.a, t.b}) {
        if (o.counts.defined()) {
            product.fail("reads " + o.buffer + " under a condition; compute it elsewhere first");
        }
        if (o.rank() < 2 || o.rank() > kMaxRank) {
            product.fail("reads " + o.buffer + ", which has " + std::to_string(o.rank()) + " dimensions; take 2 to " +
                         std::to_string(kMaxRank));
        }
    }
}

// A buffer has one end for all that read it.
void check_ends(const TileProgram &p, const TensorCores &product) {
    const auto all = p.operands();
    for (const auto &o : all) {
        for (const auto &other : all) {
            const bool same = o.depth_dimension == other.depth_dimension && o.end.defined() == other.end.defined() &&
                              (!o.end.defined() || equal(o.end, other.end));
            if (o.buffer == other.buffer && !same) {
                product.fail("reads " + o.buffer + " as two operands of which the sums end at different places; compute one of them first");
            }
        }
    }
}

}  // namespace

Expr Strides::expanded(const Expr &e) const {
    return simplify(substitute_in_all_lets(lets ? expand(e, *lets) : e));
}

std::optional<std::vector<Expr>> tensor_coordinates(const Expr &index, const std::string &buffer, const Strides &strides,
                                                    const IndexVariables &variables) {
    const auto own = strides.known.find(buffer);
    if (own != strides.known.end()) {
        std::vector<Expr> expanded;
        for (const auto &stride : own->second) {
            expanded.push_back(strides.expanded(stride));
        }
        return coordinates(strides.expanded(index), buffer, expanded, variables);
    }
    FreeVariables free;
    index.accept(&free);
    std::set<std::string> names;
    for (const auto &v : free.types) {
        names.insert(v.first);
    }
    return coordinates(index, buffer, rank_of(names, buffer));
}

std::map<std::string, Expr> extents_of_launch(const Kernel &kernel, const std::array<std::string, 3> &block_names, const Strides &strides) {
    std::map<std::string, Expr> extents;
    for (size_t d = 0; d < block_names.size(); d++) {
        if (!block_names[d].empty()) {
            extents[block_names[d]] = strides.expanded(kernel.blocks[d]);
        }
    }
    return extents;
}

std::vector<std::string> loops_of(const Stmt &nest) {
    class FindLoops : public IRVisitor {
        using IRVisitor::visit;
        void visit(const For *op) override {
            names.push_back(op->name);
            IRVisitor::visit(op);
        }

    public:
        std::vector<std::string> names;
    } find;
    nest.accept(&find);
    return find.names;
}

Expr extent_of(const Operand &o, int dimension) {
    return dimension == o.depth_dimension && o.end.defined() ? Expr(Variable::make(Int(32), o.buffer + ".end"))
                                                             : field(o.buffer, "extent", dimension);
}

Expr field(const std::string &buffer, const char *what, int dimension) {
    return Variable::make(Int(32), buffer + "." + what + "." + std::to_string(dimension));
}

bool find_end(Operand &o, const std::vector<std::string> &steps, const std::array<std::string, 3> &block_names, const Lets &host) {
    if (!o.end.defined()) {
        return true;
    }
    const auto moves = [&](const std::string &name) { return !name.empty() && expr_uses_var(o.end, name); };
    const auto moves_in_grid = [&] {
        return std::any_of(steps.begin(), steps.end(), moves) || std::any_of(block_names.begin(), block_names.end(), moves);
    };
    for (const auto &step : steps) {
        if (moves_in_grid()) {
            o.end = Polynomial(without_remainders(o.end, step)).expr();
        }
    }
    if (moves_in_grid()) {
        o.end = Expr();
        return false;
    }
    if (equal(o.end, field(o.buffer, "extent", o.depth_dimension))) {
        o.end = Expr();
        return true;
    }
    o.end = min(collapse(o.end, host), field_on_host(o.buffer, Call::buffer_get_extent, o.depth_dimension));
    return true;
}

std::vector<Operand> TileProgram::operands() const {
    std::vector<Operand> all = {tile().a};
    for (const auto &t : tiles) {
        all.push_back(t.b);
    }
    return all;
}

AlignmentFacts TileProgram::facts() const {
    AlignmentFacts known;
    for (const auto &a : base.arguments) {
        if (!a.is_buffer) {
            known.arguments.insert(a.name);
        }
    }
    known.multiples[kCol] = 2;
    known.not_in_memory = accumulators;
    return known;
}

TileProgram read_tile_program(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides) {
    TileProgram p;
    p.base = kernel;
    p.asked = products.front();
    p.strides = strides;
    for (auto it = host.cbegin(); it != host.cend(); ++it) {
        p.host->push(it.name(), it.value());
    }
    p.parts = split_into_parts(kernel, products, host);
    const ProductPart &first = p.first();
    for (const auto &part : p.parts.products) {
        IndexVariables variables = {loops_of(part.nest), extents_of_launch(kernel, p.parts.block_names, strides)};
        if (is_const_zero(simplify(part.min))) {
            variables.extents[part.step] = strides.expanded(part.extent);
        }
        const auto coordinates_of = [&](const Expr &index, const std::string &buffer) {
            return strides.known.count(buffer) ? tensor_coordinates(index, buffer, strides, variables)
                                               : coordinates(index, buffer, rank_of_operand(part, buffer));
        };
        p.tiles.push_back(with_step(read_product(part.nest, *part.lets, coordinates_of, part.asked->fail), part.step, first.step));
        bool ends = false;
        for (Operand *o : {&p.tiles.back().a, &p.tiles.back().b}) {
            ends = find_end(*o, {first.step}, p.parts.block_names, host) || ends;
            for (auto &c : o->origin) {
                c = collapse(c, host);
            }
        }
        if (!ends) {
            part.asked->fail("reads both operands to another end in each block or step; sum over a range that is the same for all");
        }
        p.accumulators.insert(p.tiles.back().accumulator);
        check_tile(p.tiles.back(), p.tile(), *part.asked);
        check_ends(p, *part.asked);
        if (!equal(simplify(part.min), simplify(first.min)) || !equal(simplify(part.extent), simplify(first.extent))) {
            part.asked->fail("has another number of steps than the product before it in the same kernel");
        }
    }
    std::set<std::string> numbers;
    for (const auto &[name, type] : p.parts.allocated) {
        if (!p.accumulators.count(name)) {
            p.numbers[name] = type;
            numbers.insert(name);
        }
    }
    for (const auto &s : p.parts.nests) {
        if (is_of_rows(s, numbers)) {
            for (const auto &n : read_rows(s, p.tiles, numbers, p.asked.fail)) {
                p.rows.push_back(n);
                for (const auto &a : n.assignments) {
                    if (!a.index.defined()) {
                        p.numbers[a.stored] = a.value.type();
                    }
                }
            }
            continue;
        }
        const Pair pair = read_pair(s, p.tiles, p.asked.fail);
        (p.accumulators.count(pair.stored) ? p.before : p.after).push_back(pair);
    }
    take_maxima_of_floats(p.rows, p.numbers);
    return p;
}

}  // namespace halyard
