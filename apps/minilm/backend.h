#ifndef MINILM_BACKEND_H
#define MINILM_BACKEND_H

/** \file
 * What a program computes with: the processor (host_backend.cpp) or a GPU (cuda/backend.cpp).
 */

#include <memory>
#include <string>
#include <vector>

#include "model.h"
#include "sentence_encoder.h"

namespace minilm {

/** Elements of an attention head, for which the kernels are compiled: head_dim in CMakeLists.txt. */
constexpr int compiled_head_size = 32;

/** What there is to choose from, the default first. */
struct Choices {
    std::vector<std::string> kernels, types;
};
const Choices &choices();

class Backend {
public:
    virtual ~Backend() = default;

    /** How the weights are to lie: columns of a panel, or whole_matrix. */
    virtual int panel() const = 0;

    /** The model has to outlive it. */
    virtual std::unique_ptr<SentenceEncoder> make_encoder(const Model &model) const = 0;
};

/** Threads of the processor; 0 leaves their number to the Halide runtime. Throws where nothing can be
 * computed, before the weights are read. */
std::unique_ptr<Backend> start_backend(const std::string &kernels, Precision precision, int threads);

}  // namespace minilm

#endif
