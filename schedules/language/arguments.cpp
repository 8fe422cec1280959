// Reads the arguments of a word by their kinds, which words.cpp describes.

#include <algorithm>
#include <cctype>
#include <set>

#include "language/binding.h"
#include "language/exact_numbers.h"

namespace halyard {

using namespace Halide;

namespace {

bool is_identifier(const std::string &s) {
    if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0]))) {
        return false;
    }
    for (char c : s) {
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') {
            return false;
        }
    }
    return true;
}

class Reader {
public:
    Reader(Binding &b, lua_State *L, const Word &w, const Handle &self, const LoopName *implied)
        : b_(b), L_(L), word_(w), self_(self), implied_(implied), top_(lua_gettop(L)) {}

    std::vector<Argument> read() {
        std::vector<Argument> args;
        const auto specs = parse_arg_specs(word_.args);
        specs_ = &specs;
        args_ = &args;
        next_ = 2;
        static const std::set<std::string> kConsume = {"split", "fuse", "tile"};
        const bool consumes = kConsume.count(word_.name) > 0;
        for (size_t i = 0; i < specs.size(); i++) {
            spec_ = specs[i];
            Argument a;
            if (i == 0 && implied_) {
                a.present = true;
                a.loops.push_back(*implied_);
                if (consumes) {
                    consumed_.insert(implied_->name);
                }
                args.push_back(std::move(a));
                if (!spec_.repeated) {
                    continue;
                }
                while (next_ <= top_) {
                    one(args.back());
                }
                continue;
            }
            const bool given = next_ <= top_ && !lua_isnil(L_, next_);
            if (!given && !spec_.optional) {
                fail("needs the argument \"" + spec_.name + "\" (" + describe(spec_) + ")");
            }
            if (given) {
                a.present = true;
                one(a);
                while (spec_.repeated && next_ <= top_) {
                    one(a);
                }
            } else if (next_ <= top_) {
                next_++;  // an explicit nil
            }
            for (const auto &l : a.loops) {
                if (consumes) {
                    consumed_.insert(l.name);
                }
            }
            args.push_back(std::move(a));
        }
        check_no_loop_twice(args);
        if (next_ <= top_) {
            fail("takes " + std::to_string(next_ - 2) + " arguments here, not " + std::to_string(top_ - 1));
        }
        return args;
    }

private:
    // But prefetch may count the turns of the loop that it stands in.
    void check_no_loop_twice(const std::vector<Argument> &args) {
        std::set<std::string> seen;
        for (const Argument &a : args) {
            for (const LoopName &l : a.loops) {
                if (!seen.insert(l.halide).second && std::string(word_.name) != "prefetch") {
                    fail("names the loop \"" + l.name + "\" twice");
                }
            }
        }
    }

    [[noreturn]] void fail(const std::string &message, const std::string &hint = "") {
        Diagnostic d;
        d.word = word_.name;
        d.message = message;
        d.hint = hint.empty() ? "usage: " + usage(word_, implied_ != nullptr) : hint;
        b_.host().raise(std::move(d));
    }

    [[noreturn]] void wrong_type(int index, const std::string &wanted) {
        const Handle *h = Binding::handle_at(L_, index);
        fail("the argument \"" + spec_.name + "\" must be " + wanted + ", not " +
             (h ? article(h->kind) : std::string("a ") + luaL_typename(L_, index)));
    }

    // Looks up a loop of a stage by plain name.
    LoopName find_loop(const Stage &stage, const std::string &owner, const std::string &name) {
        const auto loops = loops_of(stage);
        std::vector<std::string> names;
        for (const auto &l : loops) {
            if (l.name == name) {
                return l;
            }
            names.push_back(l.name);
        }
        // One that Halide would call so, as a loop of RDom r1(..., "r1").
        for (const auto &l : loops) {
            std::string own = unqualified(l.halide);
            std::replace(own.begin(), own.end(), '$', '_');
            if (own == name || plain_name(l.halide) == name) {
                return l;
            }
        }
        Diagnostic d;
        d.word = word_.name;
        d.message = "there is no loop \"" + name + "\" in " + owner + "; its loops are " + quoted_list(names) + ", innermost first";
        d.hint = did_you_mean(name, names);
        b_.host().raise(std::move(d));
    }

