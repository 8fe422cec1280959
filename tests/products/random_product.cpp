// A product of whatever layout its parameters say, for tests of how its operands and results are found in memory:
//
//   y[..] = f(sum over k of a[k, ..] b[k, ..])
//
// An order has a letter for each dimension, innermost first: k, c (columns), r (rows), n and m (two batches).

#include <Halide.h>

#include <string>

namespace {

using namespace Halide;

class RandomProduct : public Generator<RandomProduct> {
public:
    GeneratorParam<Type> type{"type", BFloat(16)};  // of operands
    GeneratorParam<Type> result{"result", Float(32)};
    GeneratorParam<std::string> a_order{"a_order", "kr"}, b_order{"b_order", "kc"}, y_order{"y_order", "cr"};
    GeneratorParam<std::string> a_source{"a_source", ""}, b_source{"b_source", ""};  // the order of what it is computed of, if it is
    GeneratorParam<std::string> r_order{"r_order", ""};                              // of a residual, if there is one
    GeneratorParam<bool> a_again{"a_again", false};                                  // the row before, added to the result
    GeneratorParam<bool> reversed{"reversed", false};                                // the n of a
    GeneratorParam<bool> two_stages{"two_stages", false};                            // the result is computed for another stage

    void configure() {
        a = add_input<Buffer<>>("a", type, rank(a_source.value().empty() ? a_order : a_source));
        b = add_input<Buffer<>>("b", type, rank(b_source.value().empty() ? b_order : b_source));
        if (!r_order.value().empty()) {
            r = add_input<Buffer<>>("r", Float(32), rank(r_order));
        }
        y = add_output<Buffer<>>("y", result, rank(y_order));
    }

    void generate() {
        const Func at = operand(a, a_order, a_source, "za"), bt = operand(b, b_order, b_source, "zb");
        const std::string of_a = order_of(a_order, a_source), of_b = order_of(b_order, b_source);
        const RDom k(a->dim(place(of_a, 'k')).min(), a->dim(place(of_a, 'k')).extent(), "k");
        const Type sum = type.value().is_int() ? Int(32) : Float(32);
        // Of rows and columns that a schedule rounds up, the last one there is.
        const auto last = [&](char d, const Var &v) -> Expr {
            return min(v, of_a.find(d) != std::string::npos && d != 'c' ? a->dim(place(of_a, d)).max() : b->dim(place(of_b, d)).max());
        };
        const auto of_batch = [&](char d, const Var &v) -> Expr { return has(of_a, d) || has(of_b, d) ? last(d, v) : Expr(v); };
        const auto places = [&](char d, const Expr &depth, bool of_left) -> Expr {
            switch (d) {
            case 'k': return depth;
            case 'r': return last('r', row);
            case 'c': return last('c', col);
            case 'n': {
                const Expr at = of_batch('n', n);
                return of_left && reversed && has(of_a, 'n') ? a->dim(place(of_a, 'n')).max() + a->dim(place(of_a, 'n')).min() - at : at;
            }
            default: return of_batch('m', m);
            }
        };
        const auto read = [&](const Func &f, const std::string &order, const Expr &depth, bool of_left) {
            std::vector<Expr> args;
            for (const char d : order) {
                args.push_back(places(d, depth, of_left));
            }
            return f(args);
        };
        std::vector<Var> own = {col, row}, stored = vars(y_order);
        std::vector<Expr> sums = {col, row};
        for (const char d : std::string("nm")) {
            if (has(y_order, d)) {
                own.push_back(d == 'n' ? n : m);
                sums.emplace_back(own.back());
            }
        }
        acc(own) += cast(sum, read(at, a_order, k, true)) * cast(sum, read(bt, b_order, k, false));
        Expr value = cast<float>(acc(sums)) * 2.0f + 1.0f;
        if (r) {
            value += read(*r, r_order, 0, false);
        }
        if (a_again) {
            const Expr first = a->dim(place(of_a, 'r')).min();
            std::vector<Expr> args;
            for (const char d : a_order.value()) {
                args.push_back(d == 'r' ? max(places('r', 0, false) - 1, first) : places(d, k_min(of_a), false));
            }
            value += cast<float>(at(args));
        }
        p(stored) = cast(result, value);
        if (two_stages) {
            (*y)(stored) = p(stored) + cast(result, 1);
        } else {
            (*y)(stored) = p(stored);
        }
    }

private:
    static int rank(const std::string &order) {
        return int(order.size());
    }
    static bool has(const std::string &order, char d) {
        return order.find(d) != std::string::npos;
    }
    static int place(const std::string &order, char d) {
        return int(order.find(d));
    }
    static std::string order_of(const std::string &order, const std::string &source) {
        return source.empty() ? order : source;
    }
    Expr k_min(const std::string &order) const {
        return a->dim(place(order, 'k')).min();
    }

    std::vector<Var> vars(const std::string &order) const {
        std::vector<Var> all;
        for (const char d : order) {
            all.push_back(d == 'k' ? depth : d == 'r' ? row : d == 'c' ? col : d == 'n' ? n : m);
        }
        return all;
    }

    // What the pipeline computes itself may be computed beyond its source, where a schedule rounds up.
    Func operand(Input<Buffer<>> *input, const std::string &order, const std::string &source, const std::string &name) {
        if (source.empty()) {
            return *input;
        }
        Func z(name);
        std::vector<Expr> args;
        for (const char d : source) {
            const auto dim = input->dim(place(source, d));
            args.push_back(clamp(vars(std::string(1, d))[0], dim.min(), dim.max()));
        }
        z(vars(order)) = cast(type, (*input)(args)*cast(type, 2));
        return z;
    }

    Input<Buffer<>> *a = nullptr, *b = nullptr, *r = nullptr;
    Output<Buffer<>> *y = nullptr;
    Var col{"col"}, row{"row"}, depth{"depth"}, n{"n"}, m{"m"};
    Func acc{"acc"}, p{"p"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(RandomProduct, random_product)
