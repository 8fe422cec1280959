#include "../backend.h"

#include <fmt/format.h>

#include <stdexcept>

#include "encoder.h"

namespace minilm {

namespace {

class CudaBackend : public Backend {
public:
    int panel() const override {
        return whole_matrix;
    }
    std::unique_ptr<SentenceEncoder> make_encoder(const Model &model) const override {
        return std::make_unique<CudaEncoder>(model);
    }
};

}  // namespace

const Choices &choices() {
    static const Choices all = {{"fused"}, {"bf16"}};
    return all;
}

std::unique_ptr<Backend> start_backend(const std::string &, Precision, int) {
    try {
        halyard_apps::DeviceBlock().reserve(1);
    } catch (const std::exception &e) {
        throw std::runtime_error(
            fmt::format("no GPU to compute on: {}\nminilm_cuda needs an NVIDIA GPU and its driver, as nvidia-smi shows them; "
                        "minilm computes the same on the processor",
                        e.what()));
    }
    return std::make_unique<CudaBackend>();
}

}  // namespace minilm
