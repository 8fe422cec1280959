#ifndef HALYARD_COMMAND_BUSY_H
#define HALYARD_COMMAND_BUSY_H

/** \file
 * What else uses the machine while something is timed.
 */

#include <string>

namespace halyard {

/** From where it is made on. */
class Watch {
public:
    Watch();

    /** "Other processes used 0.8 of 2 processors while this was timed, and 3 were waiting."; "" where there is nothing to
     * say. `threads` are those of what is timed. */
    std::string sentence(int threads) const;

    /** What Linux counts, in ticks of all processors; public for the tests. */
    struct Ticks {
        double used = 0, stolen = 0, all = 0;
        int processors = 0, runnable = 0;
    };
    static Ticks parse(const std::string &proc_stat);
    /** `own` is the processor time of this process, `cycle` the time of the same chain of additions before and after. */
    static std::string sentence(const Ticks &from, const Ticks &to, double seconds, double own, int threads, double cycle_from,
                                double cycle_to);

private:
    Ticks ticks_;
    double wall_ = 0, own_ = 0, cycle_ = 0;
};

}  // namespace halyard

#endif
