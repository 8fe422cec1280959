#include "explore/space/inlining.h"

#include <algorithm>

#include "explore/space/tile_operands.h"

namespace halyard::explore {

namespace {

class Inlining {
public:
    Inlining(Draft &draft, Choices &choices)
        : draft_(draft), choices_(choices), d_(draft.description), products_(draft.products), hosts_(draft.hosts), named_(draft.named) {}

    std::set<std::string> choose() {
        return choose_inlined(choose_mma());
    }

private:
    // Of the text of a Func: stencils that are inlined into stencils grow by a factor each.
    static constexpr double kMostCopies = 256;
    // From so many rows of float32 on, tiles take less time than vectors: the parts of the weights cost what they cost.
    static constexpr double kRowsOfF32 = 57;

    // Instructions for an element that are computed again in less time than it is stored, and loaded, beyond the caches.
    static constexpr double kWasteOfMemory = 12;
    static constexpr double kBeyondCaches = 8 << 20;

    // Whether each step of a Func is some steps of what it reads: of the next level of a pyramid.
    static bool steps_over(const Func &f, const std::string &read) {
        return std::any_of(f.stages.begin(), f.stages.end(), [&](const Stage &s) {
            return std::any_of(s.reads.begin(), s.reads.end(), [&](const Read &r) {
                return r.func == read && std::any_of(r.index.begin(), r.index.end(), [&](const Index &i) {
                           return std::any_of(i.loops.begin(), i.loops.end(), [&](const auto &l) {
                               return std::abs(l.second) >= 2 && s.loop(l.first) && !s.loop(l.first)->rvar;
                           });
                       });
            });
        });
    }

    // A large picture, made of inputs, of which smaller ones are made, and another one of its size that needs those: no loop has both
    // readers.
    bool begins_pyramid(const Func &f) const {
        bool smaller = false, other = false;
        for (const auto &[name, x] : d_.funcs) {
            if (draft_.reads(name, f.name)) {
                (steps_over(x, f.name) ? smaller : other) = true;
            }
        }
        const auto &reads = f.pure().reads;
        const bool of_inputs = std::all_of(reads.begin(), reads.end(), [&](const Read &r) {
            const Func *of = d_.func(r.func);
            return !of || (!of->reduction() && of->pure().cost() < 0.01);
        });
        return smaller && other && of_inputs && f.size() > kBeyondCaches;
    }

    double rows_of(const Product &p) const {
        double rows = 1;
        for (const auto &r : p.rows) {
            rows *= d_.func(p.func)->extent(r);
        }
        return rows;
    }

    // Which products tile instructions make: all of a host, in whose loops their blocks are.
    TileOperands choose_mma() {
        TileOperands all;
        const Graph graph(d_, {});
        for (const Func *of : graph.order()) {
            const std::string host = of->name;
            std::vector<Product *> hosted;
            TileOperands operands;
            int64_t group = 1;
            bool pays = d_.has_tiles();
            bool possible = hosts_.count(host) && !of->fixed;
            for (auto &[name, p] : products_) {
                if (p.host != host) {
                    continue;
                }
                const auto of_product = tile_operands(d_, p);
                possible = possible && of_product && !named_.count(name);
                if (possible) {
                    hosted.push_back(&p);
                    group = of_product->group;
                    pays = pays && (group > 1 || rows_of(p) >= kRowsOfF32);
                    operands.inlined.insert(of_product->inlined.begin(), of_product->inlined.end());
                    operands.stored.insert(of_product->stored.begin(), of_product->stored.end());
                }
            }
            possible = possible && std::none_of(operands.inlined.begin(), operands.inlined.end(),
                                                [&](const std::string &name) { return named_.count(name) > 0; });
            if (!possible || !choices_.yes("mma in " + host, pays)) {
                continue;
            }
            for (Product *p : hosted) {
                p->mma = true;
                p->group = group;
            }
            for (const auto &name : operands.inlined) {
                move_host(name);
            }
            all.inlined.insert(operands.inlined.begin(), operands.inlined.end());
            all.stored.insert(operands.stored.begin(), operands.stored.end());
        }
        return all;
    }

    // A host that only converts what it reads, and is inlined: the other is one as well.
    void move_host(const std::string &name) {
        if (hosts_.erase(name) == 0) {
            return;
        }
        const std::string read = d_.func(name)->pure().reads[0].func;
        hosts_.insert(read);
        for (auto &p : products_) {
            p.second.host = p.second.host == name ? read : p.second.host;
        }
    }

