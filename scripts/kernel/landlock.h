#ifndef HALYARD_COMMAND_LANDLOCK_H
#define HALYARD_COMMAND_LANDLOCK_H

/** \file
 * A Landlock rule set: which files a process may reach. By raw system calls, with what the running kernel has of it.
 */

#include <cstdint>
#include <string>

namespace halyard {

/** The version of Landlock that the kernel has; 0 where it has none. */
int landlock_version();

class LandlockRules {
public:
    /** Nothing is allowed yet. Throws Failure where the kernel has Landlock and does not make rules. */
    LandlockRules();
    ~LandlockRules();
    LandlockRules(const LandlockRules &) = delete;
    LandlockRules &operator=(const LandlockRules &) = delete;

    enum class Access {
        kList,  // names in a folder, and nothing of what they name
        kRead,
        kExecute,
        kWrite,
        kDevice  // and read
    };

    /** A file, or a folder with all that is below it. One that is not there is left out. Safe between fork and exec. */
    void allow(const char *path, Access access) const;

    /** Holds for this process for ever; false and errno where it fails. Safe between fork and exec. */
    bool restrict_self() const;

private:
    int rules_ = -1;
    uint64_t handled_ = 0;  // of files
};

}  // namespace halyard

#endif
