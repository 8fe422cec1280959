#include "lowering/host/argument_checks.h"

#include <limits>
#include <vector>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

/** A buffer as the checks of Halide show it. */
struct Argument {
    std::string name;   // y
    std::string label;  // Output buffer y
    int dimensions;

    bool is_output() const {
        return label.compare(0, 6, "Output") == 0;
    }
    Expr buffer() const {
        return Variable::make(type_of<halide_buffer_t *>(), name + ".buffer");
    }
    Expr extent(int d) const {
        return Call::make(Int(32), Call::buffer_get_extent, {buffer(), d}, Call::Extern);
    }
    Expr stride(int d) const {
        return Call::make(Int(32), Call::buffer_get_stride, {buffer(), d}, Call::Extern);
    }
    Expr min(int d) const {
        return Call::make(Int(32), Call::buffer_get_min, {buffer(), d}, Call::Extern);
    }
    Expr count() const {
        return Call::make(Int(32), Call::buffer_get_dimensions, {buffer()}, Call::Extern);
    }
    Expr is_query() const {
        return Call::make(Bool(), Call::buffer_is_bounds_query, {buffer()}, Call::Extern);
    }
    Expr is_empty() const {
        Expr empty = const_false();
        for (int d = 0; d < dimensions; d++) {
            empty = empty || extent(d) <= 0;
        }
        return empty;
    }
};

const Call *error_call(const AssertStmt *op, const char *name) {
    const Call *call = op->message.as<Call>();
    return call && call->name == std::string("halide_error_") + name ? call : nullptr;
}

std::string text_of(const Expr &e) {
    const StringImm *s = e.as<StringImm>();
    return s ? s->value : "";
}

/** The argument that a check of the number of dimensions is about; without a name if it is another check. */
Argument argument_of(const AssertStmt *op) {
    const std::string field = ".dimensions";
    const Call *call = error_call(op, "bad_dimensions");
    const Variable *count = call && call->args.size() == 3 ? call->args[1].as<Variable>() : nullptr;
    const auto dimensions = count ? as_const_int(call->args[2]) : std::nullopt;
    if (!dimensions || count->name.size() <= field.size() || !ends_with(count->name, field)) {
        return {"", "", 0};
    }
    return {count->name.substr(0, count->name.size() - field.size()), text_of(call->args[0]), int(*dimensions)};
}

class FindArguments : public IRVisitor {
    using IRVisitor::visit;

    void visit(const AssertStmt *op) override {
        const Argument a = argument_of(op);
        bool found = a.name.empty();
        for (const auto &other : arguments) {
            found = found || other.name == a.name;
        }
        if (!found) {
            arguments.push_back(a);
        }
        IRVisitor::visit(op);
    }

public:
    std::vector<Argument> arguments;
};

Expr requirement_failed(const std::string &condition, const std::vector<Expr> &parts) {
    const Expr message = Call::make(type_of<const char *>(), Call::stringify, parts, Call::Intrinsic);
    return Call::make(Int(32), "halide_error_requirement_failed", {condition, message}, Call::Extern);
}

Expr is_null(const Expr &pointer) {
    return reinterpret(UInt(64), pointer) == make_zero(UInt(64));
}

// Halide computes where an element is as index * stride - min * stride, in 32 bits.
Stmt is_near_zero(const Argument &a, WidthOfIndices indices) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    Expr reach = make_const(Int(64), 0);
    std::vector<Expr> message = {Expr(a.label + " has elements that are 2^31 or more away from where the element of index 0 would be. "
                                                "From dimension 0 on it has")};
    for (int d = 0; d < a.dimensions; d++) {
        const Expr first = cast<int64_t>(a.min(d)), last = first + cast<int64_t>(a.extent(d)) - 1;
        const Expr step = cast<int64_t>(abs(cast<int64_t>(a.stride(d)))),
                   farthest = max(cast<int64_t>(abs(first)), cast<int64_t>(abs(last)));
        reach = reach + min(step * farthest, make_const(Int(64), kMost + 1));
        message.insert(message.end(), {Expr(d == 0 ? " " : ", "), a.extent(d), Expr(" elements from "), a.min(d), Expr(" on, "),
                                       a.stride(d), Expr(" apart")});
    }
    message.emplace_back(indices == WidthOfIndices::k32
                             ? ": let its minima be nearer to 0, or build the library with large_buffers"
                             : ": let its minima be nearer to 0, or pass it in parts; kernels of a GPU have no larger indices");
    return AssertStmt::make(a.is_query() || a.is_empty() || reach <= make_const(Int(64), kMost),
                            requirement_failed("elements of " + a.name + " are near index 0", message));
}

