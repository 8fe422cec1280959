#include "language/describe.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "language/traffic.h"
#include "language/unfused.h"
#include "lowering/contraction.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;
using nlohmann::json;

namespace {

// An index as a sum of loops. What is not one keeps the loops that it depends on.
struct Index {
    std::map<std::string, int64_t> loops;  // with their factors
    std::optional<int64_t> offset = 0;     // nothing where it is not known
    bool clamped = false;                  // by a minimum or a maximum
    bool exact = true;                     // it is that sum, but for the clamp, or that sum over div, or modulo mod
    int64_t div = 0, mod = 0;
    // Of what is no sum: how many values it has, where that is promised, and the loops of which it takes them. 0: not known.
    int64_t within = 0;
    std::set<std::string> vague;

    // Of what is exact no more than what the loops say.
    int64_t width() const {
        return exact && !div && !mod ? 1 : within;
    }

    void merge(const Index &o, int64_t factor) {
        bool known = width() > 0 && o.width() > 0;
        for (const auto &l : o.loops) {
            known = known && !(loops.count(l.first) && (vague.count(l.first) || o.vague.count(l.first)));
        }
        within = known ? width() + std::abs(factor) * (o.width() - 1) : 0;
        vague.insert(o.vague.begin(), o.vague.end());
        for (const auto &l : o.loops) {
            loops[l.first] += factor * l.second;
        }
        offset = offset && o.offset ? std::optional<int64_t>(*offset + factor * *o.offset) : std::nullopt;
        clamped = clamped || o.clamped;
        exact = exact && o.exact && !o.div && !o.mod;
    }
};

// The loops of a stage by the names of their variables.
using LoopNames = std::map<std::string, std::string>;

// What Halide has taken out of a definition because it occurs more than once.
using Lets = std::map<std::string, Expr>;

class Reader {
public:
    Reader(const LoopNames &names, const BufferSizes &sizes, const Lets &lets) : names_(names), sizes_(sizes), lets_(lets) {}

    Index operator()(const Expr &e) {
        if (const auto *v = e.as<Variable>(); v && names_.count(v->name)) {
            Index i;
            i.loops[names_.at(v->name)] = 1;
            return i;
        }
        if (const auto *v = e.as<Variable>(); v && lets_.count(v->name)) {
            return (*this)(lets_.at(v->name));
        }
        if (const auto *a = e.as<Add>()) {
            return sum((*this)(a->a), (*this)(a->b), 1);
        }
        if (const auto *s = e.as<Sub>()) {
            return sum((*this)(s->a), (*this)(s->b), -1);
        }
        if (const auto *m = e.as<Mul>()) {
            Index a = (*this)(m->a), b = (*this)(m->b);
            if (a.loops.empty()) {
                std::swap(a, b);
            }
            return b.loops.empty() && b.offset ? times(a, *b.offset) : vague({a, b});
        }
        if (const auto *d = e.as<Div>()) {
            const Index a = (*this)(d->a), b = (*this)(d->b);
            return a.loops.empty() && b.loops.empty() ? unknown(e) : part(a, b, &Index::div);
        }
        if (const auto *m = e.as<Mod>()) {
            const Index a = (*this)(m->a), b = (*this)(m->b);
            return a.loops.empty() && b.loops.empty() ? unknown(e) : part(a, b, &Index::mod);
        }
        if (const auto *m = e.as<Min>()) {
            return clamp(e, (*this)(m->a), (*this)(m->b));
        }
        if (const auto *m = e.as<Max>()) {
            return clamp(e, (*this)(m->a), (*this)(m->b));
        }
        if (const auto *c = e.as<Cast>(); c && c->type.is_int_or_uint() && c->value.type().is_int_or_uint()) {
            return (*this)(c->value);
        }
        if (const auto *c = e.as<Call>()) {
            if (c->is_intrinsic(Call::likely) || c->is_intrinsic(Call::likely_if_innermost)) {
                return (*this)(c->args[0]);
            }
            if (c->is_intrinsic(Call::unsafe_promise_clamped)) {
                return promised(unknown(e), (*this)(c->args[1]), (*this)(c->args[2]));
            }
        }
        return unknown(e);
    }

private:
    static Index sum(Index a, const Index &b, int64_t sign) {
        if (b.loops.empty() && !b.clamped && b.exact && b.div == 0 && b.mod == 0 && (a.div || a.mod)) {
            a.offset = std::nullopt;
            return a;
        }
        a.exact = a.exact && !a.div && !a.mod;
        a.merge(b, sign);
        return a;
    }

