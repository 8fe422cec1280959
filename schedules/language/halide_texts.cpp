#include "language/halide_texts.h"

#include <algorithm>
#include <regex>
#include <sstream>
#include <vector>

#include "language/binding.h"
#include "language/nest.h"

namespace halyard {

namespace {

// What Halide says, as a pattern, and what a script's author reads. $1 and on are the parts of the pattern; "" keeps the word that
// the message names, and several words have a | between them.
struct Text {
    const char *pattern, *message, *hint, *word;
};

const Text kTexts[] = {
    {R"re(Func "(\w+)" is scheduled (\w+)\(\), but is inlined)re", "says where $1 is stored, and $1 is computed inline: it has no memory",
     "say where it is computed too, by k.$1:compute_at(...) or k.$1:compute_root()", "$2"},
    {R"re(Func "(\w+)" is scheduled with ring_buffer\(\), but has matching store_at and hoist_storage levels)re",
     "$1 has its memory where it is stored, so there is nothing to take buffers of in turn",
     "say k.$1:hoist_storage(...) of a loop further out, over whose turns the buffers follow each other", "ring_buffer"},
    {R"re(Schedule for Func (\w+) requires <\w+> but no compatible target feature is enabled in target (\S+))re",
     "runs loops of $1 on a device, and the target $2 has none", "build for a device, with --target cuda, or leave this out", ""},
    {R"re(Invalid compute_with: there is dependency between (\w+) and (\w+))re",
     "$1 and $2 need each other's values, so their loops cannot be one", "compute one at a loop of the other, with compute_at", ""},
    {R"re(Invalid compute_with: [^.]*(?:# of dims|number of dimensions|loop types|types|level|mismatch|not match)[^.]*)re",
     "takes loops for one that differ: both Funcs need the same loops from there outwards, of the same names and kinds",
     "split, reorder and mark both in the same way first", "compute_with"},
    {R"re(Cannot wrap "(\w+)" in "(\w+)" because "\w+" does not call "\w+")re", "has no effect: $2 does not read $1",
     "name a Func that reads $1", "in_"},
    {R"re(Should only see constant values for estimates)re", "takes sizes that are known before a call",
     "give numbers, or what p and target say", "set_estimates"},
    {R"re(marking var (\w+) as parallel or vectorized may introduce a race condition)re",
     "the turns of \"$1\" write the same elements, so they cannot run at once",
     "say atomic() before, if the order of the operation does not matter, or take another loop", ""},
    {R"re(can't reorder RVars (\w+) and (\w+))re", "\"$1\" and \"$2\" are loops of a reduction whose results depend on their order",
     "leave them in the order in which they are", "reorder"},
    {R"re(can't split (\w+) into (\w+) and \w+ because the new Vars have the same name)re", "names both parts of \"$1\" \"$2\"",
     "give them two names, or none", ""},
    {R"re(can't create var (\w+) using a split or tile)re", "there is a loop \"$1\" already", "give the new loop another name", ""},
    {R"re(Failed to call rfactor\(\) on (\w+)[^ ]* since it can't prove associativity)re",
     "the order in which $1 takes its values may matter, so there are no partial results to combine",
     "rfactor is for sums, products, minima, maxima and the like", "rfactor"},
    {R"re(When splitting Var (\w+) ShiftInwards is not a legal tail strategy for update definitions)re",
     "the tail \"shift_inwards\" would compute elements of an update of \"$1\" twice", "take \"guard\"", ""},
    {R"re(When splitting Var (\w+) the tail strategy must be GuardWithIf, Predicate, or Auto)re",
     "with this tail, turns of \"$1\" beyond its end would be part of the result", "take \"guard\"", ""},
    {R"re(Cannot split a loop variable resulting from a split using PredicateLoads or PredicateStores)re",
     "splits a loop that was made by a split with the tail \"predicate_loads\" or \"predicate_stores\"", "take \"guard\" for the first",
     ""},
    {R"re((?:Predicate\w+) may not be used to split a Var stemming from the inner Var of a prior split)re",
     "the tails \"predicate_loads\" and \"predicate_stores\" are not for the inner loop of another split", "take \"guard\"", "split"},
    {R"re(Can only (vectorize|unroll) for loops over a constant extent\.\s*Loop over (\S+?)\.s\d+\.(?:\w+\.)*(\w+) has extent)re",
     "how often \"$3\" of $2 turns is not known before a call", "split it by a number first, and $1 the inner loop", "$1"},
    {R"re(Was unable to infer constant upper bound on extent of realization (\w+))re",
     "how much memory $1 needs is not known before a call, and this memory is of a fixed size",
     "compute it in a loop that needs a fixed part of it, or say k.$1:bound_extent(dim, extent)", "store_in"},
    {R"re(Allocation (\w+?)(?:\.\d+)? has a dynamic size)re",
     "how much memory $1 needs is not known before a call, and this memory is of a fixed size",
     "compute it in a loop that needs a fixed part of it, or say k.$1:bound_extent(dim, extent)", "store_in"},
    {R"re(Buffer parameter (\w+) encountered in computed_cached computation)re",
     "keeps results that depend on the elements of $1, which another call may have changed",
     "leave it out: memoize is for what follows from scalars alone", "memoize"},
    {R"re(Loop Partition Policy is set to Always for .*, but no loop partitioning was performed)re",
     "asks for a middle without guards of a loop that has none: no turns of it can do without what the others ask",
     "leave it out, or name the loop whose last turns are guarded", "partition|always_partition|always_partition_all"},
    {R"re(Signed integer overflow occurred during constant-folding)re", "has a number of which Halide makes one that does not fit 32 bits",
     "take a smaller one, or leave it out", ""},
    {R"re(Only one specialize_fail\(\) may be defined per Stage)re", "is said a second time of this stage", "leave one of them out", ""},
    {R"re(Cannot add new specializations after specialize_fail)re", "comes after specialize_fail, which is for all calls that are left",
     "put it before", ""},
    {R"re(Specialization conditions may not depend on any Vars or RVars)re", "its condition is not the same for a whole call",
     "make it of sizes and scalars", "specialize"},
    {R"re(reorder_storage must have at least two dimensions)re", "needs two dimensions or more to put into an order", "", ""},
    {R"re(This schedule is malformed\. There must be a GPU block)re", "has loops over threads outside of any loop over blocks",
     "say gpu_blocks of a loop further out, and reorder the blocks to the outside", ""},
    {R"re(must be inside a GPU block loop)re", "has loops over threads outside of any loop over blocks",
     "say gpu_blocks of a loop further out, and reorder the blocks to the outside", ""},
    {R"re(GPU thread loops must be outside any GPU lane loop)re", "has loops over threads inside of a loop over lanes",
     "reorder the loop of gpu_lanes to the inside of those of gpu_threads", ""},
    {R"re(gpu lanes loop must have constant extent of at most 32)re",
     "has a loop over lanes that is longer than the 32 of a warp, or of no fixed length", "split it by 32 or less first", "gpu_lanes"},
    {R"re(maximum number of nested GPU (block|thread) loops is 3)re", "has more than three loops over $1s inside of each other",
     "fuse some of them, or leave one serial", ""},
    {R"re(no word for Halide's halide_semaphore)re", "runs what a kernel computes in a thread of the host",
     "leave it out: for copies in a kernel there is fetch", "async"},
    {R"re(Cannot schedule (\w+) to be computed with "(\w+)" of \1\b)re", "shares loops of $1 with itself", "name a loop of another Func",
     ""},
    {R"re(could not be found in an active loop)re", "has its loops the wrong way round: the first is the inner one",
     "name the loop that prefetches, then the one further out whose turns it prefetches for", "prefetch"},
    {R"re(Could not find Func (\w+))re", "there is no Func \"$1\" to compute there", "", ""},
    {R"re(Memoization is not supported inside GPU kernels)re", "keeps results inside of a kernel", "compute it outside, by compute_root()",
     "memoize"},
    {R"re(Memoization is valid only on intermediate Funcs)re", "is not for an output", "say it of what the output reads", "memoize"},
    {R"re((?:cannot|Cannot) (?:fold|be folded)[^.]*|Could not fold[^.]*)re",
     "the elements are not needed in an order in which earlier ones may be overwritten",
     "leave fold_storage out, or store it at a loop along which it is used forward only", "fold_storage"},
};

// Halide's name for an input is that of its Func: x_im.
std::string with_inputs(const PipelineView &view, std::string text) {
    for (const auto &[name, entry] : view.funcs()) {
        const std::string halide = name + "_im";
        for (size_t at = text.find(halide); entry.parameter.defined() && at != std::string::npos; at = text.find(halide, at + 1)) {
            text.replace(at, halide.size(), name);
        }
    }
    return text;
}

// "f.store_at(y, row).compute_root()" as `k.f:store_at(k.y, "row"):compute_root()`
std::string as_lua(const std::string &call) {
    static const std::regex level(R"(\((\w+), (?:Var::)?(\w+)(?:\(\))?\))");
    std::string s = std::regex_replace(call, level, "(k.$1, \"$2\")");
    s = std::regex_replace(s, std::regex(R"(\)\.)"), "):");
    s = std::regex_replace(s, std::regex(R"(^\s*(\w+)\.)"), "k.$1:");
    return s;
}

// Func "f" is computed at the following invalid location: ... Legal locations for this function are: ... "f" is used in ...
bool tell_location(const std::string &text, PlainText &plain) {
    static const std::regex opening(R"re(Func "(\w+)" is computed at the following invalid location:\s*([^;]*);)re");
    std::smatch match;
    if (!std::regex_search(text, match, opening)) {
        return false;
    }
    const std::string func = match[1], given = match[2];
    std::istringstream lines(match.suffix().str());
    std::vector<std::string> places, readers;
    bool legal = false;
    for (std::string line; std::getline(lines, line);) {
        legal = (legal || line.find("Legal locations") != std::string::npos) && line.find("is used in") == std::string::npos;
        if (legal && line.find(';') != std::string::npos) {
            places.push_back(as_lua(line.substr(0, line.find(';'))));
        }
        if (const size_t uses = line.find(" uses " + func); uses != std::string::npos) {
            const size_t begin = line.find_first_not_of(' ');
            const std::string reader = line.substr(begin, uses - begin);
            if (std::find(readers.begin(), readers.end(), reader) == readers.end()) {
                readers.push_back(reader);
            }
        }
    }
    std::string read, legal_text;
    for (const auto &r : readers) {
        read += (read.empty() ? "" : &r == &readers.back() ? " and " : ", ") + r;
    }
    for (const auto &p : places) {
        legal_text += (legal_text.empty() ? "" : ", ") + p;
    }
    if (std::find(places.begin(), places.end(), as_lua(given)) != places.end()) {
        // Halide does not print where storage is hoisted to.
        plain.message =
            "the storage of " + func + " is hoisted further in than it is stored, or out of a parallel loop in which it is computed";
        plain.hint = "hoist it to a loop inside of the parallel ones, or not at all";
        plain.word = "hoist_storage";
        return true;
    }
    const bool stored = given.find(".store_") != std::string::npos || given.find(".hoist_") != std::string::npos;
    plain.message =
        as_lua(given) + " is no place for it: " +
        (stored               ? func + " is stored around all that read it, and computed in the same loop or further in"
         : readers.size() > 1 ? "its loop is not around all that read " + func + ", which are " + read
                              : "its loop is not around " + (read.empty() ? "what reads " + func : read + ", which reads " + func));
    plain.hint = "there are " + legal_text;
    return true;
}

// What no script has: C++ for loops and Funcs.
std::string without_cpp(std::string text) {
    static const std::pair<std::regex, const char *> kWords[] = {
        {std::regex(R"(Var::outermost\(\))"), "\"outermost\""},
        {std::regex(R"(\bFunc::)"), ""},
        {std::regex(R"(\bIn schedule for (\w+)(\.update\(\d+\))?, )"), "$1$2: "},
        {std::regex(R"(\b(\w+)\.s\d+\.(?:\w+\.)*(\w+))"), "\"$2\" of $1"},
        {std::regex(R"(\nVars: [^\n]*)"), ""},
    };
    for (const auto &[pattern, word] : kWords) {
        text = std::regex_replace(text, pattern, word);
    }
    return text;
}

}  // namespace

std::string with_loop(const std::string &text, const std::vector<std::string> &loops) {
    static const std::regex made(R"re("[rv]\d+")re");
    for (const auto &loop : loops) {
        if (!std::regex_match("\"" + loop + "\"", made)) {
            return std::regex_replace(text, made, "\"" + loop + "\"");
        }
    }
    return text;
}

PlainText plain_text(const PipelineView &view, const std::string &halide) {
    constexpr size_t kLongest = 4000;  // what patterns are tried on
    PlainText plain;
    const std::string named = with_inputs(view, plain_message(view, halide_message(halide)));
    const std::string text = named.substr(0, kLongest);
    if (tell_location(text, plain)) {
        return plain;
    }
    for (const Text &t : kTexts) {
        std::smatch match;
        if (std::regex_search(text, match, std::regex(t.pattern))) {
            return {match.format(t.message), match.format(t.hint), match.format(t.word)};
        }
    }
    plain.message = named.size() <= kLongest ? without_cpp(named) : named;
    return plain;
}

}  // namespace halyard
