#include "explore/workers/kinds.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

// Why one of the kind cannot be taken; "" where it can.
std::string obstacle(const Facts &f, const Wish &wish, const Facts &here) {
    if (here.confined && !f.confined) {
        return "its kernel has no Landlock: candidates would reach more there than they do here";
    }
    if (wish.cuda) {
        return "";
    }
    if (wish.threads > f.processors) {
        return fmt::format("it has {} processors, and {} threads are to be timed", f.processors, wish.threads);
    }
    const auto missing = wish.target == "host" ? std::vector<std::string>() : features_missing(wish.target, f.level);
    return missing.empty() ? "" : fmt::format("it cannot run code for {}: it has no {}", wish.target, join(missing, ", "));
}

// "\n  there are: 2 of \"AMD EPYC 9654, ...\"; 1 of ...", and who is not to be had.
std::string what_there_is(const std::vector<Offer> &offers, bool cuda) {
    std::map<std::string, int> kinds;
    std::string refused;
    for (const Offer &o : offers) {
        if (!o.refused.empty()) {
            refused += fmt::format("\n  {}: {}", o.name, o.refused);
        } else if (const std::string kind = o.facts.kind(cuda); !kind.empty()) {
            kinds[kind]++;
        }
    }
    std::vector<std::string> parts;
    for (const auto &k : kinds) {
        parts.push_back(fmt::format("{} of \"{}\"", k.second, k.first));
    }
    return (parts.empty() ? "" : "\n  there are: " + join(parts, "; ")) + refused;
}

}  // namespace

std::vector<Offer> of_one_kind(const std::vector<Offer> &offers, const Wish &wish, const Facts &here) {
    std::map<std::string, std::vector<Offer>> kinds;
    for (const Offer &o : offers) {
        const std::string kind = o.refused.empty() ? o.facts.kind(wish.cuda) : "";
        if (!kind.empty() && starts_with(kind, wish.kind)) {
            kinds[kind].push_back(o);
        }
    }
    std::string own = here.kind(wish.cuda);
    if (!wish.kind.empty() || (wish.cuda && kinds.count(own) == 0)) {
        own = kinds.size() == 1 ? kinds.begin()->first : "";
    }
    if (kinds.empty() || (own.empty() && kinds.size() > 1) || kinds.count(own) == 0) {
        const std::string what = kinds.size() > 1 && own.empty()
                                     ? "its machines are of several kinds, whose times say nothing of each other"
                                 : !wish.kind.empty() ? fmt::format("it has no machine whose name begins with \"{}\"", wish.kind)
                                 : wish.cuda          ? std::string("it has no machine with a CUDA device, in the resources of Ray")
                                                      : fmt::format("it has no machine like this one (\"{}\")", own);
        throw Failure(fmt::format("{}{}{}", what, what_there_is(offers, wish.cuda),
                                  kinds.empty() && wish.kind.empty() && wish.cuda
                                      ? ""
                                      : "\n  --workers-kind NAME says whose times are wanted, by how the name begins"));
    }
    std::vector<Offer> will_do;
    std::string obstacles;
    for (const Offer &o : kinds.at(own)) {
        const std::string why_not = obstacle(o.facts, wish, here);
        if (why_not.empty()) {
            will_do.push_back(o);
        } else {
            obstacles += fmt::format("\n  {}: {}", o.name, why_not);
        }
    }
    if (will_do.empty()) {
        throw Failure("none of its machines will do" + obstacles);
    }
    return will_do;
}

}  // namespace halyard::explore
