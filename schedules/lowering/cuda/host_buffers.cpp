#include "lowering/cuda/host_buffers.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

Expr of_arguments(const Expr &condition) {
    class Fields : public IRMutator {
        using IRMutator::visit;

        Expr visit(const Variable *op) override {
            for (const char *field : {"extent", "min", "stride"}) {
                const std::string infix = std::string(".") + field + ".";
                const size_t at = op->name.rfind(infix);
                if (op->param.defined() && op->param.is_buffer() && at != std::string::npos) {
                    const int d = std::stoi(op->name.substr(at + infix.size()));
                    return Call::make(Int(32), std::string("_halide_buffer_get_") + field,
                                      {Variable::make(type_of<halide_buffer_t *>(), op->name.substr(0, at) + ".buffer"), d}, Call::Extern);
                }
            }
            return op;
        }
    };
    return Fields().mutate(condition);
}

Strides strides_of_generator(const Stmt &s) {
    class FindBuffers : public IRVisitor {
        using IRVisitor::visit;

        void visit(const Load *op) override {
            look(op->name, op->param);
            IRVisitor::visit(op);
        }
        void visit(const Store *op) override {
            look(op->name, op->param);
            IRVisitor::visit(op);
        }
        void look(const std::string &name, const Parameter &param) {
            if (!param.defined() || !param.is_buffer() || found.known.count(name) || found.extents.count(name)) {
                return;
            }
            bool said = false;
            std::vector<Expr> strides;
            for (int d = 0; d < param.dimensions(); d++) {
                const Expr known = param.stride_constraint(d);
                said = said || (d == 0 ? !known.defined() || !is_const_one(known) : known.defined());
                strides.push_back(known.defined() ? known : Variable::make(Int(32), name + ".stride." + std::to_string(d)));
            }
            if (said) {
                found.known[name] = strides;
            }
            for (int d = 0; d < param.dimensions(); d++) {
                found.extents[name].push_back(param.extent_constraint(d));
            }
        }

    public:
        Strides found;
    } find;
    s.accept(&find);
    return find.found;
}

std::vector<Expr> dimensions_in(const Expr &value) {
    class FindStruct : public IRVisitor {
        using IRVisitor::visit;
        void visit(const Call *op) override {
            if (op->is_intrinsic(Call::make_struct) && op->args.size() % 4 == 0 && fields.empty()) {
                fields = op->args;
            }
            IRVisitor::visit(op);
        }

    public:
        std::vector<Expr> fields;
    };
    FindStruct find;
    substitute_in_all_lets(value).accept(&find);
    return find.fields;
}

bool asks_buffer(const Expr &e) {
    class Find : public IRVisitor {
        using IRVisitor::visit;
        void visit(const Call *op) override {
            asks = asks || op->name.rfind("_halide_buffer_get_", 0) == 0;
            IRVisitor::visit(op);
        }

    public:
        bool asks = false;
    } find;
    e.accept(&find);
    return find.asks;
}

std::string array_read_by(const Expr &e) {
    class Find : public IRVisitor {
        using IRVisitor::visit;
        void visit(const Load *op) override {
            name = op->name;
        }

    public:
        std::string name;
    } find;
    e.accept(&find);
    return find.name;
}

}  // namespace halyard
