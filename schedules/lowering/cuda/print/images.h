#ifndef HALYARD_LOWERING_CUDA_IMAGES_H
#define HALYARD_LOWERING_CUDA_IMAGES_H

/** \file
 * What a library loads onto a device: an image for each version of a schedule, of which a call takes one, so that others are not
 * loaded.
 */

#include <map>
#include <set>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

class Images {
public:
    /** Of a new pipeline. */
    void clear();

    /** Kernels that are added from here on are those of the next version; of an emulator, whose compiler takes longer to begin than for
     * the kernels of a version, all have one image. */
    void begin_version(bool emulated);

    void add(const std::string &kernel);

    /** Kernels for tensor cores, and the functions that they call, by name. `only`: with the macro of a header defined; "" always. */
    void add(const std::map<std::string, std::string> &instructions, const std::string &kernels, const std::string &only);

    bool empty() const;

    /** The buffer of the image of the version at hand, by its name in the host's IR. */
    std::string name() const;

    /** The host's IR with the images as buffers of the module. The text of all kernels goes to `source_file` too, if it is not "". Throws
     * std::runtime_error with the compiler's messages. */
    Halide::Internal::Stmt put_into(const Halide::Internal::Stmt &host, const std::string &pipeline,
                                    const std::vector<std::string> &architectures, bool emulated, const std::string &source_file) const;

private:
    struct Program {
        std::string source;
        bool tensor_cores = false;
        std::set<std::string> instructions;
    };

    std::vector<Program> programs_;
    std::string all_;  // kernels, for who reads them
    std::set<std::string> instructions_of_all_;
};

}  // namespace halyard

#endif