    static Index times(Index a, int64_t factor) {
        if (a.div || a.mod) {
            a.exact = factor == 1;
        }
        a.within = a.within > 0 ? 1 + std::abs(factor) * (a.within - 1) : 0;
        for (auto &l : a.loops) {
            l.second *= factor;
        }
        a.offset = a.offset ? std::optional<int64_t>(*a.offset * factor) : std::nullopt;
        return a;
    }

    static Index part(Index a, const Index &b, int64_t Index::*kind) {
        if (!b.loops.empty() || !b.offset || *b.offset < 1 || a.div || a.mod) {
            return vague({a, b});
        }
        if (*b.offset == 1 && kind == &Index::div) {
            return a;
        }
        a.*kind = *b.offset;
        return a;
    }

    Index clamp(const Expr &e, Index a, Index b) {
        if (a.loops.empty() && b.loops.empty()) {
            return unknown(e);  // a number: the larger or the smaller of two
        }
        if (a.loops.empty()) {
            std::swap(a, b);
        }
        if (!b.loops.empty()) {
            return vague({a, b});
        }
        a.clamped = true;
        return a;
    }

    // It takes any of the values in between.
    static Index promised(Index i, const Index &least, const Index &most) {
        if (!i.loops.empty() && least.loops.empty() && most.loops.empty() && least.offset && most.offset && *most.offset >= *least.offset) {
            i.within = *most.offset - *least.offset + 1;
            for (const auto &l : i.loops) {
                i.vague.insert(l.first);
            }
        }
        return i;
    }

    static Index vague(const std::vector<Index> &of) {
        Index all;
        for (const auto &i : of) {
            all.merge(i, 1);
        }
        all.exact = false;
        all.within = 0;
        all.offset = std::nullopt;
        return all;
    }

    Index unknown(const Expr &e) {
        class Find : public IRGraphVisitor {
        public:
            Find(const LoopNames &names, const Lets &lets) : names_(names), lets_(lets) {}
            Index found;

        private:
            void visit(const Variable *op) override {
                if (names_.count(op->name)) {
                    found.loops[names_.at(op->name)] = 1;
                } else if (const auto let = lets_.find(op->name); let != lets_.end() && seen_.insert(op->name).second) {
                    let->second.accept(this);
                }
            }
            using IRGraphVisitor::visit;
            const LoopNames &names_;
            const Lets &lets_;
            std::set<std::string> seen_;
        } find(names_, lets_);
        e.accept(&find);
        Index i = find.found;
        if (i.loops.empty()) {
            IndexValue value(sizes_);
            for (const auto &l : lets_) {
                value.push_let(l.first, l.second);
            }
            i.offset = value(e);
        } else {
            i.exact = false;
            i.offset = std::nullopt;
        }
        return i;
    }

    const LoopNames &names_;
    const BufferSizes &sizes_;
    const Lets &lets_;
};

json to_json(const Index &i) {
    json j = {{"loops", i.loops}, {"exact", i.exact}, {"clamped", i.clamped}, {"div", i.div}, {"mod", i.mod}};
    if (i.offset) {
        j["offset"] = *i.offset;
    }
    if (!i.exact && i.within > 0) {
        j["within"] = i.within;
        j["vague"] = i.vague;
    }
    return j;
}

// What one stage reads, itself left out.
class FindReads : public IRVisitor {
public:
    FindReads(const PipelineView &view, const Function &self, const LoopNames &names, const BufferSizes &sizes)
        : view_(view), self_(self), read_(names, sizes, lets_) {}
    std::vector<json> reads;

    /** Notes what an expression reads, and what it names. */
    void look_at(const Expr &e) {
        seen_.clear();
        e.accept(this);
    }

    /** The numbers of the reads in an expression, which may have been met before. */
    std::vector<size_t> numbers(const Expr &e) {
        met_.clear();
        look_at(e);
        std::sort(met_.begin(), met_.end());
        met_.erase(std::unique(met_.begin(), met_.end()), met_.end());
        return met_;
    }

private:
    void visit(const Let *op) override {
        lets_[op->name] = op->value;
        op->body.accept(this);
    }

    void visit(const Variable *op) override {
        const auto let = lets_.find(op->name);
        if (let != lets_.end() && seen_.insert(op->name).second) {
            let->second.accept(this);
        }
    }

