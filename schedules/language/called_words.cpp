// A word that a script calls: its arguments, what must not be, and the record of what it did.

#include <algorithm>
#include <cmath>
#include <set>

#include "language/binding.h"
#include "language/effects.h"
#include "language/halide_texts.h"
#include "language/nest.h"
#include "language/tails.h"

namespace halyard {

using namespace Halide;
using Internal::Dim;

namespace {

// What a stage computes.
std::vector<Expr> values_of(const Handle &stage) {
    const Internal::Function f = stage.func.function();
    const int i = stage.stage_index;
    return i == 0 ? f.values() : f.update(i - 1).values();
}

// Halide runs a loop that was said to be one of a device, and is said to be another now, on the host, and copies nothing back.
void leave_device(Internal::StageSchedule schedule) {
    for (Internal::Dim &d : schedule.dims()) {
        const bool on_device = d.for_type == Internal::ForType::GPUBlock || d.for_type == Internal::ForType::GPUThread ||
                               d.for_type == Internal::ForType::GPULane;
        d.device_api = on_device ? d.device_api : DeviceAPI::None;
    }
}

// Words that ask and change nothing.
bool only_asks(const Word &word, Handle::Kind receiver) {
    static const std::set<std::string> kOfAll = {"dim", "min", "extent", "stride", "type", "has_condition", "update", "reduction"};
    return receiver == Handle::kExpr || kOfAll.count(word.name) > 0;
}

std::vector<Dim> dims_of(const Handle &h) {
    if (h.kind == Handle::kDimension || h.kind == Handle::kExpr) {
        return {};
    }
    const Stage s = h.stage ? *h.stage : stage_of(h.func, h.stage_index);
    return s.get_schedule().dims();
}
}  // namespace

// Of several versions each has a pipeline of its own.
void Binding::check_version(Binding &b, lua_State *L, const Call &call) {
    const auto check = [&](int index) {
        const Handle *h = handle_at(L, index);
        if (h && h->binding != b.number_) {
            call.fail("is given " + article(h->kind) + " of another version", "take it from the k of this call of apply");
        }
    };
    for (int i = 1; i <= lua_gettop(L); i++) {
        check(i);
        for (lua_Integer n = 1; lua_istable(L, i) && n <= lua_Integer(lua_rawlen(L, i)); n++) {
            lua_rawgeti(L, i, n);
            check(-1);
            lua_pop(L, 1);
        }
    }
}

int Binding::call_word(lua_State *L) {
    Binding &b = of(L);
    const auto *word = static_cast<const Word *>(lua_touserdata(L, lua_upvalueindex(1)));
    const Handle *self = handle_at(L, 1);
    if (!self || !word_applies(*word, self->kind)) {
        Diagnostic d;
        d.word = word->name;
        d.message = "is called without the Func, stage or loop that it is for";
        d.hint = std::string("write a colon: k.y:") + word->name + "(...)";
        b.host_.raise(std::move(d));
    }
    // Keep a copy: the word may free what the handle refers to.
    const Handle receiver = *self;
    Call call{b, L, receiver, {}, -1};
    b.current_ = word;
    b.applies_ = false;
    check_version(b, L, call);
    if (b.only_conditions && !only_asks(*word, receiver.kind)) {
        call.fail("stands in `versions`, which says when a version is taken, and schedules nothing", "put it into `apply`");
    }
    if (b.before_word) {
        Touch t{"", 0, word->name, receiver.func_name, {}, b.host_.place()};
        b.host_.where(t.file, t.line);
        b.before_word(t);
    }
    const bool implied = receiver.kind == Handle::kLoop;
    call.args = read_arguments(b, L, *word, receiver, implied ? &receiver.loop : nullptr);
    if (implied) {
        bool exists = false;
        for (const auto &l : loops_of(call.stage())) {
            exists = exists || l.halide == receiver.loop.halide;
        }
        if (!exists) {
            call.fail("the loop \"" + receiver.loop.name + "\" of " + receiver.func_name + " is no more: it was split, fused or renamed");
        }
    }
    const std::vector<Dim> before = dims_of(receiver);
    std::string problem;
    check_effect(call, *word);
    b.applies_ = !only_asks(*word, receiver.kind);
    try {
        word->apply(call);
    } catch (const Halide::Error &e) {
        problem = e.what();
    }
    if (!problem.empty()) {
        const PlainText plain = plain_text(b.view_, problem);
        std::vector<std::string> loops;
        for (const auto &a : call.args) {
            for (const auto &l : a.loops) {
                loops.push_back(l.name);
            }
        }
        call.fail(with_loop(plain.message, loops), plain.hint);
    }
    if (word->on == Handle::kStage && receiver.kind != Handle::kExpr && receiver.kind != Handle::kDimension) {
        const bool pure = receiver.stage_index == 0;
        if (const std::string wrong = wrong_tails(call.stage().get_schedule(), pure); !wrong.empty()) {
            call.fail(wrong, "split the outer loop first, or let one of the tails be \"guard\"");
        }
        if (const std::string wrong = wrong_values(call.stage().get_schedule(), receiver.func.name(), values_of(receiver));
            !wrong.empty()) {
            call.fail(wrong, "let the tail be \"guard\"");
        }
        if (const std::string wrong = wrong_masks(call.stage().get_schedule(), values_of(receiver), pure, b.target); !wrong.empty()) {
            call.fail(wrong, "take as many lanes as a vector has, or a multiple");
        }
        leave_device(call.stage().get_schedule());
    }
    b.applies_ = false;
    b.record(*word, receiver, call.args, before);
    b.current_ = nullptr;
    if (call.results < 0) {
        lua_pushvalue(L, 1);
        return 1;
    }
    return call.results;
}

namespace {

double largest_number(const std::vector<Argument> &args) {
    double largest = 0;
    const auto look = [&](const Expr &e) {
        const auto value = e.defined() ? Internal::as_const_int(e) : std::nullopt;
        largest = std::max(largest, value ? std::fabs(double(*value)) : 0);
    };
    for (const Argument &a : args) {
        largest = std::max(largest, std::fabs(double(a.integer)));
        look(a.expr);
        std::for_each(a.exprs.begin(), a.exprs.end(), look);
    }
    return largest;
}

bool has_open_number(const std::vector<Argument> &args) {
    const auto is_open = [](const Expr &e) { return e.defined() && !Internal::is_const(e); };
    return std::any_of(args.begin(), args.end(),
                       [&](const Argument &a) { return is_open(a.expr) || std::any_of(a.exprs.begin(), a.exprs.end(), is_open); });
}

}  // namespace

void Binding::record(const Word &word, const Handle &self, const std::vector<Argument> &args, const std::vector<Dim> &before) {
    if (only_asks(word, self.kind)) {
        return;
    }
    Touch t;
    host_.where(t.file, t.line);
    t.place = host_.place();
    t.word = word.name;
    t.func = self.func_name;
    if (word.on == Handle::kStage) {
        for (const auto &a : args) {
            for (const auto &l : a.loops) {
                t.loops.push_back(l.name);
            }
        }
        for (const Dim &d : dims_of(self)) {
            bool same = false;
            for (const Dim &old : before) {
                same = same || (old.var == d.var && old.for_type == d.for_type);
            }
            if (!same) {
                t.loops.push_back(loop_name(d.var));
            }
        }
    }
    t.number = largest_number(args);
    t.has_open_number = has_open_number(args);
    touches_.push_back(t);
    if (on_word) {
        host_.excuse([&] { on_word(t); });
    }
}

}  // namespace halyard
