#ifndef HALYARD_LLM_PRODUCTS_H
#define HALYARD_LLM_PRODUCTS_H

/** \file
 * The matrices of a decoder as its kernels take them: those with the same rows side by side, so that one call multiplies them, and blocks
 * of sixteen columns interleaved (halyard/blocks.h), so that SIMD lanes are columns.
 */

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "weights.h"

namespace halyard_llm {

/** Columns whose blocks are interleaved: the lanes of the widest vectors. */
constexpr int kInterleaved = 16;

/** Whether weights of a type are integers with scales. */
bool is_integers(TensorType type);

/** Blocks of a type as they are interleaved: of numbers without a scale, 32. */
BlockSize interleaved_block(TensorType type);

/** How interleaved blocks of k x n weights of a type lie: bytes of one of kInterleaved columns, blocks of a column, and panels of columns. */
struct Panels {
    int64_t bytes, blocks, panels;

    int64_t all() const {
        return bytes * blocks * panels;
    }
};
Panels panels_of(TensorType type, int k, int n);

/** Matrices side by side. Neighbours in blocks of the same type are one part if they are to be joined; f32 stays where it is. */
class Product {
public:
    struct Part {
        int k = 0, n = 0;
        TensorType type = TensorType::kF32;
        const uint8_t *data = nullptr;
        bool interleaved = false;
    };

    Product() = default;
    /** The matrices have to outlive it. Throws std::bad_alloc. */
    Product(const std::vector<const Matrix *> &matrices, bool joined);

    /** Columns of all parts. */
    int columns() const {
        return columns_;
    }
    /** Of all parts. */
    int rows() const {
        return parts_.front().k;
    }
    /** Whether what a row becomes does not depend on how many others there are: integers of interleaved blocks are added up exactly. `exact`: by rows in f32. */
    bool is_by_row(bool exact) const {
        return !exact && std::all_of(parts_.begin(), parts_.end(), [](const Part &p) { return is_integers(p.type); });
    }
    const std::vector<Part> &parts() const {
        return parts_;
    }

private:
    struct Free {
        void operator()(uint8_t *memory) const {
            std::free(memory);
        }
    };

    void add_interleaved(const std::vector<const Matrix *> &matrices);

    int columns_ = 0;
    std::vector<Part> parts_;
    std::vector<std::unique_ptr<uint8_t, Free>> memory_;
};

struct LayerProducts {
    LayerProducts(const Layer &layer, bool joined);

    Product query_key_value, attention_output, gate_up, down;
    std::vector<float> bias;  // of the first; empty: none
};

struct Products {
    /** `joined`: products of the same rows are done by one call. */
    Products(const Weights &weights, bool joined);

    std::vector<LayerProducts> layers;
    Product head;
};

}  // namespace halyard_llm

#endif