    void visit(const Call *op) override {
        IRVisitor::visit(op);
        if (op->call_type != Call::Halide && op->call_type != Call::Image) {
            return;
        }
        if (op->name == self_.name()) {
            return;
        }
        json index = json::array();
        for (const auto &a : op->args) {
            index.push_back(to_json(read_(a)));
        }
        const std::string name = op->call_type == Call::Image ? plain_name(op->name) : view_.name_of(op->name);
        const json j = {{"func", name}, {"index", index}};
        size_t at = size_t(std::find(reads.begin(), reads.end(), j) - reads.begin());
        if (at == reads.size()) {
            reads.push_back(j);
        }
        met_.push_back(at);
    }
    using IRVisitor::visit;

    const PipelineView &view_;
    const Function &self_;
    Lets lets_;
    std::set<std::string> seen_;
    Reader read_;
    std::vector<size_t> met_;
};

// Arithmetic of a value, but for that of indices. What counts the work of a lowered pipeline takes scalar integers for
// indices, as they mostly are.
class CountArithmetic : public IRGraphVisitor {
public:
    double count = 0;

private:
    void visit(const Call *op) override {
        if (op->call_type != Call::Halide && op->call_type != Call::Image) {
            count++;
            IRGraphVisitor::visit(op);
        }
    }
    template<typename Op>
    void both(const Op *op) {
        count++;
        IRGraphVisitor::visit(op);
    }
    void visit(const Add *op) override {
        both(op);
    }
    void visit(const Sub *op) override {
        both(op);
    }
    void visit(const Mul *op) override {
        both(op);
    }
    void visit(const Div *op) override {
        both(op);
    }
    void visit(const Mod *op) override {
        both(op);
    }
    void visit(const Min *op) override {
        both(op);
    }
    void visit(const Max *op) override {
        both(op);
    }
    void visit(const Select *op) override {
        both(op);
    }
    using IRGraphVisitor::visit;
};

double arithmetic_of_small_integers(const std::vector<Expr> &values) {
    CountArithmetic counter;
    for (const auto &v : values) {
        if (v.type().is_int_or_uint() && v.type().bits() > 1 && v.type().bits() < 32) {
            v.accept(&counter);
        }
    }
    return counter.count;
}

Expr without_lets(Expr e) {
    while (const auto *l = e.as<Let>()) {
        e = l->body;
    }
    return e;
}

Expr without_casts(Expr e) {
    while (const auto *c = e.as<Cast>()) {
        e = c->value;
    }
    return e;
}

bool is_read(const Expr &e) {
    const auto *c = e.as<Call>();
    return c && (c->call_type == Call::Halide || c->call_type == Call::Image);
}

// Of a contraction: a and b.
std::vector<Expr> factors(const Function &f, const Definition &d) {
    if (d.values().size() != 1) {
        return {};
    }
    const auto update = contraction(without_lets(d.values()[0]), [&](const Expr &sum) {
        const auto *call = sum.as<Call>();
        return call && call->name == f.name();
    });
    return update ? std::vector<Expr>{update->a, update->b} : std::vector<Expr>{};
}

class Describe {
public:
    Describe(const Pipeline &pipeline, const PipelineView &view, const Target &target, const BufferSizes &sizes)
        : view_(view), target_(target), sizes_(sizes), tree_(unfused_tree(pipeline, target, sizes)), counts_(executions(tree_)) {
        for (const auto &l : counts_.loops) {
            // Halide lets loops begin at 0, and says so in their names.
            const std::string rebased = ".rebased";
            const bool moved =
                l.name.size() > rebased.size() && l.name.compare(l.name.size() - rebased.size(), rebased.size(), rebased) == 0;
            double &extent = extents_[moved ? l.name.substr(0, l.name.size() - rebased.size()) : l.name];
            extent = std::max(extent, l.entries > 0 ? l.iterations / l.entries : 0);
        }
    }

