#include "explore/space/cuda_space.h"

#include "explore/space/cuda_numbers.h"
#include "explore/space/cuda_text.h"
#include "language/lua_text.h"

namespace halyard::explore {

CudaPlan make_cuda_plan(const Description &d, Choices &choices, const GpuFigures &machine) {
    CudaPlaces places = place_for_cuda(d, choices);
    CudaPlan plan;
    for (CudaKernel &k : places.kernels) {
        choose_numbers(k, d, places, choices);
        plan.predicted += predict(k, d, places, machine);
    }
    for (const CudaKernel &k : places.kernels) {
        for (const auto &line : cuda_statements(k, d, places, plan.modules)) {
            plan.body += "    " + line + "\n";
        }
    }
    plan.fusion = places.fusion;
    plan.kernels = std::move(places.kernels);
    return plan;
}

std::string write_cuda_lua(const CudaPlan &plan, const ScriptHead &head) {
    return lua_head(head.op, "cuda", head.comment, head.generator, "k", plan.modules) + plan.body + lua_tail();
}

}  // namespace halyard::explore
