// A 3x3 box sum of a picture, with a schedule of its own as Halide's apps have one, in several forms.

#include <Halide.h>

namespace {

using namespace Halide;

enum class Form { Strips, Clone, Specialised, Promised, Nothing, Always };

class OwnStrips : public Generator<OwnStrips> {
public:
    GeneratorParam<Form> form{"form",
                              Form::Strips,
                              {{"strips", Form::Strips},
                               {"clone", Form::Clone},
                               {"specialised", Form::Specialised},
                               {"promised", Form::Promised},
                               {"nothing", Form::Nothing},
                               {"always", Form::Always}}};
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 2>> summed{"summed"};

    void generate() {
        const Var x("x"), y;
        const RDom r(0, 3);
        Func scaled("scaled"), across("across"), again;
        scaled(x, y) = sqrt(abs(input(x, y)));
        across(x, y) += scaled(x + r, y);
        again(x, y) = scaled(x, y) * 2.0f;
        summed(x, y) = across(x, y) + across(x, y + 1) + across(x, y + 2) + again(x, y);
        input.set_estimates({{0, 514}, {0, 258}});
        summed.set_estimates({{0, 512}, {0, 256}});
        if (form == Form::Always) {
            summed.vectorize(x, 8);
        }
        if (using_autoscheduler() || form == Form::Nothing) {
            return;
        }
        Var task, in_task, tile;
        summed.split(y, task, in_task, 32, TailStrategy::GuardWithIf).parallel(task).vectorize(x, 8, TailStrategy::GuardWithIf);
        across.store_at(summed, task).compute_at(summed, in_task).vectorize(x, 8, TailStrategy::RoundUp);
        across.update().reorder(x, r.x).unroll(r.x).vectorize(x, 8, TailStrategy::GuardWithIf);
        scaled.compute_at(summed, task).vectorize(x, 8, TailStrategy::RoundUp);
        if (form == Form::Clone) {
            scaled.clone_in(again).compute_root().split(x, x, tile, 16, TailStrategy::RoundUp).vectorize(tile);
        }
        if (form == Form::Specialised) {
            summed.specialize(summed.width() >= 64);
        }
        if (form == Form::Promised) {
            input.dim(0).set_extent(520);
            summed.dim(0).set_bounds(0, 512);
        }
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(OwnStrips, own_strips)
