#ifndef HALYARD_LOWERING_CUDA_NEST_READER_H
#define HALYARD_LOWERING_CUDA_NEST_READER_H

/** \file
 * Reads loops over the rows, or rows and columns, of tiles that are held in registers.
 */

#include <functional>
#include <map>
#include <string>

#include "lowering/cuda/tensor_cores/fused_nest.h"

namespace halyard {

/** Values in registers. */
struct Held {
    Halide::Type type;
    int columns = 0;  // of a tile; 0 where there is one a row; -1 where that is not known yet
};

class NestReader {
public:
    /** `inlined`: an expression with the lets of the kernel put in. `fail` throws. */
    NestReader(std::map<std::string, Held> &held, std::function<Halide::Expr(const Halide::Expr &)> inlined,
               std::function<void(const std::string &)> fail)
        : held_(held), inlined_(std::move(inlined)), fail_(std::move(fail)) {}

    /** An array of the kernel. */
    void hold(const Halide::Internal::Allocate *op);
    bool holds(const std::string &name) const {
        return sizes_.count(name) > 0;
    }
    void know(const std::string &name, int columns);
    /** So many rows have all tiles. */
    void set_rows(int rows) {
        rows_ = rows;
    }
    /** `conditions`: whether it stands under one, so that it may store to no buffer. */
    FusedNest read(const Halide::Internal::For *loop, bool conditions);

private:
    /** What a nest with one loop has one of, if it is over a tile. */
    enum class Single { kNone, kRow, kColumn };

    [[noreturn]] void fail(const std::string &message) const;
    void read_stores(FusedNest &nest, const Halide::Internal::Stmt &s, const std::function<Halide::Expr(Halide::Expr)> &full,
                     const std::map<std::string, Halide::Expr> &names, bool conditions);
    Halide::Expr without_self(FusedNest &nest, const std::string &self, const Halide::Expr &value) const;
    /** Whether nothing that is held is stored. */
    bool of_buffers(const Halide::Internal::Stmt &s) const;
    Single single_of(const Halide::Internal::Stmt &s, const std::string &loop, const std::function<Halide::Expr(Halide::Expr)> &full) const;
    bool place(const std::string &name, const Halide::Expr &index);
    Halide::Expr canonical(const Halide::Expr &e);

    std::map<std::string, Held> &held_;
    const std::function<Halide::Expr(const Halide::Expr &)> inlined_;
    const std::function<void(const std::string &)> fail_;
    std::map<std::string, int> sizes_;
    Single single_ = Single::kNone;
    int rows_ = 0, columns_read_ = 0;  // of the tiles that a nest reads
};

/** Row and column of a value of a tile, by its index: the row has the constant factor that is largest. */
std::optional<std::vector<Halide::Expr>> held_coordinates(const Halide::Expr &index);

}  // namespace halyard

#endif
