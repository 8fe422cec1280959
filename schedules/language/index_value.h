#ifndef HALYARD_INDEX_VALUE_H
#define HALYARD_INDEX_VALUE_H

/** \file
 * Integers of a lowered pipeline once the sizes of its buffers are known: extents of loops, indices of
 * loads, conditions of guards.
 */

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** Extents of the arguments by name, innermost first: they are dense and begin at 0. An integer
 * argument stands there by its value. */
using BufferSizes = std::map<std::string, std::vector<int64_t>>;

/** "x:4096x64,weight:4096". Throws std::invalid_argument. */
BufferSizes parse_sizes(const std::string &text);

/** Values of variables, of which loops change in any order and lets follow. */
class IndexValue {
public:
    explicit IndexValue(BufferSizes sizes) : sizes_(std::move(sizes)) {}

    void push_let(const std::string &name, const Halide::Expr &value);
    void push_loop(const std::string &name, int64_t value);
    void pop(const std::string &name);
    void set_loop(const std::string &name, int64_t value);

    /** One lane of an integer or a condition; nothing where it comes out of memory. */
    std::optional<int64_t> operator()(const Halide::Expr &e, int lane = 0);

    const BufferSizes &sizes() const {
        return sizes_;
    }

private:
    struct Binding {
        Halide::Expr value;                                               // undefined for a loop
        int64_t known = 0;                                                // of a loop
        std::map<int, std::pair<int64_t, std::optional<int64_t>>> lanes;  // of a let, with the time of it
    };
    std::optional<int64_t> variable(const std::string &name, int lane);
    std::optional<int64_t> buffer_field(const std::string &name) const;
    std::optional<int64_t> call(const Halide::Internal::Call *op, int lane);

    BufferSizes sizes_;
    std::map<std::string, std::vector<Binding>> bindings_;
    int64_t time_ = 0;  // advances when a loop moves
};

}  // namespace halyard

#endif
