#include "language/store_stage.h"

#include <algorithm>
#include <cstdlib>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class FindStore : public IRVisitor {
public:
    FirstStore found;

private:
    void visit(const Store *op) override {
        if (found.array.empty()) {
            found.array = op->name;
            IRVisitor::visit(op);
        }
    }
    void visit(const Load *op) override {
        found.reads_itself = found.reads_itself || op->name == found.array;
        IRVisitor::visit(op);
    }
    using IRVisitor::visit;
};

// The Func that an array belongs to: a tuple's are f.0, f.1.
std::string func_of(const std::string &array) {
    const size_t dot = array.rfind('.');
    return dot != std::string::npos && array.find_first_not_of("0123456789", dot + 1) == std::string::npos ? array.substr(0, dot) : array;
}

}  // namespace

FirstStore first_store(const Stmt &s) {
    FindStore find;
    s.accept(&find);
    return find.found;
}

std::string without_streamed(const std::string &array) {
    const std::string mark = ".streamed";
    const size_t at = array.size() - std::min(array.size(), mark.size());
    return array.compare(at, std::string::npos, mark) == 0 ? array.substr(0, at) : array;
}

// Loops are called FUNC.sN.VAR; a stage without loops is an update if it reads what it writes.
StageName stage_of_store(const FirstStore &store, const std::vector<std::string> &loops) {
    const std::string func = func_of(without_streamed(store.array));
    for (auto it = loops.rbegin(); it != loops.rend(); ++it) {
        if (it->compare(0, func.size() + 2, func + ".s") == 0) {
            return {func, std::atoi(it->c_str() + func.size() + 2)};
        }
    }
    return {func, store.reads_itself ? 1 : 0};
}

}  // namespace halyard