    LoopName loop_of(const Stage &stage, const std::string &owner, int index) {
        if (lua_type(L_, index) == LUA_TSTRING) {
            return find_loop(stage, owner, lua_tostring(L_, index));
        }
        const Handle *h = Binding::handle_at(L_, index);
        if (!h || h->kind != Handle::kLoop) {
            wrong_type(index, "a loop, by name or as split and tile return it");
        }
        if (h->func_name != self_.func_name && &stage != &*h->stage) {
            fail("the loop \"" + h->loop.name + "\" is one of " + h->func_name + ", not of " + owner);
        }
        check_alive(*h);
        return find_loop(stage, owner, h->loop.name);
    }

    std::string stage_owner() const {
        return self_.stage_index == 0 ? self_.func_name : self_.func_name + ":update(" + std::to_string(self_.stage_index - 1) + ")";
    }

    Stage self_stage() const {
        return self_.stage ? *self_.stage : stage_of(self_.func, self_.stage_index);
    }

    Expr expr_at(int index) {
        if (lua_isinteger(L_, index)) {
            const lua_Integer v = lua_tointeger(L_, index);
            if (v < INT32_MIN || v > INT32_MAX) {
                fail("the argument \"" + spec_.name + "\" is " + std::to_string(v) + ", which does not fit 32 bits");
            }
            return Expr(int32_t(v));
        }
        if (lua_isnumber(L_, index) && lua_type(L_, index) == LUA_TNUMBER) {
            const double v = lua_tonumber(L_, index);
            if (v == double(int32_t(v))) {
                return Expr(int32_t(v));
            }
            fail("the argument \"" + spec_.name + "\" is " + std::to_string(v) + ", not an integer", "divide with `//` to get an integer");
        }
        const Handle *h = Binding::handle_at(L_, index);
        if (!h || h->kind != Handle::kExpr) {
            wrong_type(index, describe_kind(spec_.kind));
        }
        return h->expr;
    }

    // The value of the argument that the domain is below, where it is known. What the receiver has is said
    // better by the word itself.
    std::optional<int64_t> limit() const {
        for (size_t i = 0; i < args_->size(); i++) {
            if ((*specs_)[i].name == spec_.domain->below) {
                const auto v = Internal::as_const_int((*args_)[i].expr);
                return v ? std::optional<int64_t>(*v) : std::nullopt;
            }
        }
        return std::nullopt;
    }

    void check_in_domain(int64_t value) {
        const bool of_receiver = spec_.domain->below == "dimensions" || spec_.domain->below == "updates";
        if (!of_receiver && !spec_.domain->contains(value, limit())) {
            fail("the argument \"" + spec_.name + "\" is " + std::to_string(value) + ", but must be " + spec_.domain->text(limit()));
        }
    }

    // An expression with a domain: what is known now is checked now, the rest when the library is called.
    Expr number_at(int index) {
        const Expr e = expr_at(index);
        if (!spec_.domain) {
            return e.type() == Int(64) && self_.kind != Handle::kExpr ? fitting(e) : e;
        }
        if (!e.type().is_int() || !e.type().is_scalar()) {
            fail("the argument \"" + spec_.name + "\" is " + (e.type().is_bool() ? "a condition" : "no integer") + ", but must be " +
                 describe(spec_));
        }
        const Expr simple = Internal::simplify(e);
        if (const auto v = Internal::as_const_int(simple)) {
            check_in_domain(*v);
            return Expr(int32_t(*v));
        }
        if (spec_.domain->asked || e.type() == Int(64)) {
            require_in_domain(e);
        }
        return e.type() == Int(64) ? in_32_bits(e) : e;
    }

    // A number of 64 bits, for a word that takes any of 32.
    Expr fitting(const Expr &e) {
        b_.require(e >= Internal::make_const(Int(64), INT32_MIN) && e <= Internal::make_const(Int(64), INT32_MAX), e,
                   "the argument \"" + spec_.name + "\" of " + word_.name + " must fit 32 bits");
        return in_32_bits(e);
    }

    void require_in_domain(const Expr &e) {
        const Domain &d = *spec_.domain;
        Expr good = e >= int32_t(d.least);
        if (d.most < INT32_MAX || e.type() == Int(64)) {
            good = good && e <= int32_t(d.most);
        }
        for (size_t i = 0; i < args_->size(); i++) {
            if ((*specs_)[i].name == d.below) {
                good = good && e < (*args_)[i].expr;
            }
        }
        if (Internal::can_prove(!good)) {
            fail("the argument \"" + spec_.name + "\" must be " + d.text() + ", which this expression is in no call");
        }
        if (!Internal::can_prove(good)) {
            b_.require(good, e, "the argument \"" + spec_.name + "\" of " + word_.name + " must be " + d.text());
        }
    }

