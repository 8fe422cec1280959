// A result that products are written to in parts, for tests of what a tile may store: of rows and columns that updates say, the others
// stay as they were.
//
//   y(c, r) = 7;  y(place of c, place of r) = f(sum over k of a[k, r] b[k, c], y)      for each update

#include <Halide.h>

#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace Halide;

class RandomUpdates : public Generator<RandomUpdates> {
public:
    GeneratorParam<Type> type{"type", BFloat(16)}, result{"result", BFloat(16)};
    // "rows.columns.number.value" for each, with blanks between them.
    GeneratorParam<std::string> updates{"updates", "half.all.0.sum"};
    GeneratorParam<bool> within{"within", false};    // the result is an array of the pipeline
    GeneratorParam<bool> doubled{"doubled", false};  // the rows are computed
    GeneratorParam<bool> across{"across", false};    // b [n, k]
    // Of an operand, of the array of the pipeline, and of a dimension.
    GeneratorParam<std::string> name_a{"name_a", "a"}, name_half{"name_half", "half"}, name_col{"name_col", "col"};

    void configure() {
        a = add_input<Buffer<>>(name_a.value(), type, 2);
        b = add_input<Buffer<>>("b", type, 2);
        y = add_output<Buffer<>>("y", result, 2);
    }

    void generate() {
        const RDom k(0, a->width(), "k");
        const Var col(name_col.value());
        Func half(name_half.value());
        Func to = within ? half : Func(*y);
        to(col, row) = cast(result, 7);
        std::istringstream all(updates.value());
        std::string word;
        for (int i = 0; all >> word; i++) {
            std::istringstream fields(word);
            std::string rows, columns, number, value;
            std::getline(fields, rows, '.');
            std::getline(fields, columns, '.');
            std::getline(fields, number, '.');
            std::getline(fields, value, '.');
            const int n = std::stoi(number);
            const std::string of = std::to_string(i);
            Func acc("acc" + of);
            const Expr a_row = a_at(k, row), b_col = across ? (*b)(last(col, b->width()), k) : (*b)(k, last(col, b->height()));
            acc(col, row) += cast<float>(doubled ? cast(type, a_row * cast(type, 2)) : a_row) * cast<float>(b_col);
            const Expr wide = across ? b->width() : b->height();
            std::vector<Range> ranges = {domain(rows, n, a->height())};
            if (columns != "all") {
                ranges.insert(ranges.begin(), domain(columns, n, wide));
            }
            const RDom both(ranges, "r" + of);
            const RVar r = both[int(ranges.size()) - 1], x = both[0];
            const Expr c = columns == "all" ? Expr(col) : Expr(x);
            const Expr at_col = columns == "all" ? c : place(columns, n, x, wide), at_row = place(rows, n, r, a->height());
            const Expr sum = acc(c, r);
            const Expr old = cast<float>(to(at_col, at_row));
            to(at_col, at_row) = cast(result, value == "old" ? old + sum : value == "scaled" ? sum * 2.0f + 1.0f : sum);
        }
        if (within) {
            half.compute_root();  // of the naive schedule, which would compute all of it for each element
            (*y)(col, row) = cast(result, cast<float>(half(col, row)) + 1.0f);
        }
    }

private:
    static Expr last(const Expr &i, const Expr &extent) {
        return min(i, extent - 1);
    }
    Expr a_at(const RDom &k, const Expr &r) const {
        return (*a)(k, last(r, a->height()));
    }

    // How many, and from where.
    static Range domain(const std::string &how, int n, const Expr &extent) {
        return how == "half"     ? Range(0, (extent + 1) / 2)
               : how == "from"   ? Range(0, max(extent - n, 0))
               : how == "first"  ? Range(0, min(extent, n))
               : how == "every"  ? Range(0, (extent + n) / (n + 1))
               : how == "middle" ? Range(n, max(extent - 2 * n, 0))
                                 : Range(0, extent);  // all, back
    }

    static Expr place(const std::string &how, int n, const Expr &i, const Expr &extent) {
        return how == "from" ? i + n : how == "every" ? i * (n + 1) : how == "back" ? extent - 1 - i : i;
    }

    Input<Buffer<>> *a = nullptr, *b = nullptr;
    Output<Buffer<>> *y = nullptr;
    Var row{"row"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(RandomUpdates, random_updates)
