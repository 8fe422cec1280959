// The algorithms as stock generators, for libraries that are linked and loaded as those of an op are.

#include "pipelines.h"

namespace {

using namespace Halide;

template<typename Self>
class OfAlgorithm : public Generator<Self> {
public:
    GeneratorInput<Buffer<int, 2>> x{"x"}, w{"w"};
    GeneratorInput<int> scale{"scale"};

protected:
    std::vector<Func> define(const std::string &name) {
        return fuzz::define_algorithm(name, {x, w, x.width(), x.height(), scale});
    }
};

#define HALYARD_FUZZED(NAME)                                                                                                               \
    class Fuzzed_##NAME : public OfAlgorithm<Fuzzed_##NAME> {                                                                              \
    public:                                                                                                                                \
        GeneratorOutput<Buffer<int, 2>> y{"y"};                                                                                            \
        void generate() {                                                                                                                  \
            y = define(#NAME)[0];                                                                                                          \
        }                                                                                                                                  \
    };                                                                                                                                     \
    HALIDE_REGISTER_GENERATOR(Fuzzed_##NAME, NAME)

class FuzzedOutputs : public OfAlgorithm<FuzzedOutputs> {
public:
    GeneratorOutput<Buffer<int, 2>> y{"y"}, z{"z"};
    void generate() {
        const auto all = define("outputs");
        y = all[0];
        z = all[1];
    }
};

}  // namespace

HALYARD_FUZZED(stencil)
HALYARD_FUZZED(reductions)
HALYARD_FUZZED(histogram)
HALYARD_FUZZED(product)
HALIDE_REGISTER_GENERATOR(FuzzedOutputs, outputs)
