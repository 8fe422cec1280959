#include "backend.h"
#include "encoder.h"
#include "kernels.h"

namespace minilm {

namespace {

class HostBackend : public Backend {
public:
    explicit HostBackend(const Kernels &kernels) : kernels_(kernels) {}
    int panel() const override {
        return kernels_.panel;
    }
    std::unique_ptr<SentenceEncoder> make_encoder(const Model &model) const override {
        return std::make_unique<Encoder>(model, kernels_);
    }

private:
    const Kernels &kernels_;
};

}  // namespace

const Choices &choices() {
    static const Choices all = {{"fused", "unfused"}, {"f32", "bf16"}};
    return all;
}

std::unique_ptr<Backend> start_backend(const std::string &kernels, Precision precision, int threads) {
    const Kernels &found = find_kernels(kernels, precision);
    report_kernel_errors();
    if (threads > 0) {
        set_kernel_threads(threads);
    }
    return std::make_unique<HostBackend>(found);
}

}  // namespace minilm
