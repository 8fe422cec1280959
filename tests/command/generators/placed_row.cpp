// A row that goes to the place that an array says: which rows of the result there are hangs on what is in it.

#include <Halide.h>

namespace {

using namespace Halide;

class PlacedRow : public Generator<PlacedRow> {
public:
    Input<Buffer<float, 1>> x{"x"};            // [cols]
    Input<Buffer<int32_t, 1>> place{"place"};  // [1]
    Output<Buffer<float, 2>> y{"y"};           // [cols, rows]

    void generate() {
        y(col, row) = undef<float>();
        y(col, place(0)) = x(col);
    }

private:
    Var col{"col"}, row{"row"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(PlacedRow, placed_row)
