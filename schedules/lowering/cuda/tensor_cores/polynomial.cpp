#include "lowering/cuda/tensor_cores/polynomial.h"

#include <algorithm>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool comes_before(const Expr &a, const Expr &b) {
    return graph_less_than(a, b);
}

// Of more atoms first; nothing but that the order is one.
int compare(const std::vector<Expr> &a, const std::vector<Expr> &b) {
    if (a.size() != b.size()) {
        return a.size() > b.size() ? -1 : 1;
    }
    for (size_t i = 0; i < a.size(); i++) {
        if (!equal(a[i], b[i])) {
            return comes_before(a[i], b[i]) ? -1 : 1;
        }
    }
    return 0;
}

// The product without what divides it; nothing where that does not.
std::optional<Polynomial::Term> quotient(const Polynomial::Term &t, const Polynomial::Term &by) {
    if (t.factor % by.factor != 0) {
        return std::nullopt;
    }
    Polynomial::Term q{t.factor / by.factor, {}};
    size_t found = 0;
    for (const auto &atom : t.atoms) {
        if (found < by.atoms.size() && equal(atom, by.atoms[found])) {
            found++;
        } else {
            q.atoms.push_back(atom);
        }
    }
    return found == by.atoms.size() ? std::make_optional(q) : std::nullopt;
}

}  // namespace

Polynomial::Polynomial(const Expr &e) {
    if (const auto c = as_const_int(e)) {
        add({*c, {}});
    } else if (const auto *sum = e.as<Add>()) {
        add(Polynomial(sum->a));
        add(Polynomial(sum->b));
    } else if (const auto *difference = e.as<Sub>()) {
        add(Polynomial(difference->a));
        add(Polynomial(difference->b), -1);
    } else if (const auto *product = e.as<Mul>()) {
        *this = Polynomial(product->a).times(Polynomial(product->b));
    } else {
        const Expr atom = simplify(e);
        if (atom.as<Add>() || atom.as<Sub>() || atom.as<Mul>() || is_const(atom)) {
            *this = Polynomial(atom);
        } else {
            add({1, {atom}});
        }
    }
}

void Polynomial::add(Term t) {
    if (t.factor == 0) {
        return;
    }
    const auto at = std::find_if(terms_.begin(), terms_.end(), [&](const Term &o) { return compare(t.atoms, o.atoms) <= 0; });
    if (at == terms_.end() || compare(t.atoms, at->atoms) < 0) {
        terms_.insert(at, std::move(t));
        return;
    }
    at->factor += t.factor;
    if (at->factor == 0) {
        terms_.erase(at);
    }
}

void Polynomial::add(const Polynomial &other, int64_t factor) {
    for (const auto &t : other.terms_) {
        add({t.factor * factor, t.atoms});
    }
}

Polynomial Polynomial::times(const Polynomial &other) const {
    Polynomial all;
    for (const auto &p : terms_) {
        for (const auto &q : other.terms_) {
            Term t{p.factor * q.factor, p.atoms};
            t.atoms.insert(t.atoms.end(), q.atoms.begin(), q.atoms.end());
            std::sort(t.atoms.begin(), t.atoms.end(), comes_before);
            all.add(std::move(t));
        }
    }
    return all;
}

Polynomial Polynomial::divide(const Polynomial &by) {
    Polynomial all;
    for (bool found = true; found;) {
        found = false;
        for (const auto &t : terms_) {
            if (const auto q = quotient(t, by.terms_.front())) {
                Polynomial one;
                one.add(*q);
                all.add(one);
                add(one.times(by), -1);
                found = true;
                break;
            }
        }
    }
    return all;
}

Polynomial Polynomial::take_out(const std::vector<std::string> &variables) {
    Polynomial out;
    for (const auto &t : std::vector<Term>(terms_)) {
        const bool uses = std::any_of(t.atoms.begin(), t.atoms.end(), [&](const Expr &atom) {
            return std::any_of(variables.begin(), variables.end(), [&](const std::string &v) { return expr_uses_var(atom, v); });
        });
        if (uses) {
            out.add(t);
        }
    }
    add(out, -1);
    return out;
}

bool Polynomial::is_one() const {
    return terms_.size() == 1 && terms_[0].factor == 1 && terms_[0].atoms.empty();
}

Expr Polynomial::expr() const {
    Expr sum = 0;
    for (const auto &t : terms_) {
        Expr product = make_const(Int(32), t.factor);
        for (const auto &atom : t.atoms) {
            product *= atom;
        }
        sum += product;
    }
    return simplify(sum);
}

bool is_smaller(const Polynomial &a, const Polynomial &b) {
    const Polynomial::Term &x = a.terms().front(), &y = b.terms().front();
    return x.atoms.size() != y.atoms.size() ? x.atoms.size() < y.atoms.size() : x.factor < y.factor;
}

}  // namespace halyard
