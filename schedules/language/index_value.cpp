#include "language/index_value.h"

#include <algorithm>
#include <stdexcept>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

using Value = std::optional<int64_t>;

// Halide rounds to minus infinity, and says that x / 0 is 0. By -1 the lowest number has no quotient.
int64_t divide(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? int64_t(0 - uint64_t(a)) : a / b - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t modulo(int64_t a, int64_t b) {
    return b == 0 || b == -1 ? 0 : a - divide(a, b) * b;
}

int64_t divide_to_zero(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? divide(a, b) : a / b;
}

int64_t shift(int64_t a, int64_t left) {
    return left >= 64 || left <= -64 ? (left < 0 && a < 0 ? -1 : 0) : left >= 0 ? int64_t(uint64_t(a) << left) : a >> -left;
}

// What does not fit is no number of the library's either.
Value sum(int64_t a, int64_t b) {
    int64_t result;
    return __builtin_add_overflow(a, b, &result) ? std::nullopt : Value(result);
}

Value difference(int64_t a, int64_t b) {
    int64_t result;
    return __builtin_sub_overflow(a, b, &result) ? std::nullopt : Value(result);
}

Value product(int64_t a, int64_t b) {
    int64_t result;
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt : Value(result);
}

template<typename F>
Value both(const Value &a, const Value &b, F f) {
    return a && b ? Value(f(*a, *b)) : std::nullopt;
}

// Of a bound that comes out of memory (the length of a sequence) the other one is taken: no padding.
template<typename F>
Value either(const Value &a, const Value &b, F f) {
    return a && b ? Value(f(*a, *b)) : a ? a : b;
}

}  // namespace

BufferSizes parse_sizes(const std::string &text) {
    BufferSizes sizes;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        const std::string item = text.substr(at, end - at);
        const size_t colon = item.find(':');
        if (colon == std::string::npos || colon == 0) {
            throw std::invalid_argument("\"" + item + "\" is not the size of a buffer; write name:4096x64");
        }
        std::vector<int64_t> &extents = sizes[item.substr(0, colon)];
        for (size_t i = colon + 1; i < item.size();) {
            size_t used = 0;
            const std::string number = item.substr(i, 12);
            if (number[0] < '0' || number[0] > '9') {
                throw std::invalid_argument("\"" + item + "\" is not the size of a buffer; write name:4096x64");
            }
            extents.push_back(std::stoll(number, &used));
            i += used + 1;
        }
        at = end + 1;
    }
    return sizes;
}

void IndexValue::push_let(const std::string &name, const Expr &value) {
    bindings_[name].push_back({value, 0, {}});
}

void IndexValue::push_loop(const std::string &name, int64_t value) {
    bindings_[name].push_back({Expr(), value, {}});
    time_++;
}

void IndexValue::pop(const std::string &name) {
    bindings_[name].pop_back();
    time_++;
}

void IndexValue::set_loop(const std::string &name, int64_t value) {
    bindings_[name].back().known = value;
    time_++;
}

Value IndexValue::buffer_field(const std::string &name) const {
    for (const char *field : {".extent.", ".min.", ".stride."}) {
        const size_t at = name.rfind(field);
        const auto b = at == std::string::npos ? sizes_.end() : sizes_.find(name.substr(0, at));
        const std::string dimension = at == std::string::npos ? "" : name.substr(at + std::string(field).size());
        if (b == sizes_.end() || dimension.size() != 1 || dimension[0] < '0' || dimension[0] > '9') {
            continue;  // x.min.0.required is a let
        }
        const size_t d = size_t(dimension[0] - '0');
        if (d >= b->second.size()) {
            return std::nullopt;
        }
        if (field[1] == 'e') {
            return b->second[d];
        }
        int64_t stride = 1;
        for (size_t i = 0; i < d; i++) {
            stride *= b->second[i];
        }
        return field[1] == 'm' ? 0 : stride;
    }
    return std::nullopt;
}

Value IndexValue::variable(const std::string &name, int lane) {
    if (const Value v = buffer_field(name)) {
        return v;
    }
    const auto it = bindings_.find(name);
    if (it == bindings_.end() || it->second.empty()) {
        const auto scalar = sizes_.find(name);  // an integer argument
        return scalar != sizes_.end() && scalar->second.size() == 1 ? Value(scalar->second[0]) : std::nullopt;
    }
    if (!it->second.back().value.defined()) {
        return it->second.back().known;
    }
    const auto memo = it->second.back().lanes.find(lane);
    if (memo != it->second.back().lanes.end() && memo->second.first == time_) {
        return memo->second.second;
    }
    // A let may hide another of its name, which its value then means.
    const Binding let = it->second.back();
    it->second.pop_back();
    const Value v = (*this)(let.value, lane);
    auto &stack = bindings_[name];
    stack.push_back(let);
    stack.back().lanes[lane] = {time_, v};
    return v;
}