// What may be read of an argument before anything is.
Stmt can_be_read(const Argument &a, WidthOfIndices indices) {
    std::vector<Stmt> checks = {
        AssertStmt::make(!is_null(a.buffer()), Call::make(Int(32), "halide_error_buffer_argument_is_null", {a.name}, Call::Extern)),
        AssertStmt::make(a.count() == a.dimensions,
                         Call::make(Int(32), "halide_error_bad_dimensions", {a.label, a.count(), a.dimensions}, Call::Extern)),
    };
    if (a.dimensions > 0) {
        const Expr shape = Call::make(type_of<halide_dimension_t *>(), Call::buffer_get_shape, {a.buffer()}, Call::Extern);
        checks.push_back(AssertStmt::make(
            !is_null(shape), requirement_failed(a.name + ".dim != null", {Expr(a.label + " has "), Expr(a.dimensions),
                                                                          Expr(" dimensions, but no array that says what they are")})));
    }
    // Halide computes min + extent in 32 bits, before it checks that extents are not negative.
    for (int d = 0; d < a.dimensions; d++) {
        const Expr end = cast<int64_t>(a.min(d)) + cast<int64_t>(a.extent(d));
        const Expr fits = a.is_query() || (a.extent(d) >= 0 && end <= make_const(Int(64), int64_t(std::numeric_limits<int32_t>::max())));
        checks.push_back(AssertStmt::make(fits, requirement_failed("0 <= " + a.name + ".extent and min + extent < 2^31",
                                                                   {Expr(a.label + " has "), a.extent(d), Expr(" elements from "), a.min(d),
                                                                    Expr(" on in dimension "), Expr(d)})));
    }
    if (indices != WidthOfIndices::k64 && a.dimensions > 0) {
        checks.push_back(is_near_zero(a, indices));
    }
    return Block::make(checks);
}

// Of every two dimensions with more than one element, one steps over all of the other: then no two elements share an address.
Stmt elements_lie_apart(const Argument &a) {
    const auto is_one = [&](int d) { return a.extent(d) <= 1; };
    const auto step = [&](int d) { return cast<int64_t>(abs(cast<int64_t>(a.stride(d)))); };
    const auto past = [&](int d) { return step(d) * cast<int64_t>(a.extent(d)); };
    Expr apart = const_true();
    std::vector<Expr> message = {Expr(a.label + " has elements that share an address. From dimension 0 on it has")};
    for (int d = 0; d < a.dimensions; d++) {
        apart = apart && (is_one(d) || a.stride(d) != 0);
        for (int other = 0; other < d; other++) {
            apart = apart && (is_one(d) || is_one(other) || step(d) >= past(other) || step(other) >= past(d));
        }
        message.insert(message.end(), {Expr(d == 0 ? " " : ", "), a.extent(d), Expr(" elements "), a.stride(d), Expr(" apart")});
    }
    return AssertStmt::make(apart || a.is_empty(), requirement_failed("elements of " + a.name + " lie apart", message));
}

// One call for all arrays, as it stands in the way of each call of the library.
Stmt outputs_lie_apart(const std::vector<Argument> &arguments) {
    int64_t outputs = 0;
    std::string names;
    std::vector<Expr> buffers;
    for (const auto &a : arguments) {
        outputs |= a.is_output() ? int64_t(1) << buffers.size() : 0;
        names += (names.empty() ? "" : " ") + a.name;
        buffers.push_back(a.buffer());
    }
    const Expr bits = make_const(Int(64), outputs), count = int(buffers.size());
    const auto all = [&] { return Call::make(type_of<halide_buffer_t **>(), Call::make_struct, buffers, Call::Intrinsic); };
    const Expr user_context = Call::make(Handle(), Call::get_user_context, {}, Call::PureIntrinsic);
    const Expr shared = Call::make(Int(32), "halyard_memory_is_shared", {bits, count, all()}, Call::Extern);
    return AssertStmt::make(
        shared == 0, Call::make(Int(32), "halyard_error_memory_is_shared", {user_context, bits, count, all(), Expr(names)}, Call::Extern));
}

