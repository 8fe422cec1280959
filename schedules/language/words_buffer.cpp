// Words on the buffers that a library takes, and on the expressions that conditions are made of.

#include "language/binding.h"
#include "language/exact_numbers.h"

namespace halyard {

using namespace Halide;

namespace {

bool is_input(const Call &c) {
    return c.self.parameter.defined();
}

// Halide has no handle for the buffers of a tuple.
void need_one_buffer(const Call &c) {
    if (!is_input(c) && c.func().outputs() > 1) {
        c.fail(c.self.func_name + " is a tuple, which has a buffer for each of its values", "promise what the inputs are like");
    }
}

// The constraints of an input buffer lie in its Parameter, those of an output in its Func's.
Internal::Dimension output_dim(const Call &c) {
    need_one_buffer(c);
    return c.func().output_buffer().dim(c.self.dimension);
}

// The run-time value of a field of a buffer, as Halide names it in the lowered code.
Expr field(const Call &c, const char *what) {
    const Parameter p = is_input(c) ? c.self.parameter : c.func().function().output_buffers()[0];
    const std::string name = p.name() + "." + what + "." + std::to_string(c.self.dimension);
    return Internal::Variable::make(Int(32), name, p);
}

// Halide sees that a promise is one of no call where its number has 32 bits.
void check_promise(const Call &c, const char *name, const Expr &value) {
    const Expr own = field(c, name), exact = exact_of(value);
    if (exact.type() == Int(64) && Internal::can_prove(exact != cast<int64_t>(own))) {
        c.fail(std::string("promises what no call can keep: the ") + name + " of " + c.self.func_name + " in dimension " +
               std::to_string(c.self.dimension) + " is never this expression");
    }
}

void set_min(Call &c) {
    check_promise(c, "min", c.args[0].expr);
    if (is_input(c)) {
        Parameter(c.self.parameter).set_min_constraint(c.self.dimension, c.args[0].expr);
    } else {
        output_dim(c).set_min(c.args[0].expr);
    }
}

void set_extent(Call &c) {
    check_promise(c, "extent", c.args[0].expr);
    if (is_input(c)) {
        Parameter(c.self.parameter).set_extent_constraint(c.self.dimension, c.args[0].expr);
    } else {
        output_dim(c).set_extent(c.args[0].expr);
    }
}

void set_stride(Call &c) {
    check_promise(c, "stride", c.args[0].expr);
    if (!is_input(c) && Internal::is_const_zero(c.args[0].expr)) {
        c.fail("the argument \"stride\" is 0, with which all elements of an output would be one", "only an input may repeat itself");
    }
    if (is_input(c)) {
        Parameter(c.self.parameter).set_stride_constraint(c.self.dimension, c.args[0].expr);
    } else {
        output_dim(c).set_stride(c.args[0].expr);
    }
}

void set_bounds(Call &c) {
    check_promise(c, "min", c.args[0].expr);
    check_promise(c, "extent", c.args[1].expr);
    if (is_input(c)) {
        Parameter(c.self.parameter).set_min_constraint(c.self.dimension, c.args[0].expr);
        Parameter(c.self.parameter).set_extent_constraint(c.self.dimension, c.args[1].expr);
    } else {
        output_dim(c).set_bounds(c.args[0].expr, c.args[1].expr);
    }
}

void set_dim_estimate(Call &c) {
    c.need_numbers({c.args[0].expr, c.args[1].expr});
    if (is_input(c)) {
        Parameter p = c.self.parameter;
        p.set_min_constraint_estimate(c.self.dimension, c.args[0].expr);
        p.set_extent_constraint_estimate(c.self.dimension, c.args[1].expr);
    } else {
        output_dim(c).set_estimate(c.args[0].expr, c.args[1].expr);
    }
}

// Constraints on the buffer of a Func that is neither input nor output would have no effect.
void need_buffer(const Call &c) {
    const auto it = c.binding.view().funcs().find(c.self.func_name);
    if (!is_input(c) && (it == c.binding.view().funcs().end() || !it->second.is_output)) {
        c.fail(c.self.func_name + " is neither an input nor an output of the algorithm",
               "for what is computed on the way, use bound, align_bounds or align_storage");
    }
}

void set_host_alignment(Call &c) {
    need_buffer(c);
    need_one_buffer(c);
    if (c.self.parameter.defined()) {
        Parameter(c.self.parameter).set_host_alignment(int(c.args[0].integer));
    } else {
        c.func().output_buffer().set_host_alignment(int(c.args[0].integer));
    }
}

void dim(Call &c) {
    need_buffer(c);
    const int64_t d = c.args[0].integer;
    const int n = c.func().dimensions();
    if (d < 0 || d >= n) {
        c.fail(c.self.func_name + " has the dimensions 0 to " + std::to_string(n - 1) + ", not " + std::to_string(d));
    }
    c.push_dimension(int(d));
}

// "f32" and so on, the names that target:lanes takes.
void type(Call &c) {
    const Type t = c.self.parameter.defined() ? c.self.parameter.type() : c.func().types()[0];
    const std::string code = t.is_bfloat() ? "bf" : t.is_float() ? "f" : t.is_int() ? "i" : "u";
    lua_pushstring(c.L, (code + std::to_string(t.bits())).c_str());
    c.results = 1;
}

using Compare = Expr (*)(Expr, Expr);
template<Compare F>
void compare(Call &c) {
    c.push_expr(F(c.self.expr, c.args[0].expr));
}

void select(Call &c) {
    c.push_expr(exact_select(c.self.expr, c.args[0].expr, c.args[1].expr));
}

}  // namespace

const std::vector<Word> kBufferWords = {
    {"dim", Handle::kFunc, "index:int[0..<dimensions]", "dimension:Dimension",
     "A dimension of an input or output buffer, 0 being the innermost. Constraints set on it are checked when the "
     "library is called, and let loops and addresses be constants.",
     "x.extent[0]", "a value to constrain", dim},
    {"type", Handle::kFunc, "", "type:string", "The type of the elements: \"f32\", \"bf16\", \"u8\" and so on.", "x", "\"f32\"", type},
    {"set_host_alignment", Handle::kFunc, "bytes:int[1..4096,power]", "self",
     "Promises the alignment of a buffer's memory. Checked at run time.", "load", "aligned load", set_host_alignment},
    {"set_min", Handle::kDimension, "min:expr[-2147483647..]", "self", "Promises where the dimension starts.", "x.min[0]", "min", set_min},
    {"set_extent", Handle::kDimension, "extent:size[1..]", "self", "Promises how long the dimension is.", "x.extent[0]", "extent",
     set_extent},
    {"set_stride", Handle::kDimension, "stride:expr[any]", "self", "Promises the distance of neighbours, in elements.", "x.stride[0]",
     "stride", set_stride},
    {"set_bounds", Handle::kDimension, "min:expr[-2147483647..] extent:size[1..]", "self", "set_min and set_extent in one word.",
     "x.min[0], x.extent[0]", "min, extent", set_bounds},
    {"set_dim_estimate", Handle::kDimension, "min:expr[any] extent:size[0..]", "self",
     "The expected range of the dimension, for autoschedulers only.", "x", "x", set_dim_estimate, "set_estimate"},
    {"min", Handle::kDimension, "", "min:Expr", "Where the dimension starts, as an expression for conditions.", "x", "x.min[0]",
     [](Call &c) { c.push_expr(field(c, "min")); }},
    {"extent", Handle::kDimension, "", "extent:Expr", "How long the dimension is, as an expression for conditions.", "x", "x.extent[0]",
     [](Call &c) { c.push_expr(field(c, "extent")); }},
    {"stride", Handle::kDimension, "", "stride:Expr", "The distance of neighbours in elements, as an expression.", "x", "x.stride[0]",
     [](Call &c) { c.push_expr(field(c, "stride")); }},
};

// The formatter takes names of operators for brackets.
// clang-format off
const std::vector<Word> kExprWords = {
    {"eq", Handle::kExpr, "value:expr", "condition:Expr", "Equal.", "a, b", "a == b", compare<operator==>},
    {"ne", Handle::kExpr, "value:expr", "condition:Expr", "Not equal.", "a, b", "a != b", compare<operator!=>},
    {"at_least", Handle::kExpr, "value:expr", "condition:Expr", "Greater or equal.", "a, b", "a >= b",
     compare<operator>=>},
    {"at_most", Handle::kExpr, "value:expr", "condition:Expr", "Less or equal.", "a, b", "a <= b", compare<operator<=>},
    {"below", Handle::kExpr, "value:expr", "condition:Expr", "Less.", "a, b", "a < b", compare<operator<>},
    {"above", Handle::kExpr, "value:expr", "condition:Expr", "Greater.", "a, b", "a > b", compare<operator> >},
    {"multiple_of", Handle::kExpr, "value:size[1..]", "condition:Expr", "A multiple.", "a, b", "a % b == 0",
     [](Call &c) { c.push_expr(exact_remainder(c.self.expr, c.args[0].expr) == 0); }},
    {"plus", Handle::kExpr, "value:expr", "sum:Expr", "A sum; minus a number is plus what is below 0.", "a, b", "a + b",
     [](Call &c) { c.push_expr(exact_sum(c.self.expr, c.args[0].expr)); }},
    {"and_", Handle::kExpr, "other:condition", "condition:Expr", "Both conditions.", "a, b", "a && b",
     [](Call &c) { c.push_expr(c.self.expr && c.args[0].expr); }},
    {"or_", Handle::kExpr, "other:condition", "condition:Expr", "One of the conditions.", "a, b", "a || b",
     [](Call &c) { c.push_expr(c.self.expr || c.args[0].expr); }},
    {"not_", Handle::kExpr, "", "condition:Expr", "Not the condition.", "a", "!a",
     [](Call &c) { c.push_expr(!c.self.expr); }},
    {"select", Handle::kExpr, "yes:expr no:expr", "value:Expr",
     "A number where the condition holds, and another where it does not: what a Func is bound to inside a loop that "
     "specialize() has in several forms.", "a", "a ? yes : no", select},
};
// clang-format on

}  // namespace halyard
