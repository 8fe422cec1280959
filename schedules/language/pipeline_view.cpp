#include "language/pipeline_view.h"

#include <set>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

std::string plain_name(const std::string &halide_name) {
    std::string s = halide_name;
    const size_t dot = s.rfind('.');
    if (dot != std::string::npos) {
        s = s.substr(dot + 1);
    }
    // `name$3$x`: a counter that keeps names unique, and the dimension of an RDom.
    for (size_t dollar = s.rfind('$'); dollar != std::string::npos && dollar > 0; dollar = s.rfind('$')) {
        s.resize(dollar);
    }
    return s;
}

bool is_variable_of_loops(const std::string &name) {
    const std::set<std::string> names = {"min", "max", "extent", "stride", "loop_min", "loop_max", "loop_extent"};
    const std::set<std::string> of_devices = {"block_id_", "thread_id_"};  // and the letter of a dimension
    return names.count(name) > 0 || of_devices.count(name.substr(0, name.size() - 1)) > 0 || name.rfind("__", 0) == 0;
}

std::vector<LoopName> loops_of(const Stage &stage) {
    std::map<std::string, int> dimensions;  // of each RDom
    for (const auto &r : stage.get_schedule().rvars()) {
        dimensions[plain_name(r.var)]++;
    }
    std::vector<LoopName> loops;
    for (const Dim &d : stage.get_schedule().dims()) {
        if (d.var == Var::outermost().name()) {
            continue;
        }
        LoopName loop{plain_name(d.var), d.var, d.is_rvar()};
        // An RDom of several dimensions: `r$x`, `r$y` are "r_x", "r_y".
        const size_t dollar = d.var.rfind('$');
        if (loop.is_rvar && dimensions[loop.name] > 1 && d.var.find('.') == std::string::npos) {
            loop.name += "_" + d.var.substr(dollar + 1);
        }
        loops.push_back(std::move(loop));
    }
    return loops;
}

Stage stage_of(const Func &f, int index) {
    Function fn = f.function();
    return index == 0 ? Stage(fn, fn.definition(), 0) : Stage(fn, fn.update(index - 1), index);
}

namespace {

// Finds the input buffers and scalars that an algorithm reads.
class FindParameters : public IRGraphVisitor {
    using IRGraphVisitor::visit;

    void visit(const Call *op) override {
        IRGraphVisitor::visit(op);
        if (op->param.defined()) {
            buffers[op->param.name()] = op->param;
        }
    }

    void visit(const Variable *op) override {
        if (op->param.defined() && !op->param.is_buffer()) {
            scalars[op->param.name()] = op->param;
        } else if (op->param.defined()) {
            buffers[op->param.name()] = op->param;
        }
    }

public:
    std::map<std::string, Parameter> buffers, scalars;
};

// Generators name the Func of an input buffer `NAME_im`.
std::string without_im(const std::string &name) {
    const std::string base = name.substr(0, name.find('$'));
    return base.size() > 3 && base.compare(base.size() - 3, 3, "_im") == 0 ? base.substr(0, base.size() - 3) : base;
}

}  // namespace

PipelineView::PipelineView(const Pipeline &pipeline) {
    for (const Func &f : Pipeline(pipeline).outputs()) {
        outputs_.push_back(f.function());
    }
    FindParameters found;
    const std::map<std::string, Function> env = build_environment(outputs_);
    for (const auto &e : env) {
        e.second.accept(&found);
    }
    for (const auto &e : env) {
        const std::string base = without_im(e.first);
        const auto buffer = found.buffers.find(base);
        const bool is_input = buffer != found.buffers.end() && base != e.first.substr(0, e.first.find('$'));
        add(Func(e.second), is_input ? base : plain_name(e.first));
        if (is_input) {
            funcs_[plain_by_halide_[e.first]].parameter = buffer->second;
        }
    }
    for (auto &e : funcs_) {
        for (const auto &o : outputs_) {
            e.second.is_output = e.second.is_output || o.same_as(e.second.function);
        }
    }
    scalars_ = found.scalars;
}

std::string PipelineView::add(const Func &f, const std::string &wanted_name) {
    const auto known = plain_by_halide_.find(f.name());
    if (known != plain_by_halide_.end()) {
        return known->second;
    }
    std::string name = wanted_name;
    for (int n = 2; funcs_.count(name); n++) {
        name = wanted_name + "_" + std::to_string(n);
    }
    Entry e;
    e.name = name;
    e.function = f.function();
    funcs_[name] = e;
    plain_by_halide_[f.name()] = name;
    return name;
}

std::string PipelineView::name_of(const std::string &halide_name) const {
    const auto it = plain_by_halide_.find(halide_name);
    return it == plain_by_halide_.end() ? plain_name(halide_name) : it->second;
}

std::vector<std::string> PipelineView::names() const {
    std::vector<std::string> names;
    for (const auto &e : funcs_) {
        names.push_back(e.first);
    }
    return names;
}

}  // namespace halyard