bool is_of_device(const Call &call) {
    bool is = false;
    for (const char *prefix : {"halide_device_", "halide_copy_to_", "halide_buffer_copy", "halyard_cuda_"}) {
        is = is || starts_with(call.name, prefix);
    }
    return is && call.call_type == Call::Extern && call.type == Int(32);
}

class CheckArguments : public IRMutator {
public:
    CheckArguments(const std::string &function, WidthOfIndices indices, bool apart)
        : function_(function), indices_(indices), apart_(apart && !function.empty()) {}

    using IRMutator::mutate;

    Stmt mutate(const Stmt &s) override {
        if (inside_) {
            return IRMutator::mutate(s);
        }
        inside_ = true;
        FindArguments find;
        s.accept(&find);
        arguments_ = find.arguments;
        std::vector<Stmt> all;
        for (const auto &a : arguments_) {
            all.push_back(can_be_read(a, indices_));
        }
        if (apart_ && !arguments_.empty()) {
            all.push_back(outputs_lie_apart(arguments_));
        }
        all.push_back(s);
        const Stmt result = IRMutator::mutate(Block::make(all));
        inside_ = false;
        return result;
    }

private:
    using IRMutator::visit;

    // What the runtime does for the call, and may raise an error of its own in.
    Stmt visit(const LetStmt *op) override {
        const Call *call = op->value.as<Call>();
        if (function_.empty() || !call || !is_of_device(*call)) {
            return IRMutator::visit(op);
        }
        const Expr function = Call::make(type_of<const char *>(), "halyard_error_begins", {function_}, Call::Extern);
        return LetStmt::make(op->name, Call::make(Int(32), "halyard_error_ends", {function, op->value}, Call::Extern), mutate(op->body));
    }

    Stmt visit(const AssertStmt *op) override {
        Expr condition = op->condition;
        if (const Expr any = may_be_any(op); any.defined()) {
            condition = condition || any;
        }
        const Stmt check = AssertStmt::make(condition, named(op->message));
        const Argument a = argument_of(op);
        return a.name.empty() || !a.is_output() || a.dimensions == 0 ? check : Block::make(check, mutate(elements_lie_apart(a)));
    }

    // When the stride that a check is about may be any; undefined for other checks.
    Expr may_be_any(const AssertStmt *op) const {
        const Call *call = error_call(op, "constraint_violated");
        const std::string what = call && !call->args.empty() ? text_of(call->args[0]) : "";
        for (const auto &a : arguments_) {
            for (int d = 0; d < a.dimensions; d++) {
                if (what == a.name + ".stride." + std::to_string(d)) {
                    return a.extent(d) <= 1 || a.is_empty();
                }
            }
        }
        return Expr();
    }

    Expr named(const Expr &message) const {
        if (function_.empty() || message.type() != Int(32)) {
            return message;
        }
        const Expr function = Call::make(type_of<const char *>(), "halyard_error_begins", {function_}, Call::Extern);
        return Call::make(Int(32), "halyard_error_in", {function, message}, Call::Extern);
    }

    std::string function_;
    WidthOfIndices indices_;
    bool apart_;
    std::vector<Argument> arguments_;
    bool inside_ = false;
};

}  // namespace

std::vector<std::string> buffers_of(const Stmt &body) {
    FindArguments find;
    body.accept(&find);
    std::vector<std::string> names;
    for (const auto &a : find.arguments) {
        names.push_back(a.name);
    }
    return names;
}

std::unique_ptr<IRMutator> check_arguments(const std::string &function, WidthOfIndices indices, bool apart) {
    return std::make_unique<CheckArguments>(function, indices, apart);
}

}  // namespace halyard
