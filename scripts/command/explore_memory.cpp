#include "command/explore_memory.h"

#include "command/explore_beside.h"

namespace halyard {

using namespace explore;

Memory::Memory(const ExploreOptions &o, Task task, Runner *runner)
    : task_(std::move(task)), measurer_(task_, runner), database_(o.database()), again_(o.again), pack_(!o.folder.empty()) {}

Measured Memory::patiently(const Candidate &candidate) {
    measurer_.keep(candidate);
    measurer_.set_limits(patient(task_).limits);
    patient_ = true;
    Measured m = (*this)({candidate}, 0).front();
    if (m.status == Status::kWorkerLost) {
        m = (*this)({candidate}, 0).front();  // on another machine: the search is held against it
    }
    patient_ = false;
    measurer_.set_limits(task_.limits);
    return m;
}

std::vector<Measured> Memory::operator()(const std::vector<Candidate> &candidates, double best) {
    std::vector<Measured> all(candidates.size());
    std::vector<Candidate> fresh;
    std::vector<size_t> places;
    for (size_t i = 0; i < candidates.size(); i++) {
        const auto known = again_ ? std::nullopt : database_.lookup(task_, candidates[i]);
        const bool again = known && (known->status == Status::kWorkerLost || (patient_ && known->status == Status::kTimeout));
        if (known && !again) {
            all[i] = *known;
        } else {
            fresh.push_back(candidates[i]);
            places.push_back(i);
        }
    }
    // Kept one by one: who is killed loses the one that it was at.
    const auto keep = [&](size_t i, const Measured &m) {
        all[places[i]] = m;
        if (m.status != Status::kPending && !fresh[i].own) {  // of which nothing could be built later
            database_.record(task_, fresh[i], m);
        }
    };
    if (pack_) {
        for (const size_t place : places) {
            all[place].status = Status::kPending;
        }
        pending_.insert(pending_.end(), fresh.begin(), fresh.end());
    } else if (!fresh.empty()) {
        measurer_.measure(fresh, best, 0, keep);
    }
    return all;
}

void Memory::record(const Candidate &candidate, const Measured &measured) {
    database_.record(task_, candidate, measured);
}

}  // namespace halyard