    std::string string_at(int index) {
        if (lua_type(L_, index) != LUA_TSTRING) {
            wrong_type(index, describe_kind(spec_.kind));
        }
        size_t length = 0;
        const char *const text = lua_tolstring(L_, index, &length);
        return std::string(text, length);
    }

    // What a library prints: on terminals, and between lines of a program.
    std::string text_at(int index) {
        constexpr size_t kMost = 1000;
        const std::string text = string_at(index);
        if (text.size() > kMost) {
            fail("the argument \"" + spec_.name + "\" has more than " + std::to_string(kMost) + " characters");
        }
        if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c > '~'; })) {
            fail("the argument \"" + spec_.name + "\" must be one line of printable ASCII characters");
        }
        return text;
    }

    std::string new_name_at(int index) {
        const std::string name = string_at(index);
        if (!is_identifier(name)) {
            fail("\"" + name + "\" cannot name a loop: use letters, digits and _");
        }
        if (is_variable_of_loops(name)) {
            fail("\"" + name + "\" cannot name a loop: Halide calls a variable so");
        }
        for (const auto &l : loops_of(self_stage())) {
            if (l.name == name && consumed_.count(name) == 0) {
                fail(stage_owner() + " has a loop \"" + name + "\" already");
            }
        }
        return name;
    }

    // Calls `f` for each element of the table at `index`, pushed at the top.
    template<typename F>
    void each(int index, F f) {
        const lua_Integer n = lua_Integer(lua_rawlen(L_, index));
        if (n == 0) {
            fail("the list \"" + spec_.name + "\" is empty");
        }
        for (lua_Integer i = 1; i <= n; i++) {
            lua_rawgeti(L_, index, i);
            f(lua_gettop(L_));
            lua_pop(L_, 1);
        }
    }

    void require_table(int index) {
        if (!lua_istable(L_, index)) {
            wrong_type(index, describe_kind(spec_.kind));
        }
    }

    void one(Argument &a) {
        const std::string &kind = spec_.kind;
        const int i = next_++;
        if (!named_values(kind).empty()) {
            named(a, i);
        } else if (kind == "loop" || (kind == "loop_or_loops" && !lua_istable(L_, i))) {
            a.loops.push_back(loop_of(self_stage(), stage_owner(), i));
        } else if (kind == "loops" || kind == "loop_or_loops") {
            require_table(i);
            each(i, [&](int e) { a.loops.push_back(loop_of(self_stage(), stage_owner(), e)); });
        } else if (kind == "level") {
            level(a, i);
        } else if (kind == "dim") {
            dim(a, i);
        } else if (kind == "size" || kind == "expr") {
            a.expr = number_at(i);
        } else if (kind == "sizes") {
            require_table(i);
            each(i, [&](int e) { a.exprs.push_back(number_at(e)); });
        } else if (kind == "condition") {
            a.expr = expr_at(i);
            if (!a.expr.type().is_bool()) {
                fail("the argument \"" + spec_.name + "\" is a number, not a condition", "compare it: k.x:dim(0):extent():at_least(64)");
            }
        } else if (kind == "int") {
            if (!lua_isinteger(L_, i)) {
                wrong_type(i, "an integer");
            }
            a.integer = lua_tointeger(L_, i);
            check_in_domain(a.integer);
        } else if (kind == "bool") {
            if (!lua_isboolean(L_, i)) {
                wrong_type(i, "true or false");
            }
            a.boolean = lua_toboolean(L_, i);
        } else if (kind == "string") {
            a.text = text_at(i);
        } else if (kind == "name") {
            a.text = new_name_at(i);
        } else if (kind == "names") {
            require_table(i);
            each(i, [&](int e) { a.texts.push_back(new_name_at(e)); });
        } else if (kind == "func") {
            const Handle *h = Binding::handle_at(L_, i);
            if (!h || h->kind != Handle::kFunc) {
                wrong_type(i, "a Func, as in k.y");
            }
            a.handles.push_back(*h);
        }
    }

    void named(Argument &a, int i) {
        const std::string given = lua_type(L_, i) == LUA_TSTRING ? lua_tostring(L_, i) : "";
        if (given.empty()) {
            wrong_type(i, describe_kind(spec_.kind));
        }
        std::vector<std::string> names;
        for (const auto &v : named_values(spec_.kind)) {
            if (given == v.name) {
                a.integer = v.value;
                return;
            }
            names.emplace_back(v.name);
        }
        fail("\"" + given + "\" is no " + spec_.kind + "; there are " + quoted_list(names), did_you_mean(given, names));
    }

    void level(Argument &a, int i) {
        const Handle *h = Binding::handle_at(L_, i);
        if (h && h->kind == Handle::kLoop) {
            check_alive(*h);
            a.level = LoopLevel(h->func.function(), VarOrRVar(unqualified(h->loop.halide), h->loop.is_rvar),
                                word_.on == Handle::kStage ? h->stage_index : -1);
            a.handles.push_back(*h);
            check_not_self(*h);
            return;
        }
        if (!h || (h->kind != Handle::kFunc && h->kind != Handle::kStage)) {
            wrong_type(i, "a loop, as split returns it, or a Func and the name of one of its loops");
        }
        check_not_self(*h);
        if (next_ > top_) {
            fail("needs the name of a loop of " + h->func_name + " too");
        }
        const int n = next_++;
        const Stage stage = h->stage ? *h->stage : stage_of(h->func, h->stage_index);
        const std::string name = string_at(n);
        if (name == "outermost" && !has_loop(*h, name)) {
            a.level = LoopLevel(h->func.function(), Var::outermost(), h->kind == Handle::kStage ? h->stage_index : -1);
            a.handles.push_back(*h);
            return;
        }
        // A loop of an update may be named through the Func, as long as only one stage has it.
        LoopName loop;
        bool found = false;
        if (h->kind == Handle::kFunc) {
            for (int s = h->func.num_update_definitions(); s >= 0 && !found; s--) {
                for (const auto &l : loops_of(stage_of(h->func, s))) {
                    if (l.name == name) {
                        loop = l;
                        found = true;
                    }
                }
            }
        }
        if (!found) {
            loop = find_loop(stage, h->func_name, name);
        }
        a.level = LoopLevel(h->func.function(), VarOrRVar(unqualified(loop.halide), loop.is_rvar),
                            h->kind == Handle::kStage || word_.on == Handle::kStage ? h->stage_index : -1);
        a.handles.push_back(*h);
    }

    static bool has_loop(const Handle &h, const std::string &name) {
        for (int s = h.func.num_update_definitions(); s >= 0; s--) {
            for (const auto &l : loops_of(stage_of(h.func, s))) {
                if (l.name == name) {
                    return true;
                }
            }
        }
        return false;
    }

    void check_alive(const Handle &h) {
        for (const auto &l : loops_of(*h.stage)) {
            // By plain name: rfactor gives the loops that it leaves new names in Halide.
            if (l.name == h.loop.name) {
                return;
            }
        }
        fail("the loop \"" + h.loop.name + "\" of " + h.func_name + " is no more: it was split, fused or renamed");
    }

    void check_not_self(const Handle &consumer) {
        if (word_.on == Handle::kFunc && consumer.func_name == self_.func_name) {
            fail("a Func cannot be placed inside its own loop", "name a loop of one of its consumers");
        }
    }

    void dim(Argument &a, int i) {
        const std::string name = string_at(i);
        std::vector<std::string> names;
        for (const Var &v : self_.func.args()) {
            if (loop_name(v.name()) == name) {
                a.texts.push_back(v.name());
                return;
            }
            names.push_back(loop_name(v.name()));
        }
        fail("there is no dimension \"" + name + "\" in " + self_.func_name + "; its dimensions are " + quoted_list(names),
             did_you_mean(name, names));
    }

    Binding &b_;
    lua_State *L_;
    const Word &word_;
    const Handle &self_;
    const LoopName *implied_;
    ArgSpec spec_;
    const std::vector<ArgSpec> *specs_ = nullptr;
    const std::vector<Argument> *args_ = nullptr;  // read so far
    std::set<std::string> consumed_;               // loops whose names are free again for what they become
    int next_ = 2;
    const int top_;
};

}  // namespace

std::vector<Argument> read_arguments(Binding &binding, lua_State *L, const Word &word, const Handle &self, const LoopName *implied) {
    return Reader(binding, L, word, self, implied).read();
}

}  // namespace halyard
