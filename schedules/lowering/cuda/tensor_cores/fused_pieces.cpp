#include "lowering/cuda/tensor_cores/fused_pieces.h"

#include <algorithm>
#include <set>
#include <string>

#include "lowering/accesses.h"
#include "lowering/cuda/tensor_cores/fused_mask.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

std::set<std::string> read_by(const FusedNest &n) {
    std::set<std::string> names;
    for (const auto &a : n.assignments) {
        const auto held = held_in(a.value);
        names.insert(held.begin(), held.end());
    }
    return names;
}

std::set<std::string> written_by(const FusedNest &n) {
    std::set<std::string> names;
    for (const auto &a : n.assignments) {
        names.insert(a.stored);
    }
    return names;
}

// Assignments that do not read what others in their nest store become nests of their own.
void split_assignments(const FusedNest &n, std::vector<FusedNest> &into) {
    for (const auto &a : n.assignments) {
        for (const auto &b : n.assignments) {
            if (&a != &b && held_in(a.value).count(b.stored)) {
                into.push_back(n);
                return;
            }
        }
    }
    for (const auto &a : n.assignments) {
        into.push_back(n);
        into.back().assignments = {a};
    }
}

// sum = sum over columns; t = t * g + sum   ->   t = t * g; t += the columns. It takes fewer registers.
bool add_to_last(const FusedNest &n, const std::set<std::string> &made, FusedPieces &into) {
    const auto *add = n.assignments.size() == 1 ? n.assignments[0].value.as<Add>() : nullptr;
    const auto *sum = add ? add->b.as<Load>() : nullptr;
    if (!sum || n.kind != FusedNest::kRows || meet(held_in(add->a), made) || made.count(n.assignments[0].stored)) {
        return false;
    }
    for (auto &p : into.pieces) {
        if (p.kind == FusedNest::kReduction && p.assignments[0].stored == sum->name) {
            into.early.push_back(n);
            into.early.back().assignments[0].value = add->a;
            p.assignments[0].stored = n.assignments[0].stored;
            return true;
        }
    }
    return false;
}

}  // namespace

FusedPieces in_pieces(const FusedParts &parts, const std::vector<FusedNest> &meanwhile, const std::vector<FusedNest> &waiting) {
    const TileOfProduct &first = parts.first, &second = parts.second;
    FusedPieces result;
    std::vector<FusedNest> plain, all;
    for (const auto *list : {&meanwhile, &waiting}) {
        for (const auto &n : *list) {
            split_assignments(n, all);
        }
    }
    if (without_selects(all, parts.rows, &plain).defined()) {
        return result;
    }
    std::set<std::string> made, read, sums;  // of what is not early
    for (const auto &n : all) {
        const std::set<std::string> reads = read_by(n), writes = written_by(n);
        const bool adds = n.kind == FusedNest::kReduction && n.reduction == FusedNest::kSum && !n.across_lanes;
        const bool values = n.kind == FusedNest::kTile && !writes.count(first.accumulator) && !writes.count(second.accumulator);
        const bool by_element = n.columns == first.columns && (adds || values);
        const bool behind = meet(reads, sums) || meet(writes, read) || meet(writes, made) || (!by_element && meet(reads, made));
        const bool piece = !behind && by_element;
        if (behind && add_to_last(n, made, result)) {
            continue;
        }
        (behind ? result.behind : piece ? result.pieces : result.early).push_back(n);
        if (behind || piece) {
            made.insert(writes.begin(), writes.end());
            read.insert(reads.begin(), reads.end());
        }
        if (behind || (piece && adds)) {
            sums.insert(writes.begin(), writes.end());
        }
    }
    const std::set<std::string> multiplied = {second.a.buffer, second.accumulator};
    if (std::any_of(result.behind.begin(), result.behind.end(), [&](const FusedNest &n) { return meet(written_by(n), multiplied); })) {
        return FusedPieces();
    }
    return result;
}

}  // namespace halyard
