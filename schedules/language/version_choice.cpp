#include "language/version_choice.h"

#include <sstream>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;
using nlohmann::json;

namespace {

// How tightly operators bind, the loosest first.
enum Level { kOr, kAnd, kComparison, kSum, kProduct, kOperand };

class ConditionText {
public:
    explicit ConditionText(const BufferSizes *sizes) : sizes_(sizes) {}

    std::string text(const Expr &e, int around = kOr) const {
        if (const auto *op = e.as<And>()) {
            return binary(op->a, "and", op->b, kAnd, around);
        } else if (const auto *op = e.as<Or>()) {
            return binary(op->a, "or", op->b, kOr, around);
        } else if (const auto *op = e.as<Not>()) {
            return "not (" + text(op->a) + ")";
        } else if (const auto *op = e.as<EQ>()) {
            return comparison(op->a, "==", op->b, around);
        } else if (const auto *op = e.as<NE>()) {
            return comparison(op->a, "~=", op->b, around);
        } else if (const auto *op = e.as<LT>()) {
            return comparison(op->a, "<", op->b, around);
        } else if (const auto *op = e.as<LE>()) {
            return comparison(op->a, "<=", op->b, around);
        } else if (const auto *op = e.as<GT>()) {
            return comparison(op->a, ">", op->b, around);
        } else if (const auto *op = e.as<GE>()) {
            return comparison(op->a, ">=", op->b, around);
        } else if (const auto *op = e.as<Add>()) {
            return binary(op->a, "+", op->b, kSum, around);
        } else if (const auto *op = e.as<Sub>()) {
            return binary(op->a, "-", op->b, kSum, around, kProduct);
        } else if (const auto *op = e.as<Mul>()) {
            return is_const_one(op->b) ? text(op->a, around) : binary(op->a, "*", op->b, kProduct, around, kOperand);
        } else if (const auto *op = e.as<Div>()) {
            return binary(op->a, "//", op->b, kProduct, around, kOperand);
        } else if (const auto *op = e.as<Mod>()) {
            return binary(op->a, "%", op->b, kProduct, around, kOperand);
        } else if (const auto *op = e.as<Min>()) {
            return "min(" + text(op->a) + ", " + text(op->b) + ")";
        } else if (const auto *op = e.as<Max>()) {
            return "max(" + text(op->a) + ", " + text(op->b) + ")";
        } else if (const auto *op = e.as<Cast>()) {
            return text(op->value, around);
        } else if (const auto *op = e.as<Variable>()) {
            return variable(*op);
        } else if (const auto number = as_const_int(e)) {
            return std::to_string(*number);
        }
        std::ostringstream other;
        other << e;
        return other.str();
    }

private:
    std::string binary(const Expr &a, const char *name, const Expr &b, int level, int around, int right = -1) const {
        const std::string s = text(a, level) + " " + name + " " + text(b, right < 0 ? level : right);
        return level < around ? "(" + s + ")" : s;
    }

    std::string comparison(const Expr &a, const char *name, const Expr &b, int around) const {
        const std::string s = side(a) + " " + name + " " + side(b);
        return kComparison < around ? "(" + s + ")" : s;
    }

    // What is long to read with sizes put in is their result.
    std::string side(const Expr &e) const {
        constexpr size_t kLong = 24;
        const std::string s = text(e, kSum);
        if (!sizes_ || s.size() <= kLong) {
            return s;
        }
        const auto known = IndexValue(*sizes_)(e);
        return known ? std::to_string(*known) : s;
    }

    // "x.extent.0", "x.stride.1", "n"
    std::string variable(const Variable &v) const {
        if (sizes_) {
            IndexValue value(*sizes_);
            const auto known = value(Expr(&v));
            if (known) {
                return std::to_string(*known);
            }
        }
        const size_t last = v.name.rfind('.'), first = last == std::string::npos || last == 0 ? last : v.name.rfind('.', last - 1);
        if (!v.param.defined() || !v.param.is_buffer() || first == std::string::npos) {
            return v.name;
        }
        return "k." + v.name.substr(0, first) + ":dim(" + v.name.substr(last + 1) + "):" + v.name.substr(first + 1, last - first - 1) +
               "()";
    }

    const BufferSizes *const sizes_;
};

void add_failing(const Expr &condition, IndexValue &value, std::vector<Expr> &failing) {
    if (const And *both = condition.as<And>()) {
        add_failing(both->a, value, failing);
        add_failing(both->b, value, failing);
    } else if (value(condition).value_or(0) == 0) {
        failing.push_back(condition);
    }
}

}  // namespace

std::string condition_text(const Expr &condition, const BufferSizes *sizes) {
    return ConditionText(sizes).text(condition);
}

json version_choice(const std::vector<ScheduleVersion> &versions, const BufferSizes &sizes) {
    const ScheduleVersion *const taken = &version_at(versions, sizes);
    json all = json::array();
    for (const auto &v : versions) {
        json j = {{"set", text_of(v.set)}};
        if (v.condition.defined()) {
            IndexValue value(sizes);
            j["when"] = condition_text(v.condition);
            j["with_sizes"] = condition_text(v.condition, &sizes);
            j["holds"] = value(v.condition).value_or(0) != 0;
            std::vector<Expr> failing;
            add_failing(v.condition, value, failing);
            if (!failing.empty()) {
                j["fails"] = condition_text(failing.front());
                j["fails_with_sizes"] = condition_text(failing.front(), &sizes);
            }
        }
        IndexValue value(sizes);
        if (v.cost.defined() && (!v.when.defined() || value(v.when).value_or(0) != 0)) {
            j["cost"] = value(v.cost).value_or(0);
        }
        all.push_back(j);
    }
    return {{"taken", taken - versions.data()}, {"versions", all}};
}

}  // namespace halyard
