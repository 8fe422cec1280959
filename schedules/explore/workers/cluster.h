#ifndef HALYARD_EXPLORE_CLUSTER_H
#define HALYARD_EXPLORE_CLUSTER_H

/** \file
 * The machines of a Ray cluster, as what libraries run on. A Python program (scripts/workers) speaks with Ray; what measures on the
 * machines is this command, which travels there.
 */

#include <memory>
#include <string>
#include <vector>

#include "explain/machine.h"
#include "explore/measure/runner.h"
#include "explore/workers/kinds.h"

namespace halyard::explore {

class Cluster : public Runner {
public:
    /** Joins the cluster and takes those of its machines that the wish names. A machine that dies costs what it was measuring, and
     * is started again where it is still there. Throws Failure where there is no Ray, no cluster, or no such machine; later, where none is
     * left. */
    Cluster(const std::string &address, const Wish &wish);
    ~Cluster() override;

    /** Those that were taken. */
    const std::vector<Offer> &offers() const;

    /** Others of its machines and why they are not used, a line each; "" for none. */
    std::string refusals() const;

    /** What one of them says of its memory and its peaks. */
    Machine machine(int threads);

    Measured reference(const Task &task, const Built &built, double seconds) override;
    void run(const Task &task, size_t count, const std::function<Run(size_t)> &begin,
             const std::function<void(size_t, const Measured &)> &end) override;
    InTurns in_turns(const Task &task, const std::vector<Built> &built, double seconds) override;

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace halyard::explore

#endif
