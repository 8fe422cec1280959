#ifndef HALYARD_LOWERING_CUDA_NAMES_H
#define HALYARD_LOWERING_CUDA_NAMES_H

/** \file
 * C identifiers for the names of Halide's IR: `y.s0.col.step` becomes `step`, `x.stride.1` becomes `x_stride_1`. While a kernel is
 * printed these have a mark, so that none of them is taken for a word that the kernel has beside them.
 */

#include <map>
#include <set>
#include <string>
#include <vector>

namespace halyard {

class Names {
public:
    Names();

    /** No name becomes one of these from here on, but for a word with a dot before it, which is the word itself. */
    void reserve(const std::vector<std::string> &words) {
        for (const auto &word : words) {
            taken_.insert(word);
            given_["." + word] = word;
        }
    }

    /** The text without marks: where an identifier is a word of the text as well, a variable of a template or a function, it is another. */
    static std::string unmarked(const std::string &text);

    /** The identifier of a name, the same each time, with the mark. */
    const std::string &of(const std::string &halide_name);

    /** Of what ends with its scope, such as a loop: gives the identifier free again at the scope's end. */
    class Scoped {
    public:
        Scoped(Names &names, const std::string &halide_name);
        ~Scoped();
        Scoped(const Scoped &) = delete;
        Scoped &operator=(const Scoped &) = delete;
        const std::string &text() const;

    private:
        Names &names_;
        std::string halide_name_;
    };

private:
    std::map<std::string, std::string> given_;
    std::set<std::string> taken_;
};

}  // namespace halyard

#endif