Value IndexValue::call(const Call *op, int lane) {
    const auto arg = [&](size_t i) { return (*this)(op->args[i], lane); };
    if (op->name == "_halide_buffer_is_bounds_query") {
        return 0;
    }
    if (op->is_intrinsic(Call::likely) || op->is_intrinsic(Call::likely_if_innermost) || op->is_intrinsic(Call::promise_clamped) ||
        op->is_intrinsic(Call::unsafe_promise_clamped)) {
        return arg(0);
    }
    if (op->name == Call::buffer_get_extent && op->args.size() == 2) {
        const auto *buffer = op->args[0].as<Variable>();  // NAME.buffer
        const Value d = arg(1);
        return buffer && d ? buffer_field(buffer->name.substr(0, buffer->name.rfind('.')) + ".extent." + std::to_string(*d)) : std::nullopt;
    }
    if (op->args.size() == 2) {
        const Value a = arg(0), b = arg(1);
        if (op->is_intrinsic(Call::shift_left)) {
            return both(a, b, shift);
        } else if (op->is_intrinsic(Call::shift_right)) {
            return both(a, b, [](int64_t x, int64_t y) { return shift(x, y <= -64 ? 64 : -y); });
        } else if (op->is_intrinsic(Call::bitwise_and)) {
            return both(a, b, [](int64_t x, int64_t y) { return x & y; });
        } else if (op->is_intrinsic(Call::bitwise_or)) {
            return both(a, b, [](int64_t x, int64_t y) { return x | y; });
        } else if (op->is_intrinsic(Call::div_round_to_zero)) {
            return both(a, b, divide_to_zero);
        } else if (op->is_intrinsic(Call::mod_round_to_zero)) {
            return both(a, b, [](int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; });
        } else if (op->is_intrinsic(Call::return_second)) {
            return b;
        }
    }
    if (op->args.size() == 3 && op->is_intrinsic(Call::if_then_else)) {
        const Value c = arg(0);
        return c ? arg(*c ? 1 : 2) : std::nullopt;
    }
    return std::nullopt;
}

Value IndexValue::operator()(const Expr &e, int lane) {
    const auto of = [&](const Expr &x) { return (*this)(x, lane); };
    const auto least = [](int64_t x, int64_t y) { return std::min(x, y); };
    const auto most = [](int64_t x, int64_t y) { return std::max(x, y); };
    switch (e.node_type()) {
    case IRNodeType::IntImm: return e.as<IntImm>()->value;
    case IRNodeType::UIntImm: return int64_t(e.as<UIntImm>()->value);
    case IRNodeType::Variable: return variable(e.as<Variable>()->name, lane);
    case IRNodeType::Cast: return e.type().is_float() || e.as<Cast>()->value.type().is_float() ? std::nullopt : of(e.as<Cast>()->value);
    case IRNodeType::Add: return both(of(e.as<Add>()->a), of(e.as<Add>()->b), sum);
    case IRNodeType::Sub: return both(of(e.as<Sub>()->a), of(e.as<Sub>()->b), difference);
    case IRNodeType::Mul: return both(of(e.as<Mul>()->a), of(e.as<Mul>()->b), product);
    case IRNodeType::Div: return both(of(e.as<Div>()->a), of(e.as<Div>()->b), divide);
    case IRNodeType::Mod: return both(of(e.as<Mod>()->a), of(e.as<Mod>()->b), modulo);
    case IRNodeType::Min: return either(of(e.as<Min>()->a), of(e.as<Min>()->b), least);
    case IRNodeType::Max: return either(of(e.as<Max>()->a), of(e.as<Max>()->b), most);
    case IRNodeType::EQ: return both(of(e.as<EQ>()->a), of(e.as<EQ>()->b), [](int64_t x, int64_t y) { return int64_t(x == y); });
    case IRNodeType::NE: return both(of(e.as<NE>()->a), of(e.as<NE>()->b), [](int64_t x, int64_t y) { return int64_t(x != y); });
    case IRNodeType::LT: return both(of(e.as<LT>()->a), of(e.as<LT>()->b), [](int64_t x, int64_t y) { return int64_t(x < y); });
    case IRNodeType::LE: return both(of(e.as<LE>()->a), of(e.as<LE>()->b), [](int64_t x, int64_t y) { return int64_t(x <= y); });
    case IRNodeType::GT: return both(of(e.as<GT>()->a), of(e.as<GT>()->b), [](int64_t x, int64_t y) { return int64_t(x > y); });
    case IRNodeType::GE: return both(of(e.as<GE>()->a), of(e.as<GE>()->b), [](int64_t x, int64_t y) { return int64_t(x >= y); });
    case IRNodeType::And: return either(of(e.as<And>()->a), of(e.as<And>()->b), [](int64_t x, int64_t y) { return x && y; });
    case IRNodeType::Or: return either(of(e.as<Or>()->a), of(e.as<Or>()->b), [](int64_t x, int64_t y) { return x || y; });
    case IRNodeType::Not: {
        const Value v = of(e.as<Not>()->a);
        return v ? Value(!*v) : v;
    }
    case IRNodeType::Select: {
        const auto *op = e.as<Select>();
        const Value c = of(op->condition);
        return c ? of(*c ? op->true_value : op->false_value) : std::nullopt;
    }
    case IRNodeType::Ramp: {
        const auto *op = e.as<Ramp>();
        const int inner = op->base.type().lanes();
        const int64_t step = lane / inner;
        return both((*this)(op->base, lane % inner), (*this)(op->stride, lane % inner), [&](int64_t base, int64_t stride) {
            const Value far = product(step, stride);
            return far ? sum(base, *far) : far;
        });
    }
    case IRNodeType::Broadcast: return (*this)(e.as<Broadcast>()->value, lane % e.as<Broadcast>()->value.type().lanes());
    case IRNodeType::Shuffle: {
        const auto *op = e.as<Shuffle>();
        int at = op->indices[size_t(lane)];
        for (const Expr &v : op->vectors) {
            if (at < v.type().lanes()) {
                return (*this)(v, at);
            }
            at -= v.type().lanes();
        }
        return std::nullopt;
    }
    case IRNodeType::Let: {
        const auto *op = e.as<Let>();
        push_let(op->name, op->value);
        const Value v = of(op->body);
        bindings_[op->name].pop_back();
        return v;
    }
    case IRNodeType::Call: return call(e.as<Call>(), lane);
    default: return std::nullopt;
    }
}

}  // namespace halyard