    json all() {
        json funcs = json::array(), buffers = json::array();
        for (const auto &[name, entry] : view_.funcs()) {
            if (entry.parameter.defined()) {
                buffers.push_back(buffer(name, entry));
            } else {
                funcs.push_back(func(name, entry));
            }
        }
        return {{"funcs", funcs},
                {"buffers", buffers},
                {"algorithm", algorithm()},
                {"sizes", sizes_},
                {"vector_bytes", vector_bytes(target_)},
                {"vector_registers", vector_registers(target_)},
                {"target", target_.to_string()}};
    }

private:
    // What is computed, and the sizes that are estimated for it, as text; of which who reads it keeps a hash.
    std::string algorithm() const {
        std::ostringstream text;
        const auto add = [&](const Definition &d) {
            for (const auto &e : d.args()) {
                text << e << ",";
            }
            text << "=";
            for (const auto &e : d.values()) {
                text << e << ",";
            }
            text << "if " << d.predicate() << "\n";
            for (const auto &r : d.schedule().rvars()) {
                text << r.var << " " << r.min << " " << r.extent << "\n";
            }
        };
        for (const auto &[name, entry] : view_.funcs()) {
            text << name << " " << entry.function.name() << "\n";
            if (entry.parameter.defined()) {
                text << entry.parameter.type() << " " << entry.parameter.dimensions() << "\n";
            }
            add(entry.function.definition());
            for (const auto &u : entry.function.updates()) {
                add(u);
            }
            for (const auto &b : entry.function.schedule().estimates()) {
                text << b.var << " " << b.min << " " << b.extent << "\n";
            }
        }
        for (const auto &[name, extents] : sizes_) {
            text << name;
            for (const int64_t e : extents) {
                text << " " << e;
            }
            text << "\n";
        }
        return text.str();
    }

    json buffer(const std::string &name, const PipelineView::Entry &entry) const {
        const auto extents = sizes_.find(name);
        return {{"name", name},
                {"type", type_to_c_type(entry.parameter.type(), false)},
                {"bytes", entry.parameter.type().bytes()},
                {"extents", extents == sizes_.end() ? std::vector<int64_t>{} : extents->second}};
    }

    json func(const std::string &name, const PipelineView::Entry &entry) {
        const Function &f = entry.function;
        json types = json::array();
        int bytes = 0;
        for (const auto &t : f.output_types()) {
            types.push_back(type_to_c_type(t, false));
            bytes += t.bytes();
        }
        json stages = json::array();
        for (int s = 0; s <= int(f.updates().size()); s++) {
            stages.push_back(stage(f, s));
        }
        return {{"name", name},   {"output", entry.is_output}, {"types", types},
                {"bytes", bytes}, {"dims", dimensions_of(f)},  {"stages", stages}};
    }

    json stage(const Function &f, int number) {
        const Definition &d = number == 0 ? f.definition() : f.update(number - 1);
        const Stage handle = stage_of(Func(f), number);
        LoopNames names;
        json loops = json::array();
        for (const auto &l : loops_of(handle)) {
            names[l.halide] = l.name;
            const auto extent = extents_.find(f.name() + ".s" + std::to_string(number) + "." + l.halide);
            loops.push_back({{"name", l.name}, {"rvar", l.is_rvar}, {"extent", extent == extents_.end() ? 1.0 : extent->second}});
        }
        FindReads find(view_, f, names, sizes_);
        for (const auto &v : d.values()) {
            find.look_at(v);
        }
        for (const auto &a : d.args()) {
            find.look_at(a);
        }
        if (d.predicate().defined()) {
            find.look_at(d.predicate());
        }
        json j = {{"loops", loops}};
        if (number > 0) {
            const Lets none;
            Reader read(names, sizes_, none);
            json stored = json::array();
            for (const auto &a : d.args()) {
                stored.push_back(to_json(read(a)));
            }
            j["stored"] = stored;
            j["associative"] = prove_associativity(f.name(), d.args(), d.values()).associative();
            json of_product = json::array();
            bool only_widened = true;
            for (const auto &e : factors(f, d)) {
                of_product.push_back(find.numbers(e));
                only_widened = only_widened && is_read(without_casts(e));
            }
            j["factors"] = of_product;
            j["plain"] = only_widened && !of_product.empty();
        } else {
            j["plain"] = d.values().size() == 1 && is_read(without_casts(without_lets(d.values()[0])));
        }
        j["reads"] = find.reads;
        double elements = 0, instructions = 0, flops = 0;
        for (const auto &s : counts_.stages) {
            if (s.name.func == f.name() && s.name.update == number) {
                elements += s.elements;
                instructions += s.work.instructions;
                flops += s.work.flops;
            }
        }
        double iterations = 1;
        for (const auto &l : loops) {
            iterations *= l.at("extent").get<double>();
        }
        instructions = std::max(instructions, iterations * arithmetic_of_small_integers(d.values()));
        j["elements"] = elements;
        j["instructions"] = instructions;
        j["flops"] = flops;
        return j;
    }

    const PipelineView &view_;
    const Target &target_;
    const BufferSizes &sizes_;
    const LoopTree tree_;
    const Traffic counts_;
    std::map<std::string, double> extents_;
};

}  // namespace

json describe(const Pipeline &pipeline, const PipelineView &view, const Target &target, const BufferSizes &sizes) {
    return Describe(pipeline, view, target, sizes).all();
}

}  // namespace halyard
