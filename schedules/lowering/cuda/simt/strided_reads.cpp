#include "lowering/cuda/simt/strided_reads.h"

#include <cstdint>
#include <numeric>
#include <set>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr const char kEnd[] = ".buffer";

bool is_buffer(const std::string &name) {
    const size_t n = sizeof(kEnd) - 1;
    return name.size() > n && name.compare(name.size() - n, n, kEnd) == 0;
}

std::string array_of_buffer(const std::string &buffer) {
    return buffer.substr(0, buffer.size() - (sizeof(kEnd) - 1));
}

class FindStridedLoads : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Load *op) override {
        ModulusRemainder at{1, 0};
        if (op->type.is_scalar()) {
            at = modulus_remainder(op->index, known);
        }
        const int64_t of_load = std::gcd(at.modulus, at.remainder);  // of a constant the modulus is 0
        const auto it = apart.emplace(op->name, of_load).first;
        it->second = std::gcd(it->second, of_load);
        IRVisitor::visit(op);
    }

    // Others read what they are handed as they like.
    void visit(const Call *op) override {
        if (op->call_type == Call::Extern && op->name.compare(0, 7, "halide_") != 0 && op->name.compare(0, 8, "_halide_") != 0) {
            for (const auto &a : op->args) {
                const auto *v = a.as<Variable>();
                if (v && is_buffer(v->name)) {
                    apart[array_of_buffer(v->name)] = 1;
                }
            }
        }
        IRVisitor::visit(op);
    }

    template<class T>
    void define(const T *op) {
        op->value.accept(this);
        if (op->value.type() == Int(32)) {
            ScopedBinding<ModulusRemainder> bind(known, op->name, modulus_remainder(op->value, known));
            op->body.accept(this);
        } else {
            op->body.accept(this);
        }
    }
    void visit(const LetStmt *op) override {
        if (is_buffer(op->name)) {  // those of the caller are not defined here
            allocated.insert(array_of_buffer(op->name));
        }
        define(op);
    }
    void visit(const Let *op) override {
        define(op);
    }

    Scope<ModulusRemainder> known;

public:
    std::set<std::string> allocated;
    std::map<std::string, int64_t> apart;
};

}  // namespace

std::map<std::string, int> find_strided_reads(const Stmt &s) {
    FindStridedLoads find;
    s.accept(&find);
    std::map<std::string, int> result;
    for (const auto &[name, apart] : find.apart) {
        if (apart > 1 && apart <= INT32_MAX && find.allocated.count(name)) {
            result[name] = int(apart);
        }
    }
    return result;
}

}  // namespace halyard
