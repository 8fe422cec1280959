// Softmax over each row of logits that are capped smoothly, as attention of Gemma 2 has them.

#include <Halide.h>

using namespace Halide;

class SoftCap : public Generator<SoftCap> {
public:
    Input<Buffer<float, 2>> x{"x"};  // [col, row]
    Input<float> cap{"cap", 30.0f};
    Output<Buffer<float, 2>> y{"y"};

    void generate() {
        RDom r(0, x.dim(0).extent(), "r");
        capped(col, row) = cap * tanh(x(col, row) / cap);
        row_max(row) = Float(32).min();
        row_max(row) = max(row_max(row), capped(r, row));
        weight(col, row) = exp(capped(col, row) - row_max(row));
        row_sum(row) += weight(r, row);
        y(col, row) = weight(col, row) / row_sum(row);

        x.set_estimates({{0, 1024}, {0, 128}});
        y.set_estimates({{0, 1024}, {0, 128}});
        cap.set_estimate(30.0f);
    }

private:
    Var col{"col"}, row{"row"};
    Func capped{"capped"}, row_max{"row_max"}, weight{"weight"}, row_sum{"row_sum"};
};

HALIDE_REGISTER_GENERATOR(SoftCap, soft_cap)
