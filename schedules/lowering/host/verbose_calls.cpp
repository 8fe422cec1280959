#include "lowering/host/verbose_calls.h"

#include <utility>
#include <vector>

#include "lowering/extern_call.h"
#include "lowering/host/argument_checks.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

const char *const kStart = "call.start";

Stmt if_told(const Stmt &s) {
    return IfThenElse::make(Variable::make(Int(64), kStart) != make_zero(Int(64)), s);
}

// The highest of the instruction sets that code may have, as the command calls it; or "cuda".
std::string level_of(const Target &target) {
    using F = Target;
    const std::pair<F::Feature, const char *> levels[] = {{F::CUDA, "cuda"},
                                                          {F::AVX512_SapphireRapids, "avx512_sapphirerapids"},
                                                          {F::AVX512_Zen5, "avx512_zen5"},
                                                          {F::AVXVNNI, "avx512_avxvnni"},
                                                          {F::AVX512_Zen4, "avx512_zen4"},
                                                          {F::AVX512_Cannonlake, "avx512_cannonlake"},
                                                          {F::AVX512_Skylake, "avx512"},
                                                          {F::AVX2, "avx2"}};
    for (const auto &[feature, name] : levels) {
        if (target.has_feature(feature)) {
            return name;
        }
    }
    return "x86-64";
}

class TellOfCalls : public IRMutator {
public:
    TellOfCalls(std::string function, std::string target) : function_(std::move(function)), target_(std::move(target)) {}

    using IRMutator::mutate;

    Stmt mutate(const Stmt &s) override {
        std::string names;
        std::vector<Expr> buffers;
        for (const std::string &name : buffers_of(s)) {
            names += (names.empty() ? "" : " ") + name;
            buffers.push_back(Variable::make(type_of<halide_buffer_t *>(), name + ".buffer"));
        }
        const Expr all = Call::make(type_of<halide_buffer_t **>(), Call::make_struct, buffers, Call::Intrinsic);
        const Expr start = Variable::make(Int(64), kStart);
        const Stmt end = if_told(call_of("halyard_call_ends", {Expr(function_), Expr(target_), start, Expr(names), all}));
        return LetStmt::make(kStart, Call::make(Int(64), "halyard_call_begins", {}, Call::Extern), Block::make(s, end));
    }

private:
    const std::string function_, target_;
};

}  // namespace

std::unique_ptr<IRMutator> tell_of_calls(const std::string &function, const Target &target) {
    return std::make_unique<TellOfCalls>(function, level_of(target));
}

Stmt tell_version(const std::string &version) {
    return if_told(call_of("halyard_call_takes", {Expr(version)}));
}

}  // namespace halyard
