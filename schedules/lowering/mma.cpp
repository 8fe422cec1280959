#include "mma.h"

#include <optional>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

struct Loop {
    Stmt whole;
    std::string name;
    Expr min, extent;
};

// One access of the nest: a buffer, and an index that is affine in the loops.
struct Access {
    const Load *load = nullptr;
    Expr index;
};

const char *function_name(const Type &c, const Type &a, const Type &b) {
    if (c == Float(32) && a == BFloat(16) && b == BFloat(16)) {
        return "halyard_mma_bf16";
    }
    if (c == Int(32) && b == Int(8)) {
        return a == UInt(8) ? "halyard_mma_u8s8" : a == Int(8) ? "halyard_mma_s8s8" : nullptr;
    }
    return nullptr;
}

// The load under casts that widen it.
const Load *widened_load(const Expr &e) {
    if (const auto *cast = e.as<Cast>()) {
        return cast->value.as<Load>();
    }
    return e.as<Load>();
}

class Nest {
public:
    Nest(const Stmt &s, const std::function<void(const std::string &)> &fail)
        : fail_(fail) {
        descend(s);
        read_store();
        classify();
    }

    Stmt call() const {
        const char *name = function_name(store_->value.type(), a_.load->type, b_.load->type);
        const std::vector<Expr> args = {
            pointer(store_->name), at_start(c_index_), stride(c_index_, row_),
            pointer(a_.load->name), at_start(a_.index), stride(a_.index, row_),
            pointer(b_.load->name), at_start(b_.index), stride(b_.index, groups_),
            extent(row_), extent(col_), extent(groups_)};
        Stmt s = Evaluate::make(Call::make(Int(32), name, args, Call::Extern));
        for (size_t i = around_; i-- > 0;) {
            const auto *loop = loops_[i].whole.as<For>();
            s = For::make(loop->name, loops_[i].min, loops_[i].extent, loop->for_type, loop->partition_policy,
                          loop->device_api, s);
        }
        return s;
    }

private:
    [[noreturn]] void fail(const std::string &message) const {
        fail_(message);
        throw CompileError(message);
    }

    static std::string text(const Type &t) {
        std::ostringstream s;
        s << t;
        return s.str();
    }

    void descend(Stmt s) {
        for (;;) {
            if (const auto *let = s.as<LetStmt>()) {
                s = substitute(let->name, let->value, let->body);
            } else if (const auto *loop = s.as<For>()) {
                if (loop->for_type != ForType::Serial) {
                    fail("the loop " + loop->name + " is not serial; leave the loops of the product as they are");
                }
                loops_.push_back({s, loop->name, loop->min, loop->extent});
                s = loop->body;
            } else if (const auto *store = s.as<Store>()) {
                body_ = s;
                store_ = store;
                return;
            } else {
                fail(s.as<IfThenElse>()
                         ? "a condition stands in the loops of the product: split them so that no guard is needed"
                         : "the loops of the product hold more than the product: compute at them what it reads");
            }
        }
    }

    static Expr without_lets(const Expr &e) {
        return substitute_in_all_lets(e);
    }

    void read_store() {
        if (!store_->value.type().is_scalar()) {
            fail("the product is vectorized; leave its loops as they are, a tile instruction takes them whole");
        }
        c_index_ = without_lets(store_->index);
        value_ = without_lets(store_->value);
        const auto *add = value_.as<Add>();
        const Mul *mul = nullptr;
        if (add) {
            for (const auto &[sum, product] : {std::pair(add->a, add->b), std::pair(add->b, add->a)}) {
                const auto *load = sum.as<Load>();
                if (load && load->name == store_->name && is_const(simplify(load->index - c_index_), 0) &&
                    product.as<Mul>()) {
                    mul = product.as<Mul>();
                    break;
                }
            }
        }
        const Load *left = mul ? widened_load(mul->a) : nullptr, *right = mul ? widened_load(mul->b) : nullptr;
        if (!left || !right) {
            std::ostringstream s;
            s << value_;
            fail("the update is not of the form sum += cast(a) * cast(b) over stored a and b, but " + s.str());
        }
        a_ = {left, left->index};
        b_ = {right, right->index};
    }

    // How much an index grows by a step of a loop; undefined where that is not the same at every step.
    Expr step(const Expr &index, const Loop &loop) const {
        const Expr v = Variable::make(Int(32), loop.name);
        const Expr by = simplify(substitute(loop.name, v + 1, index) - index);
        for (const auto &l : loops_) {
            if (expr_uses_var(by, l.name)) {
                return Expr();
            }
        }
        return by;
    }

