// A product of which one operand is computed on the way in, of whatever numbers its parameter says, for tests of where those are found:
//
//   y[col, row] = sum over k of cast(code[k, row] * number * number ..) * b[k, col]
//
// `numbers` has a word for each, as "row.float32 group.bfloat16.32": what it is a number of, its type, and how much of the depth shares it.

#include <Halide.h>

#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace Halide;

struct Number {
    std::string of, type;
    int group = 1;
};

std::vector<Number> numbers_of(const std::string &text) {
    std::vector<Number> all;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        std::istringstream parts(word);
        Number n;
        std::string group;
        std::getline(parts, n.of, '.');
        std::getline(parts, n.type, '.');
        if (std::getline(parts, group, '.')) {
            n.group = std::stoi(group);
        }
        all.push_back(n);
    }
    return all;
}

Type type_named(const std::string &name) {
    return name == "bfloat16"  ? BFloat(16)
           : name == "float16" ? Float(16)
           : name == "float32" ? Float(32)
           : name == "int8"    ? Int(8)
           : name == "uint8"   ? UInt(8)
                               : Int(32);
}

class RandomRows : public Generator<RandomRows> {
public:
    GeneratorParam<Type> type{"type", BFloat(16)};
    GeneratorParam<std::string> code{"code", "int8"};  // a type, or "nibbles": two in a byte
    GeneratorParam<std::string> numbers{"numbers", ""};
    GeneratorParam<int> depth{"depth", 0};           // 0: of a call
    GeneratorParam<bool> columns{"columns", false};  // the computed operand is that of the columns
    GeneratorParam<bool> across{"across", false};    // of the other one: neighbours are columns
    GeneratorParam<bool> staged{"staged", false};    // a Func of its own
    GeneratorParam<bool> masked{"masked", false};    // elements from a length of the row on are 0
    /** What a result is multiplied with, or added to: an entry of a table that its column, its row or its sum names. */
    GeneratorParam<std::string> after{"after", ""};

    void configure() {
        code_type = code.value() == "nibbles" ? UInt(8) : type_named(code);
        a = add_input<Buffer<>>("a", code_type, 2);
        b = add_input<Buffer<>>("b", type, 2);
        all = numbers_of(numbers);
        for (size_t i = 0; i < all.size(); i++) {
            const bool two = all[i].of == "group" || all[i].of == "across" || all[i].of == "zero";
            inputs.push_back(add_input<Buffer<>>("n" + std::to_string(i), type_named(all[i].type), two ? 2 : 1));
        }
        if (has("gather")) {
            index = add_input<Buffer<>>("index", Int(32), 1);
        }
        if (masked) {
            length = add_input<Buffer<>>("length", Int(32), 1);
        }
        if (!after.value().empty()) {
            table = add_input<Buffer<>>("table", type, 1);
        }
        if (after.value() == "column" || after.value() == "row") {
            entry = add_input<Buffer<>>("entry", Int(32), 1);
        }
        y = add_output<Buffer<>>("y", Float(32), 2);
    }

    void generate() {
        const Expr extent = depth == 0 ? b->dim(across ? 1 : 0).extent() : Expr(int(depth));
        const RDom k(0, extent, "k");
        const Var own = columns ? col : row;
        const Expr line = min(own, a->dim(1).extent() - 1);
        Expr computed;
        if (staged) {
            aw(kk, own) = value(kk, line);
            computed = aw(k, own);
        } else {
            computed = value(k, line);
        }
        const Var other = columns ? row : col;
        const Expr place = min(other, b->dim(across ? 0 : 1).extent() - 1);
        const Expr plain = across ? (*b)(place, k) : (*b)(k, place);
        const Expr left = columns ? plain : computed, right = columns ? computed : plain;
        acc(col, row) += cast<float>(left) * cast<float>(right);
        const auto looked_up = [&](const Expr &i) { return cast<float>((*table)(clamp(i, 0, table->dim(0).extent() - 1))); };
        if (after.value() == "column" || after.value() == "row") {
            (*y)(col, row) = acc(col, row) * looked_up((*entry)(after.value() == "column" ? col : row));
        } else if (after.value() == "sum") {
            (*y)(col, row) = acc(col, row) + looked_up(cast<int>(acc(col, row)));
        } else {
            (*y)(col, row) = acc(col, row);
        }
    }

private:
    // One element, at a depth and in a line.
    Expr value(const Expr &d, const Expr &l) const {
        if (all.empty() && code_type == type.value() && !masked) {
            return (*a)(d, l);
        }
        Expr v = cast<float>((*a)(d, l));
        if (code.value() == "nibbles") {
            v = cast<float>(((*a)(d / 2, l) >> cast<uint8_t>(d % 2 * 4)) & 15);
        }
        for (size_t i = 0; i < all.size(); i++) {
            const Number &n = all[i];
            const auto at = [&](const std::vector<Expr> &where) { return cast<float>((*inputs[i])(where)); };
            const Expr last = inputs[i]->dim(0).extent() - 1;
            if (n.of == "row") {
                v = v * at({l});
            } else if (n.of == "depth") {
                v = v * at({d / n.group});
            } else if (n.of == "group") {
                v = v * at({d / n.group, l});
            } else if (n.of == "across") {
                v = v * at({l, d / n.group});
            } else if (n.of == "zero") {
                v = v - at({d / n.group, l});
            } else if (n.of == "one") {
                v = v * at({Expr(0)});
            } else if (n.of == "gather") {
                v = v * at({clamp((*index)(l), 0, last)});
            } else if (n.of == "lookup") {  // a code stands for what a table says
                v = at({clamp(cast<int>(v), 0, last)});
            } else if (n.of == "mixed") {
                v = v * at({(d / n.group + l) % (last + 1)});
            } else if (n.of == "folded") {
                v = v * at({d % n.group});
            }
        }
        return cast(type, masked ? select(d < (*length)(l), v, 0.0f) : v);
    }

    bool has(const std::string &of) const {
        for (const auto &n : all) {
            if (n.of == of) {
                return true;
            }
        }
        return false;
    }

    std::vector<Number> all;
    Type code_type;
    Input<Buffer<>> *a = nullptr, *b = nullptr, *index = nullptr, *length = nullptr, *table = nullptr, *entry = nullptr;
    std::vector<Input<Buffer<>> *> inputs;
    Output<Buffer<>> *y = nullptr;
    Var col{"col"}, row{"row"}, kk{"kk"};
    Func acc{"acc"}, aw{"aw"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(RandomRows, random_rows)
