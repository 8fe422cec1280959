#include "lowering/cuda/tensor_cores/tile_order.h"

#include <cstring>

#include "generators/math/order.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kLowestKey = -0x7f800000;  // of -infinity

// The number of which an expression is the order_key; undefined where there is none.
Expr number_of(const Expr &e) {
    if (const auto c = as_const_int(e)) {
        const auto key = int32_t(*c);
        const uint32_t bits = key < 0 ? uint32_t(-int64_t(key)) | 0x80000000 : uint32_t(key);
        float f;
        std::memcpy(&f, &bits, sizeof f);
        return key >= kLowestKey && key <= -kLowestKey ? Expr(f) : Expr();
    }
    const auto *choice = e.as<Select>();
    if (!choice) {
        return Expr();
    }
    class FindFloats : public IRVisitor {
        using IRVisitor::visit;
        void visit(const Reinterpret *op) override {
            if (op->type == Int(32) && op->value.type() == Float(32)) {
                found = op->value;
            }
        }

    public:
        Expr found;
    } find;
    e.accept(&find);
    if (find.found.defined() && equal(simplify(order_key(find.found)), simplify(e))) {
        return find.found;
    }
    const Expr a = number_of(choice->true_value), b = number_of(choice->false_value);
    return a.defined() && b.defined() ? select(choice->condition, a, b) : Expr();
}

// What a number of a row is, where all values that it takes are keys.
struct Keys {
    bool all = true, reduced = false;
    Expr less;    // it begins with this, which is less than all keys, and is one of them after the reduction
    Expr counts;  // of the block: whether there is a reduction, if it begins so; undefined: in all
};

Keys keys_of(const std::vector<FusedNest> &nests, const std::string &number) {
    Keys k;
    int assignments = 0;
    for (const auto &n : nests) {
        for (const auto &a : n.assignments) {
            if (a.stored != number) {
                continue;
            }
            const bool reduction = n.kind == FusedNest::kReduction, first = assignments++ == 0;
            const auto c = as_const_int(a.value);
            if (first && !reduction && c && *c < kLowestKey) {
                k.less = a.value;
            } else if (!number_of(a.value).defined() || (reduction && n.reduction != FusedNest::kMax)) {
                k.all = false;
            }
            k.reduced = k.reduced || reduction;
            k.counts = reduction ? n.counts : k.counts;
        }
    }
    k.all = k.all && (!k.less.defined() || assignments == 2);
    return k;
}

class TakeKeys : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Load *op) override {
        if (op->name != number) {
            return IRMutator::visit(op);
        }
        const Expr key = order_key(Load::make(Float(32), op->name, op->index, Buffer<>(), Parameter(), const_true(), ModulusRemainder()));
        return keys.less.defined() && keys.counts.defined() ? select(keys.counts, key, keys.less) : key;
    }

    const std::string &number;
    const Keys &keys;

public:
    TakeKeys(const std::string &number, const Keys &keys) : number(number), keys(keys) {}
};

}  // namespace

void take_maxima_of_floats(std::vector<FusedNest> &nests, std::map<std::string, Type> &numbers) {
    for (auto &[number, type] : numbers) {
        const Keys keys = type == Int(32) ? keys_of(nests, number) : Keys();
        if (!keys.all || !keys.reduced) {
            continue;
        }
        type = Float(32);
        for (auto &n : nests) {
            for (auto &a : n.assignments) {
                if (a.stored == number) {
                    const Expr x = number_of(a.value);
                    a.value = x.defined() ? x : Float(32).min();
                    n.reduction = n.kind == FusedNest::kReduction ? FusedNest::kMaxOrNan : n.reduction;
                } else {
                    a.value = TakeKeys(number, keys).mutate(a.value);
                }
            }
        }
    }
}

}  // namespace halyard
