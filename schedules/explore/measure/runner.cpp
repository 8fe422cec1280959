#include "explore/measure/runner.h"

namespace halyard::explore {

namespace {

std::string outputs_of(const Built &reference) {
    return reference.directory + "/outputs";
}

class RunnerHere : public Runner {
public:
    Measured reference(const Task &task, const Built &built, double seconds) override {
        return run_built(task, built, outputs_of(built), false, 0, seconds);
    }

    void run(const Task &task, size_t count, const std::function<Run(size_t)> &begin,
             const std::function<void(size_t, const Measured &)> &end) override {
        for (size_t i = 0; i < count; i++) {
            const Run r = begin(i);
            end(i, run_built(task, r.built, outputs_of(r.reference), true, r.best, r.seconds));
        }
    }

    InTurns in_turns(const Task &task, const std::vector<Built> &built, double seconds) override {
        return run_in_turns(task, built, seconds);
    }
};

}  // namespace

std::unique_ptr<Runner> runner_here() {
    return std::make_unique<RunnerHere>();
}

}  // namespace halyard::explore
