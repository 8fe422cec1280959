#ifndef HALYARD_LOWERING_CUDA_FUSED_TEXT_H
#define HALYARD_LOWERING_CUDA_FUSED_TEXT_H

/** \file
 * Two fused products as text: what is the same for wgmma and for mma. In shared memory a tile of an operand is panels of
 * 64 elements of its lines, one after the other, in the order of the 128-byte swizzle.
 */

#include <string>
#include <vector>

#include "lowering/cuda/tensor_cores/fused_mask.h"
#include "lowering/cuda/tensor_cores/fused_launch.h"
#include "lowering/cuda/tensor_cores/fused_nests.h"
#include "lowering/cuda/print/print.h"

namespace halyard {

class FusedText {
public:
    FusedText(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides,
              const PrintOptions &print);
    virtual ~FusedText() = default;

protected:
    [[noreturn]] void fail(const std::string &message) const;

    const TileOfProduct &first() const {
        return parts_.first;
    }
    const TileOfProduct &second() const {
        return parts_.second;
    }
    std::string e(const Halide::Expr &x) {
        return out_->expr(x);
    }

    /** Defines the place of a tile in the grid by its number, and the first step and the end of its steps; or sets them,
     * where declare_place() stands before. */
    void place_of_tile(const std::string &tile, bool declared = false);
    void declare_place();
    void open_steps(const std::string &from, int by = 1);
    void expect_promises();
    /** Declares what is held in registers, with or without the first product's sums. */
    void declare_held(int fragments, bool first_sums = true);
    virtual void declare_sums(const std::string &name, int elements) = 0;
    /** Of a step's sums of the first product, where the mask leaves any out. */
    void apply_mask();
    /** Defines between(step): what is computed of a step before its second product, but for `waiting_`. */
    void define_between();
    /** Each of so many threads, of which `thread` is one, fetches elements, and puts them where a copy of whole lines would have; what lies outside
     * is 0. `more_lines`: text, behind where the operand's first line is. */
    void fetch_elements(const Operand &o, const std::string &array, int columns, int rows, int threads, const std::string &more_lines = "",
                        const std::string &thread = "threadIdx.x");
    std::string counts_at(const Operand &o, const std::string &depth);
    /** Where lines are of the other dimensions than the first two, as text behind an index; "" for two. */
    std::string place_of_others(const Operand &o);
    /** The name for `in_place_`, or "". */
    std::string find_in_place() const;
    /** Sums of which a lane has its own part until here. */
    void sum_lanes();
    static bool stores(const FusedNest &n);

    const Kernel &base_;
    const PrintOptions &print_;
    FusedParts parts_;
    FusedLaunch launch_;
    std::vector<FusedNest> meanwhile_, waiting_;  // between the products; the second one of the last step ends before the latter
    Mask mask_;
    bool tiles_together_ = false;  // of the text that is printed: whether it has the argument kTilesTogether
    std::string in_place_;         // what is computed of the first product's sums where they stand, and takes their registers
    KernelPrinter *out_ = nullptr;
    FusedNests *threads_ = nullptr;

private:
    void check() const;
    void drop_zeros();
    void store_once();
    void sort_nests();
};

}  // namespace halyard

#endif