    bool steps(const Expr &index, const Loop &loop, int by) const {
        const Expr s = step(index, loop);
        return s.defined() && is_const(simplify(s), by);
    }

    bool moves(const Expr &index, const Loop &loop) const {
        return !steps(index, loop, 0);
    }

    void classify() {
        // `a` is what does not move with the loop that is neighbours in `acc`.
        for (const auto &l : loops_) {
            if (steps(c_index_, l, 1) && moves(a_.index, l)) {
                std::swap(a_, b_);
            }
        }
        const Type type = store_->value.type();
        if (!function_name(type, a_.load->type, b_.load->type)) {
            fail("there is no tile instruction that multiplies " + text(a_.load->type) + " by " +
                 text(b_.load->type) + " and adds up in " + text(type) +
                 "; there are bfloat16 in float32, and uint8 or int8 by int8 in int32");
        }
        // Loops that are none of the product stand around the call, each turn of which adds to the sums.
        const int group = 4 / a_.load->type.bytes();
        std::string other;
        while (!find_roles(group)) {
            other = other.empty() ? loops_[none_].name : other;
        }
        if (!member_ && !other.empty()) {
            fail("the loop " + other + " is none of a product of tiles: rows of a, neighbouring columns of "
                 "packed b, groups, and " + std::to_string(group) + " members of a group");
        }
        if (!member_) {
            fail("no loop runs over the " + std::to_string(group) + " members of a group: split the loop over k by " +
                 std::to_string(group) + ", and take packed weights");
        }
    }

    // What the loops inside of those around are. If one is nothing, or what a loop around it is already, there are more
    // around.
    bool find_roles(int group) {
        row_ = col_ = member_ = groups_ = std::nullopt;
        for (size_t i = around_; i < loops_.size(); i++) {
            const Loop &l = loops_[i];
            std::optional<size_t> *role = nullptr;
            const bool in_a = moves(a_.index, l), in_b = moves(b_.index, l), in_c = moves(c_index_, l);
            if (in_c && in_a && !in_b && step(c_index_, l).defined() && step(a_.index, l).defined()) {
                role = &row_;
            } else if (in_c && in_b && !in_a && steps(c_index_, l, 1) && steps(b_.index, l, group)) {
                role = &col_;
            } else if (!in_c && in_a && in_b && is_const(l.extent, group) && steps(a_.index, l, 1) &&
                       steps(b_.index, l, 1)) {
                role = &member_;
            } else if (!in_c && in_a && in_b && steps(a_.index, l, group) && step(b_.index, l).defined()) {
                role = &groups_;
            }
            if (!role || *role) {
                none_ = i;
                around_ = (role ? **role : i) + 1;
                return false;
            }
            *role = i;
        }
        return true;
    }

    Expr at_start(Expr index) const {
        for (size_t i = loops_.size(); i-- > around_;) {
            index = substitute(loops_[i].name, loops_[i].min, index);
        }
        return simplify(index);
    }

    static Expr pointer(const std::string &buffer) {
        return Variable::make(Handle(), buffer);
    }

    Expr stride(const Expr &index, const std::optional<size_t> &loop) const {
        return loop ? step(index, loops_[*loop]) : Expr(0);
    }

    Expr extent(const std::optional<size_t> &loop) const {
        return loop ? loops_[*loop].extent : Expr(1);
    }

    const std::function<void(const std::string &)> &fail_;
    Stmt body_;
    const Store *store_ = nullptr;
    std::vector<Loop> loops_;  // outermost first
    size_t around_ = 0;        // of them are around the call
    size_t none_ = 0;          // the last that was found to be no loop of the product inside of those
    Expr c_index_, value_;
    Access a_, b_;
    std::optional<size_t> row_, col_, groups_, member_;  // numbers of loops
};

class MultiplyInTiles : public IRMutator {
public:
    explicit MultiplyInTiles(std::vector<TileProduct> products)
        : products_(std::move(products)) {
    }

    using IRMutator::mutate;

    Stmt mutate(const Stmt &s) override {
        if (const auto *loop = s.as<For>()) {
            for (const auto &p : products_) {
                const std::string stage = p.func.name() + ".s" + std::to_string(p.stage) + ".";
                if (loop->name.compare(0, stage.size(), stage) == 0) {
                    return Nest(s, p.fail).call();
                }
            }
        }
        return IRMutator::mutate(s);
    }

private:
    std::vector<TileProduct> products_;
};

}  // namespace

std::unique_ptr<IRMutator> multiply_in_tiles(std::vector<TileProduct> products) {
    return std::make_unique<MultiplyInTiles>(std::move(products));
}

}  // namespace halyard
