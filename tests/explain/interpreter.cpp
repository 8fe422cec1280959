#include "interpreter.h"

#include <algorithm>
#include <set>
#include <stdexcept>

using namespace Halide;
using namespace Halide::Internal;

void LruCache::touch(int64_t line, bool write) {
    const auto it = entries_.find(line);
    if (it != entries_.end()) {
        order_.splice(order_.begin(), order_, it->second.at);
        it->second.dirty = it->second.dirty || write;
        return;
    }
    read += 64;
    if (entries_.size() == lines_) {
        const auto out = entries_.find(order_.back());
        written += out->second.dirty ? 64 : 0;
        entries_.erase(out);
        order_.pop_back();
    }
    order_.push_front(line);
    entries_[line] = {order_.begin(), write};
}

void LruCache::flush() {
    for (const auto &e : entries_) {
        written += e.second.dirty ? 64 : 0;
    }
    entries_.clear();
    order_.clear();
}

namespace {

class Interpreter : public IRVisitor {
public:
    Interpreter(const std::map<std::string, std::vector<int64_t>> &buffers, int64_t cache_bytes, int64_t small)
        : cache_(cache_bytes), small_(small) {
        for (const auto &b : buffers) {
            int64_t stride = 1;
            for (size_t d = 0; d < b.second.size(); d++) {
                const std::string dim = std::to_string(d);
                values_[b.first + ".min." + dim] = {0};
                values_[b.first + ".extent." + dim] = {b.second[d]};
                values_[b.first + ".stride." + dim] = {stride};
                given_.insert({b.first + ".min." + dim, b.first + ".extent." + dim, b.first + ".stride." + dim});
                stride *= b.second[d];
            }
        }
    }

    Counted run(const Stmt &s) {
        s.accept(this);
        cache_.flush();
        counted_.read = cache_.read;
        counted_.written = cache_.written;
        for (const auto &l : lines_) {
            counted_.lines[l.first] = int64_t(l.second.size());
        }
        return counted_;
    }

private:
    using Lanes = std::vector<int64_t>;

    // Integers only; whatever else there is has been visited for its loads and is 0.
    Lanes lanes(const Expr &e) {
        const size_t n = size_t(e.type().lanes());
        const auto two = [&](const Expr &a, const Expr &b, int64_t (*f)(int64_t, int64_t)) {
            const Lanes x = lanes(a), y = lanes(b);
            Lanes r(n);
            for (size_t i = 0; i < n; i++) {
                r[i] = f(x[i], y[i]);
            }
            return r;
        };
        if (const auto *i = e.as<IntImm>()) {
            return {i->value};
        } else if (const auto *u = e.as<UIntImm>()) {
            return {int64_t(u->value)};
        } else if (const auto *v = e.as<Variable>()) {
            const auto it = values_.find(v->name);
            return it == values_.end() ? Lanes(n, 0) : it->second;
        } else if (const auto *op = e.as<Add>()) {
            return two(op->a, op->b, [](int64_t a, int64_t b) { return a + b; });
        } else if (const auto *op = e.as<Sub>()) {
            return two(op->a, op->b, [](int64_t a, int64_t b) { return a - b; });
        } else if (const auto *op = e.as<Mul>()) {
            return two(op->a, op->b, [](int64_t a, int64_t b) { return a * b; });
        } else if (const auto *op = e.as<Div>()) {
            return two(op->a, op->b, [](int64_t a, int64_t b) { return b ? int64_t((a - ((a % b + b) % b)) / b) : 0; });
        } else if (const auto *op = e.as<Mod>()) {
            return two(op->a, op->b, [](int64_t a, int64_t b) { return b ? (a % b + b) % b : 0; });
        } else if (const auto *op = e.as<Min>()) {
            return two(op->a, op->b, [](int64_t a, int64_t b) { return std::min(a, b); });
        } else if (const auto *op = e.as<Max>()) {
            return two(op->a, op->b, [](int64_t a, int64_t b) { return std::max(a, b); });
        } else if (const auto *op = e.as<LT>()) {
            return two(op->a, op->b, [](int64_t a, int64_t b) { return int64_t(a < b); });
        } else if (const auto *op = e.as<LE>()) {
            return two(op->a, op->b, [](int64_t a, int64_t b) { return int64_t(a <= b); });
        } else if (const auto *op = e.as<EQ>()) {
            return two(op->a, op->b, [](int64_t a, int64_t b) { return int64_t(a == b); });
        } else if (const auto *op = e.as<NE>()) {
            return two(op->a, op->b, [](int64_t a, int64_t b) { return int64_t(a != b); });
        } else if (const auto *op = e.as<And>()) {
            return two(op->a, op->b, [](int64_t a, int64_t b) { return int64_t(a && b); });
        } else if (const auto *op = e.as<Or>()) {
            return two(op->a, op->b, [](int64_t a, int64_t b) { return int64_t(a || b); });
        } else if (const auto *op = e.as<Not>()) {
            Lanes r = lanes(op->a);
            for (auto &x : r) {
                x = !x;
            }
            return r;
        } else if (const auto *op = e.as<Select>()) {
            const Lanes c = lanes(op->condition), a = lanes(op->true_value), b = lanes(op->false_value);
            Lanes r(n);
            for (size_t i = 0; i < n; i++) {
                r[i] = c[c.size() == 1 ? 0 : i] ? a[i] : b[i];
            }
            return r;
        } else if (const auto *op = e.as<Cast>()) {
            return op->value.type().is_float() ? Lanes(n, 0) : lanes(op->value);
        } else if (const auto *op = e.as<Broadcast>()) {
            const Lanes v = lanes(op->value);
            Lanes r;
            for (int i = 0; i < op->lanes; i++) {
                r.insert(r.end(), v.begin(), v.end());
            }
            return r;
        } else if (const auto *op = e.as<Ramp>()) {
            const Lanes base = lanes(op->base), stride = lanes(op->stride);
            Lanes r;
            for (int i = 0; i < op->lanes; i++) {
                for (size_t k = 0; k < base.size(); k++) {
                    r.push_back(base[k] + i * stride[k]);
                }
            }
            return r;
        } else if (const auto *op = e.as<Let>()) {
            const Lanes before = values_[op->name];
            values_[op->name] = lanes(op->value);
            Lanes r = lanes(op->body);
            values_[op->name] = before;
            return r;
        } else if (const auto *op = e.as<Call>()) {
            if (op->is_intrinsic(Call::shift_right)) {
                return two(op->args[0], op->args[1], [](int64_t a, int64_t b) { return a >> b; });
            } else if (op->is_intrinsic(Call::shift_left)) {
                return two(op->args[0], op->args[1], [](int64_t a, int64_t b) { return a << b; });
            } else if (op->is_intrinsic(Call::bitwise_and)) {
                return two(op->args[0], op->args[1], [](int64_t a, int64_t b) { return a & b; });
            } else if (op->is_intrinsic(Call::likely) || op->is_intrinsic(Call::likely_if_innermost) ||
                       op->is_intrinsic(Call::promise_clamped)) {
                return lanes(op->args[0]);
            }
        }
        return Lanes(n, 0);
    }

