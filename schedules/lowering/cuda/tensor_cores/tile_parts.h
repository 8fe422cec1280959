#ifndef HALYARD_LOWERING_CUDA_TILE_PARTS_H
#define HALYARD_LOWERING_CUDA_TILE_PARTS_H

/** \file
 * The parts of a kernel whose schedule names no threads, but has products done by the tensor cores: the nests over the
 * tile that a block has, and the products with their loops over steps.
 */

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lowering/cuda/extract/kernel.h"
#include "lowering/cuda/simt/linear.h"

namespace halyard {

/** What a schedule says about a product. */
struct TensorCores {
    std::string func;
    int stage = 1;    // the update
    int stages = 4;   // steps that are fetched ahead
    int raster = 8;   // rows of tiles that blocks take together, so that what they read is in L2
    int cluster = 1;  // blocks that share the steps of a tile, on sm_90a
    int warps = 1;    // that share the steps of a tile, of two products with few rows; of a block program, groups of them
    bool ping_pong =
        false;  // one warpgroup multiplies while another computes (fused_kernel.h), and of one product each has a tile of its own
    std::function<void(const std::string &)> fail;
};

/** Whether a part of a kernel has loops of that product in it. */
bool has_product(const Halide::Internal::Stmt &part, const TensorCores &product);

/** Whether the let names a coordinate of the block in the grid; then notes the name. */
bool note_block_name(const Halide::Internal::LetStmt *let, std::array<std::string, 3> &names);

/** A product, and the loop over its steps. */
struct ProductPart {
    const TensorCores *asked = nullptr;
    std::string step;
    Halide::Expr min, extent;
    Halide::Expr counts = Halide::Internal::const_true();  // of a block: elsewhere nobody reads the sums
    Halide::Internal::Stmt nest;
    std::shared_ptr<Lets> lets = std::make_shared<Lets>();  // around the nest
};

/** Each part has the lets of the kernel around it put in. */
struct Parts {
    std::array<std::string, 3> block_names;
    std::vector<Halide::Internal::Stmt> nests;  // over the tile
    std::vector<ProductPart> products;
    std::map<std::string, Halide::Type> allocated;
};

/** `host` has the lets around the kernel. Says of a product that is not there what its schedule lacks. */
Parts split_into_parts(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host);

/** Variables that are used and not defined inside. */
class FreeVariables : public Halide::Internal::IRGraphVisitor {
    using IRGraphVisitor::visit;

    void visit(const Halide::Internal::Variable *op) override {
        types[op->name] = op->type;
    }

public:
    std::map<std::string, Halide::Type> types;
};

}  // namespace halyard

#endif