    std::set<std::string> choose_inlined(const TileOperands &operands) {
        std::set<std::string> inlined = operands.inlined;
        const Graph all(d_, {});
        Uses uses(d_, inlined);
        for (const Func *f : all.order()) {
            if (operands.inlined.count(f->name) || operands.stored.count(f->name)) {
                continue;
            }
            if (f->fixed) {
                if (f->fixed->place == "inlined" && !f->reduction()) {
                    inlined.insert(f->name);
                }
                continue;
            }
            if (named_.count(f->name)) {
                continue;  // the script names its loops
            }
            if (f->output || f->reduction() || hosts_.count(f->name)) {
                continue;
            }
            if (const auto p = products_.find(f->name); p != products_.end()) {
                if (!choices_.yes("tiles of " + f->name, true)) {
                    inlined.insert(f->name);
                }
                continue;
            }
            const double times = uses.times(f->name);
            const double waste = f->pure().cost() * (times - 1);
            const bool copy = copies_columns(*f);
            if (f->permuted) {
                continue;  // its order in memory is what it is for
            }
            if (turns_recurrence(*f)) {
                if (choices_.yes("inline " + f->name, false)) {
                    inlined.insert(f->name);
                }
                continue;
            }
            if (f->pure().cost() < 0.01 && !copy) {
                inlined.insert(f->name);  // another name of what it reads
                continue;
            }
            bool guess = copy && f->pure().cost() < 0.01 ? !worth_copying(*f) : waste <= (begins_pyramid(*f) ? kWasteOfMemory : 2);
            const bool window = std::any_of(products_.begin(), products_.end(),
                                            [&](const auto &p) { return p.second.stencil && draft_.reads(p.first, f->name); });
            guess = guess || window;
            const bool few = uses.copies(f->name) <= kMostCopies;
            const bool open = draft_.given || copy || (waste > 0.2 && times > 1.01);
            if (few && (open ? choices_.yes("inline " + f->name, guess) : guess)) {
                inlined.insert(f->name);
            }
        }
        return inlined;
    }

    const Product *read_as_columns(const Func &f) const {
        for (const auto &[name, p] : products_) {
            const Stage &s = d_.func(name)->stages[size_t(p.update)];
            for (const Read &r : s.reads) {
                if (r.func == f.name && !p.vector.empty() && r.uses(p.vector)) {
                    return &p;
                }
            }
        }
        return nullptr;
    }

    // A copy of what a recurrence leaves in columns, in rows for the next recurrence: read where it lies, each step of that one would be
    // far from the one before.
    bool turns_recurrence(const Func &f) const {
        if (f.reduction() || f.output || f.dims.size() < 2 || f.pure().reads.size() != 1 || f.pure().cost() > 0.01) {
            return false;
        }
        const Read &r = f.pure().reads[0];
        const Func *of = d_.func(r.func);
        const bool turned = !r.index.empty() && !r.index[0].uses(f.dims[0]) &&
                            std::any_of(r.index.begin(), r.index.end(), [&](const Index &i) { return i.is(f.dims[0]); });
        if (!of || !of->recurrence() || !turned || f.extent(f.dims[0]) < d_.lanes() || f.extent(f.dims[1]) < d_.lanes()) {
            return false;
        }
        return std::any_of(d_.funcs.begin(), d_.funcs.end(),
                           [&](const auto &other) { return other.second.recurrence() && draft_.reads(other.first, f.name); });
    }

    bool copies_columns(const Func &f) const {
        return read_as_columns(f) != nullptr;
    }

    // Weights as they are written: rows of them lie far apart, and many rows of the product share a copy.
    bool worth_copying(const Func &f) const {
        const Product &p = *read_as_columns(f);
        return p.panel == 0 && d_.func(p.func)->extent(p.vector) > 64 && rows_of(p) >= 64;
    }

    Draft &draft_;
    Choices &choices_;
    const Description &d_;
    std::map<std::string, Product> &products_;
    std::set<std::string> &hosts_;
    const std::map<std::string, std::set<std::string>> &named_;
};

}  // namespace

std::set<std::string> choose_inlined(Draft &draft, Choices &choices) {
    return Inlining(draft, choices).choose();
}

}  // namespace halyard::explore
