#ifndef HALYARD_LOWERING_CUDA_TILE_TEXT_H
#define HALYARD_LOWERING_CUDA_TILE_TEXT_H

/** \file
 * A tile program as text: what is the same for wgmma and for mma.
 */

#include <string>
#include <vector>

#include "lowering/cuda/tensor_cores/fused_nests.h"
#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/print/print.h"
#include "lowering/cuda/tensor_cores/tile_program.h"

namespace halyard {

/** A quotient or a remainder of block coordinates by what is known at run time: computed once for a tile. The compiler leaves
 * divisions in a loop that waits, and computes each anew, which made the steps of a convolution and its results several times as long. */
struct PlaceInGrid {
    Halide::Expr value;
    std::string name;
};

/** What of a launch coordinates are divided by: the host makes a multiplication of it (divisor in device/numbers.h). */
struct DivisorOfLaunch {
    Halide::Expr value;
    std::string name;
};

class TileText {
public:
    TileText(const TileProgram &program, const PrintOptions &print) : program_(program), print_(print) {}
    virtual ~TileText() = default;

protected:
    /** Of the tile in which the element kElement of the thread's sums stands: declares kRow and kCol. */
    virtual void coordinates_of_element() = 0;
    /** Declares the variables of rows and columns of pairs. */
    void declare_place(const std::string &row, const std::string &col);
    /** How many sums of each product a thread has. */
    virtual int sums() const = 0;

    const TileOfProduct &tile() const {
        return program_.tile();
    }
    int products() const {
        return program_.products();
    }
    const std::string &step_name() const {
        return program_.first().step;
    }
    Halide::Expr tiles() const {
        return program_.base.blocks[0] * program_.base.blocks[1] * program_.base.blocks[2];
    }

    // ---- Arguments ----

    /** What is in all forms of an expression that the kernel computes. */
    std::vector<Halide::Expr> used() const;
    /** Variables that are not the same for a whole tile. */
    std::set<std::string> in_tile() const;
    /** The free variables of expressions become arguments, and what the host makes of their divisors. */
    void add_scalars(Kernel &k, const std::vector<Halide::Expr> &used);

    // ---- Text ----

    std::string e(const Halide::Expr &x) {
        return out_->expr(with_divisors(with_places(x)));
    }
    // What stands in several places once: a GELU has the sum of its element 25 times, and 64 elements of a thread took
    // NVRTC minutes.
    void print(const Halide::Internal::Stmt &s) {
        out_->print(Halide::Internal::common_subexpression_elimination(with_divisors(with_places(s))));
    }
    std::string parenthesised(const Halide::Expr &x) {
        return "(" + e(x) + ")";
    }
    /** An array in shared memory, with the place of its first element. */
    void declare_array(const std::string &type, const std::string &name, int offset_in_bytes, int elements);
    /** At the beginning: those that the kernel has arguments for. */
    void declare_divisors(const Kernel &k);
    void declare_tiles_of_grid();
    /** How many there are, by what that declares. */
    std::string tiles_of_grid();
    /** The coordinates of a tile by its number, in groups of rows that blocks take together. */
    void coordinates_of_tile(const std::string &tile);
    /** What follows from the coordinates, once they are declared. */
    void declare_places();
    /** Steps of the tile: none where nobody reads its sums. */
    Halide::Expr steps() const;
    void declare_steps();
    /** Opens a loop over the pairs of a thread. */
    void open_elements(const std::string &first, const std::string &end);
    void open_elements() {
        open_elements("0", number(sums()));
    }
    /** `row` of a tile in one of its loops over rows, as text. */
    std::string row_in_loop(const std::string &row, size_t loop) const;
    /** A nest that gives sums a value. */
    void first_value(const Pair &p);
    /** A nest over the tile, where it is inside; from memory and to it. */
    void store_inside(const Pair &p) {
        store_inside(p, loaded_inside(p, program_.accumulators));
    }
    void store_inside(const Pair &p, const Halide::Expr &value);

    /** Nests that reduce rows and store what they come to; `condition`, text: of the threads that store. `columns` are those
     * that a warp has. */
    void reduce_rows(const RowsOfThread &rows, int columns, const std::string &condition = "");

    const TileProgram program_;
    const PrintOptions &print_;
    KernelPrinter *out_ = nullptr;

private:
    bool has_planes() const;  // blocks have a third coordinate

    Halide::Expr counts() const;  // whether somebody reads the sums of a tile
    template<typename T>
    T with_places(const T &x);

    template<typename T>
    T with_divisors(const T &x) const;
    std::set<std::string> not_of_launch() const;

    std::vector<PlaceInGrid> places_;  // of the tile, one by those before it
    std::vector<DivisorOfLaunch> divisors_;
    std::set<std::string> declared_;  // divisors of the text that is printed
};

}  // namespace halyard

#endif
