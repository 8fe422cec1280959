// Handles as values of Lua: their text, whether two are equal, and arithmetic of expressions.

#include "language/binding.h"
#include "language/exact_numbers.h"

namespace halyard {

using namespace Halide;

std::string article(Handle::Kind kind) {
    return std::string(kind == Handle::kExpr ? "an " : "a ") + kind_name(kind);
}

const char *kind_name(Handle::Kind kind) {
    switch (kind) {
    case Handle::kFunc: return "Func";
    case Handle::kStage: return "Stage";
    case Handle::kLoop: return "Loop";
    case Handle::kDimension: return "Dimension";
    default: return "Expr";
    }
}

int Binding::describe(lua_State *L) {
    const Handle *h = handle_at(L, 1);
    std::string s = std::string(kind_name(h->kind)) + " " + h->func_name;
    if (h->kind == Handle::kLoop) {
        s += "." + h->loop.name;
    } else if (h->kind == Handle::kStage && h->stage_index > 0) {
        s += ":update(" + std::to_string(h->stage_index - 1) + ")";
    } else if (h->kind == Handle::kDimension) {
        s += ":dim(" + std::to_string(h->dimension) + ")";
    }
    lua_pushstring(L, s.c_str());
    return 1;
}

// Two handles are equal where they name the same thing: k.y == k.y.
int Binding::equal(lua_State *L) {
    const Handle *a = handle_at(L, 1), *b = handle_at(L, 2);
    lua_pushboolean(L, a && b && a->kind == b->kind && a->kind != Handle::kExpr && a->func_name == b->func_name &&
                           a->stage_index == b->stage_index && a->loop.halide == b->loop.halide && a->dimension == b->dimension);
    return 1;
}

int Binding::arithmetic(lua_State *L) {
    Binding &b = of(L);
    Expr operand[2];
    for (int i = 0; i < 2; i++) {
        const Handle *h = handle_at(L, i + 1);
        if (h && h->kind == Handle::kExpr) {
            operand[i] = h->expr;
        } else if (lua_isinteger(L, i + 1) && lua_tointeger(L, i + 1) == int32_t(lua_tointeger(L, i + 1))) {
            operand[i] = Expr(int32_t(lua_tointeger(L, i + 1)));
        } else {
            Diagnostic d;
            d.message = "arithmetic works on expressions and integers of 32 bits only";
            b.host_.raise(std::move(d));
        }
    }
    Handle result;
    result.kind = Handle::kExpr;
    std::string problem;
    const auto operation = lua_tointeger(L, lua_upvalueindex(1));
    try {
        // Halide says so where it comes upon it, which may be after the script.
        if (operation >= 3 && Internal::is_const_zero(Internal::simplify(operand[1]))) {
            problem = "an expression divides by 0";
        }
        switch (problem.empty() ? operation : 0) {
        case 0: result.expr = exact_sum(operand[0], operand[1]); break;
        case 1: result.expr = exact_difference(operand[0], operand[1]); break;
        case 2: result.expr = exact_product(operand[0], operand[1]); break;
        case 3: result.expr = exact_quotient(operand[0], operand[1]); break;
        default: result.expr = exact_remainder(operand[0], operand[1]); break;
        }
    } catch (const Halide::Error &e) {
        problem = e.what();
    }
    if (!problem.empty()) {
        Diagnostic d;
        d.message = halide_message(problem);
        b.host_.raise(std::move(d));
    }
    b.push(L, std::move(result));
    return 1;
}

}  // namespace halyard
