#ifndef HALYARD_LOWERING_CUDA_EPILOGUE_LOADS_H
#define HALYARD_LOWERING_CUDA_EPILOGUE_LOADS_H

/** \file
 * What the nests behind a product read beside its sums, loaded while the products are under way:
 *
 *   y[row][col] = f(acc[row][col], bias[col], residual[row][col])
 *     ->
 *   for step: acc += a * b | TMA has the tile of residual come to shared memory
 *   bias_early = bias[..]                           -- into registers, during the last products
 *   y[row][col] = f(acc[row][col], bias_early[..], residual_tile[..])
 */

#include <set>
#include <string>
#include <vector>

#include "lowering/cuda/tensor_cores/tensor_box.h"
#include "lowering/cuda/tensor_cores/tile_text.h"

namespace halyard {

class EpilogueLoads : public TileText {
protected:
    using TileText::TileText;

    /** A load that is the same for all rows: of two columns, 16 bits each, which stay in one register. */
    struct EpilogueColumns {
        Halide::Expr load;
        const Pair *pair;
        std::string name;
    };
    /** A load of each element of the tile, where TMA can bring it. */
    struct EpilogueTile {
        Halide::Expr load;
        std::string buffer, name;
        TensorBox box;
        const Pair *pair;
        int users = 1;          // pairs that read it
        int offset = -1;        // in shared memory
        bool in_place = false;  // where the result leaves from

        Halide::Type type() const {
            return load.type().element_of();
        }
    };

    /** In `after`, whose pairs stay where they are; `known`: names that are not looked at. */
    std::vector<EpilogueColumns> find_columns(const std::vector<const Pair *> &after, const std::set<std::string> &known) const;
    std::vector<EpilogueTile> find_tiles(const std::vector<const Pair *> &after, const std::set<std::string> &known) const;

    /** A value as the kernel computes it, from what was loaded early. */
    Halide::Expr with_epilogue_loads(const Halide::Expr &value) const;
    /** The buffers that threads load from; with `early`, what comes as a tile does not count. */
    std::set<std::string> loaded(bool early) const;

    // ---- Text ----

    /** `rest` of the coordinates of a box of this warpgroup, with a comma before each. */
    std::string rest_of_box(const TensorBox &box);
    /** Its first coordinate in each block of a line's elements, of so many columns from the first on. */
    std::vector<std::string> across_box(const TensorBox &box, const Halide::Type &element, int first, int columns);
    void load_columns();
    /** Before the loop over tiles; before the loop over steps, behind the products of each, behind the loop; before results. */
    void declare_tiles(int rows);
    void prepare_tiles(const Halide::Expr &first, const Halide::Expr &steps);
    void fetch_tiles_at(const std::string &step);
    void fetch_tiles_without_steps(const Halide::Expr &steps);
    void wait_for_tiles();

    std::vector<EpilogueColumns> columns_;
    std::vector<EpilogueTile> tiles_;
};

}  // namespace halyard

#endif
