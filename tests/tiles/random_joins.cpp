// Several products of one matrix, for tests of what may be one launch: rows may be computed before, results may be arrays of the pipeline
// that are read on the device or the host, or that an update stores in part, and a product may need the result of one before.
//
//   y_i(c, r) = f(sum over k of x_i[k, r] w_i[k, c])      x_i: x, 2 x, or the result of the part before

#include <Halide.h>

#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace Halide;

class RandomJoins : public Generator<RandomJoins> {
public:
    GeneratorParam<Type> type{"type", BFloat(16)};
    // "rows.result.added" for each, with blanks between them: x, twice or last; out, within or half; none or next, the result behind it.
    GeneratorParam<std::string> parts{"parts", "x.out"};
    GeneratorParam<bool> shared{"shared", false};  // all have the columns of the first

    void configure() {
        x = add_input<Buffer<>>("x", type, 2);
        std::istringstream all(parts.value());
        std::string word;
        while (all >> word) {
            const std::string of = std::to_string(list.size());
            Part p;
            std::istringstream fields(word);
            std::getline(fields, p.rows, '.');
            std::getline(fields, p.result, '.');
            std::getline(fields, p.added, '.');
            p.w = shared && !list.empty() ? list[0].w : add_input<Buffer<>>("w" + of, type, 2);
            list.push_back(p);
        }
        for (size_t i = 0; i < list.size(); i++) {
            list[i].y = add_output<Buffer<>>("y" + std::to_string(i), type, 2);
        }
    }

    void generate() {
        for (size_t i = 0; i < list.size(); i++) {
            Part &p = list[i];
            const std::string of = std::to_string(i);
            Func twice("twice" + of), acc("acc" + of), to("half" + of);
            const bool last = p.rows == "last" && i > 0 && list[i - 1].result != "out";
            const RDom k(0, last ? list[i - 1].w->height() : x->width(), "k");
            const Expr r = min(row, x->height() - 1);
            const Expr given = last ? list[i - 1].half(min(k, list[i - 1].w->height() - 1), r) : (*x)(k, r);
            if (p.rows == "twice") {
                const Var d("d");
                twice(d, row) = cast(type, (*x)(min(d, x->width() - 1), r) * cast(type, 2));
            }
            const Expr value = p.rows == "twice" ? twice(k, row) : given;
            acc(col, row) += cast<float>(value) * cast<float>((*p.w)(last ? min(k, p.w->width() - 1) : k, min(col, p.w->height() - 1)));
            Func result = p.result == "out" ? Func(*p.y) : to;
            if (p.result == "half") {
                result(col, row) = cast(type, 7);
                const RDom some(0, (x->height() + 1) / 2, "r" + of);
                result(col, some) = cast(type, acc(col, some));
            } else {
                result(col, row) = cast(type, acc(col, row));
            }
            if (p.result != "out") {
                p.half = to;
                p.half.compute_root();  // of the naive schedule
            }
        }
        for (size_t i = 0; i < list.size(); i++) {
            const Part &p = list[i];
            if (p.result != "out") {
                const bool adds = p.added == "next" && i + 1 < list.size() && list[i + 1].result == "out";
                const Expr added = adds ? cast<float>(Func(*list[i + 1].y)(min(col, list[i + 1].w->height() - 1), row)) : 1.0f;
                (*p.y)(col, row) = cast(type, cast<float>(p.half(col, row)) + added);
            }
        }
    }

private:
    struct Part {
        std::string rows, result, added;
        Input<Buffer<>> *w = nullptr;
        Output<Buffer<>> *y = nullptr;
        Func half;
    };
    std::vector<Part> list;
    Input<Buffer<>> *x = nullptr;
    Var col{"col"}, row{"row"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(RandomJoins, random_joins)
