#ifndef HALYARD_COMMAND_SECCOMP_FILTER_H
#define HALYARD_COMMAND_SECCOMP_FILTER_H

/** \file
 * A seccomp filter: system calls that a confined process has no use for fail.
 */

#include <vector>

#include <linux/filter.h>

namespace halyard {

class SeccompFilter {
public:
    /** A process that starts programs may fork and send signals, which Landlock keeps among its own. One that has a device says
     * what it likes to its driver. */
    SeccompFilter(bool starts_programs, bool has_device);

    /** Installs it for this process for ever; false and errno where the kernel does not let it. Safe between fork and exec. */
    bool install();

private:
    void add(unsigned short code, unsigned k, unsigned char yes = 0, unsigned char no = 0);
    void deny(int call, int error);
    void only_own_process(int call, bool by_zero);  // by its number, or by 0 for the caller
    void only_threads();
    void no_namespaces();
    void no_growing_memory();  // which limits take for a stack
    void no_shared_memory();   // which no limit counts
    void by_argument(int call, int number, const std::vector<unsigned> &values, unsigned then, unsigned otherwise);

    std::vector<sock_filter> program_;
    std::vector<size_t> own_process_;  // instructions that compare with the number of the process
};

/** Whether this kernel and this build have it. */
bool has_seccomp();

}  // namespace halyard

#endif
