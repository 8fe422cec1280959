#include "explore/space/cuda_inlined.h"

#include <algorithm>

namespace halyard::explore {

namespace {

constexpr double kLoadCost = 8;  // instructions of a load with its conversion and its test for the border, at most

class ChooseInlined {
public:
    ChooseInlined(const Description &d, Choices &choices, const std::map<std::string, Product> &products)
        : d_(d), choices_(choices), products_(products) {
        // Copies that cut tiles for products on the host are only another name here.
        for (const auto &f : d.funcs) {
            if (!f.second.wraps.empty()) {
                inlined_.insert(f.first);
            }
        }
    }

    // What costs nothing or is used once is inlined; the rest is a decision.
    std::set<std::string> choose() {
        const Graph all(d_, inlined_);
        Uses uses(d_, inlined_);
        for (const Func *f : all.order()) {
            if (f->output || f->reduction() || inlined_.count(f->name) || keeps_tile(*f)) {
                continue;
            }
            const double times = uses.times(f->name), cost = f->pure().cost();
            // What few elements need of a reduction is kept; exponentials of a row are computed again.
            const bool statistic = reads_reduction(*f) && f->pure().elements * 8 < outputs();
            const bool often = (times > 4 && cost >= 3) || (reads_reduction(*f) && outputs_that_read(f->name) > 1);
            // Several values in one come of reductions that belong together.
            const bool together = f->types.size() > 1 && reads_reduction(*f);
            if ((cost < 0.01 && !together) || is_load(*f) || (times <= 1.01 && !statistic && !together) ||
                choices_.yes("inline " + f->name, !statistic && !often && !together)) {
                inlined_.insert(f->name);
            }
        }
        return std::move(inlined_);
    }

private:
    // A copy that goes through shared memory in tiles, for the one Func that reads it.
    bool keeps_tile(const Func &f) {
        const auto p = products_.find(f.name);
        const bool turned = p != products_.end() && p->second.turned && f.dims.size() >= 2 && p->second.columns.count(f.dims[1]) &&
                            f.types.size() == 1 && f.bytes <= 4;
        return turned && choices_.pick("place of " + f.name, {"tiles", "inlined"}, "tiles") == "tiles";
    }

    // A factor that is loaded and converted: whoever multiplies it does that.
    bool is_load(const Func &f) const {
        const auto &from = f.pure().reads;
        const bool loads = std::all_of(from.begin(), from.end(), [&](const Read &r) {
            return !d_.func(r.func) || inlined_.count(r.func) || d_.func(r.func)->pure().cost() < kLoadCost;
        });
        return loads && f.pure().cost() < kLoadCost && std::any_of(products_.begin(), products_.end(), [&](const auto &p) {
                   const auto &reads = d_.func(p.first)->stages.back().reads;
                   return !p.second.turned && std::any_of(reads.begin(), reads.end(), [&](const Read &r) { return r.func == f.name; });
               });
    }

    bool reads_reduction(const Func &f) const {
        return std::any_of(f.pure().reads.begin(), f.pure().reads.end(), [&](const Read &r) {
            const Func *other = d_.func(r.func);
            return other && other->reduction();
        });
    }

    size_t outputs_that_read(const std::string &name) const {
        size_t n = 0;
        for (const auto &f : d_.funcs) {
            const auto &reads = f.second.pure().reads;
            n += f.second.output && std::any_of(reads.begin(), reads.end(), [&](const Read &r) { return r.func == name; });
        }
        return n;
    }

    // Elements of the largest.
    double outputs() const {
        double most = 0;
        for (const auto &f : d_.funcs) {
            most = f.second.output ? std::max(most, f.second.pure().elements) : most;
        }
        return most;
    }

    const Description &d_;
    Choices &choices_;
    const std::map<std::string, Product> &products_;
    std::set<std::string> inlined_;
};

}  // namespace

std::set<std::string> choose_inlined(const Description &d, Choices &choices, const std::map<std::string, Product> &products) {
    return ChooseInlined(d, choices, products).choose();
}

}  // namespace halyard::explore