    int64_t one(const Expr &e) {
        return lanes(e).at(0);
    }

    void touch(const std::string &name, const Type &type, const Expr &index, bool write) {
        (write ? counted_.stored : counted_.loaded) += type.lanes();
        if (registers_.count(name)) {
            return;
        }
        // Every array on lines of its own; an allocation comes back to where it was.
        const auto base = bases_.emplace(name, int64_t(bases_.size()) << 40).first->second;
        std::set<int64_t> touched;  // one access may need many lines, but each once
        for (const int64_t i : lanes(index)) {
            touched.insert((base + i * type.bytes()) / 64);
        }
        for (const int64_t l : touched) {
            cache_.touch(l, write);
            lines_[name].insert(l);
        }
    }

    void visit(const Load *op) override {
        IRVisitor::visit(op);
        touch(op->name, op->type.element_of().with_lanes(op->type.lanes()), op->index, false);
    }
    void visit(const Store *op) override {
        IRVisitor::visit(op);
        touch(op->name, op->value.type(), op->index, true);
    }
    void visit(const For *op) override {
        const int64_t min = one(op->min), extent = one(op->extent);
        for (int64_t i = min; i < min + extent; i++) {
            values_[op->name] = {i};
            op->body.accept(this);
        }
    }
    void visit(const IfThenElse *op) override {
        if (one(op->condition)) {
            op->then_case.accept(this);
        } else if (op->else_case.defined()) {
            op->else_case.accept(this);
        }
    }
    void visit(const LetStmt *op) override {
        op->value.accept(this);
        if (given_.count(op->name)) {
            op->body.accept(this);
            return;
        }
        const Lanes before = values_[op->name];
        values_[op->name] = lanes(op->value);
        op->body.accept(this);
        values_[op->name] = before;
    }
    void visit(const Let *op) override {
        op->value.accept(this);
        const Lanes before = values_[op->name];
        values_[op->name] = lanes(op->value);
        op->body.accept(this);
        values_[op->name] = before;
    }
    void visit(const AssertStmt *) override {}
    void visit(const Allocate *op) override {
        int64_t bytes = op->type.bytes();
        for (const Expr &e : op->extents) {
            bytes *= one(e);
        }
        if (bytes <= small_) {
            registers_.insert(op->name);
        }
        op->body.accept(this);
    }
    using IRVisitor::visit;

    LruCache cache_;
    const int64_t small_;
    Counted counted_;
    std::map<std::string, Lanes> values_;
    std::set<std::string> given_, registers_;
    std::map<std::string, int64_t> bases_;
    std::map<std::string, std::set<int64_t>> lines_;
};

}  // namespace

Counted interpret(const Stmt &s, const std::map<std::string, std::vector<int64_t>> &buffers, int64_t cache_bytes, int64_t small) {
    return Interpreter(buffers, cache_bytes, small).run(s);
}
