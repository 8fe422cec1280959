#ifndef HALYARD_LINT_WORK_H
#define HALYARD_LINT_WORK_H

/** \file
 * The statements of a loop tree with what each costs, and how a note says what they are.
 */

#include <functional>

#include "language/lint.h"

namespace halyard {

/** A statement, and the loops around it from outside in. */
struct Spot {
    const Node *node = nullptr;
    std::vector<const Node *> loops;
    double times = 0;     // that it runs
    double cost = 0;      // instructions, with loads and stores, of all of these times
    bool vector = false;  // any of it is in SIMD lanes
};

class LintWork {
public:
    explicit LintWork(const LintView &v);

    const LintView &v;
    std::vector<Spot> spots;
    double total = 0;  // cost of all that is no product of the word mma
    double whole = 0;  // with these products

    const StageName &stage(const Spot &s) const {
        return v.tree.stages[size_t(s.node->stage)];
    }
    /** Whether the word mma was said of it, or of anything in its kernel: passes of ours make threads and registers of these. */
    bool is_product(const Spot &s) const;
    /** Whether a loop is one of the stage's own. */
    bool is_own(const Spot &s, const Node &loop) const;
    /** Bytes between two iterations of a loop; 0 where the access does not move. */
    static int64_t stride(const Access &a, int loop);
    /** Bytes between two lanes. */
    static int64_t lane_stride(const Access &a);
    int64_t element_bytes(const Access &a) const;
    /** Calls `visit` with every access of a statement that is not kept in registers. */
    void for_each_access(const Spot &s, const std::function<void(const Access &)> &visit) const;
    const Access *store_of(const Spot &s) const;
    /** The load of what the statement stores, at the same address. */
    const Access *reload_of(const Spot &s) const;

    /** "k.sum", "k.sum:update(0)" */
    std::string name(const StageName &s) const;
    /** The loop as scripts name it. */
    static std::string loop_name(const Node &loop);
    /** The Func of a loop. */
    std::string func_of(const Node &loop) const;

    /** A note at the line that last said something of a Func (and of a loop, where one is named), else of another. */
    LintNote note(const std::string &halide_func, const std::string &loop, const std::string &other, const std::string &message) const;

    /** The largest cost of what `of` groups together, and its first statement. */
    struct Group {
        double cost = 0;
        const Spot *first = nullptr;
    };

    /** k.f is computed again and again. */
    void add_recomputed(std::vector<LintNote> &notes, bool device) const;
    /** Sums that are loaded and stored at every turn. */
    void add_sums_in_memory(std::vector<LintNote> &notes) const;

private:
    std::set<const Node *> product_kernels_;  // by the outermost of their loops over blocks

    void walk(const Node &n, double times, std::vector<const Node *> &loops);
    const Touch *touch_of(const std::string &func, const std::string &loop) const;
    std::string further_out(const std::string &func, const Spot &spot, double times, bool device) const;
};

/** What is less of all the work is not worth a line. */
constexpr double kWorthALine = 0.2;

/** "4096", "2.3" */
std::string count_text(double n);

}  // namespace halyard

#endif
