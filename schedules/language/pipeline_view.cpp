#include "language/pipeline_view.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// What Halide calls a Func, Var or RDom that its author gave no name: the letter and a counter, which goes on from target to target.
bool is_unnamed(const std::string &name, char letter) {
    return name.size() > 1 && name[0] == letter && name.find_first_not_of("0123456789", 1) == std::string::npos;
}

// Names for Vars and RDoms without one, by Halide's, which no two have in one process.
std::map<std::string, std::string> &given_names() {
    static std::map<std::string, std::string> names;
    return names;
}

// `blur$10` after `blur$9`, `f10` after `f9`.
std::tuple<std::string, size_t, long> order_of(const std::string &halide_name) {
    const size_t end = halide_name.find_last_not_of("0123456789") + 1;
    const std::string digits = halide_name.substr(end);
    return {halide_name.substr(0, end), digits.size(), digits.empty() || digits.size() > 9 ? 0 : std::stol(digits)};
}

bool made_before(const std::string &a, const std::string &b) {
    return order_of(a) < order_of(b);
}

// Vars by the order in which they were made, an RDom as most authors call theirs: a stage has one at most.
void name_loops(const std::map<std::string, Function> &env) {
    std::set<std::string> taken, vars, domains;
    const auto look_at = [&](const std::string &name) { (is_unnamed(name, 'v') ? vars : taken).insert(name); };
    for (const auto &[name, f] : env) {
        for (const auto &a : f.args()) {
            look_at(a);
        }
        for (const auto &u : f.updates()) {
            for (const auto &r : u.schedule().rvars()) {
                const std::string domain = plain_name(r.var);
                (is_unnamed(domain, 'r') ? domains : taken).insert(domain);
            }
        }
    }
    const std::string domain = taken.count("r") ? "reduction" : "r";
    for (const auto &d : domains) {
        given_names().emplace(d, domain);
    }
    std::vector<std::string> in_order(vars.begin(), vars.end());
    std::sort(in_order.begin(), in_order.end(), made_before);
    int next = 0;
    for (const auto &v : in_order) {
        while (taken.count("var_" + std::to_string(next))) {
            next++;
        }
        given_names().emplace(v, "var_" + std::to_string(next++));
    }
}

}  // namespace

std::string plain_name(const std::string &halide_name) {
    std::string s = halide_name;
    const size_t dot = s.rfind('.');
    if (dot != std::string::npos) {
        s = s.substr(dot + 1);
    }
    // `name$3_clone`: of a Func that Halide made of one with a counter.
    for (size_t dollar = s.find('$'); dollar != std::string::npos && dollar > 0; dollar = s.find('$', dollar + 1)) {
        const size_t end = s.find_first_not_of("0123456789", dollar + 1);
        if (end != std::string::npos && end > dollar + 1 && s[end] == '_') {
            s.erase(dollar, end - dollar);
        }
    }
    // `name$3$x`: a counter that keeps names unique, and the dimension of an RDom.
    for (size_t dollar = s.rfind('$'); dollar != std::string::npos && dollar > 0; dollar = s.rfind('$')) {
        s.resize(dollar);
    }
    return s;
}

std::string loop_name(const std::string &halide_loop) {
    const std::string plain = plain_name(halide_loop);
    const auto given = given_names().find(plain);
    return given == given_names().end() ? plain : given->second;
}

LoopNamer::LoopNamer(const StageSchedule &schedule) {
    for (const auto &r : schedule.rvars()) {
        dimensions_[plain_name(r.var)]++;
    }
}

std::string LoopNamer::operator()(const std::string &halide_loop) const {
    // The last part: `r$x.r$x` is what is left of `r$x` where it was split.
    const std::string last = unqualified(halide_loop);
    const auto domain = dimensions_.find(plain_name(last));
    const size_t dollar = last.rfind('$');
    const bool several = domain != dimensions_.end() && domain->second > 1 && dollar != std::string::npos;
    return loop_name(last) + (several ? "_" + last.substr(dollar + 1) : "");
}

std::string unqualified(const std::string &halide_loop) {
    const size_t dot = halide_loop.rfind('.');
    return dot == std::string::npos ? halide_loop : halide_loop.substr(dot + 1);
}

bool is_variable_of_loops(const std::string &name) {
    const std::set<std::string> names = {"min", "max", "extent", "stride", "loop_min", "loop_max", "loop_extent"};
    const std::set<std::string> of_devices = {"block_id_", "thread_id_"};  // and the letter of a dimension
    return names.count(name) > 0 || of_devices.count(name.substr(0, name.size() - 1)) > 0 || name.rfind("__", 0) == 0;
}

std::vector<LoopName> loops_of(const Stage &stage) {
    const LoopNamer name(stage.get_schedule());
    std::vector<LoopName> loops;
    for (const Dim &d : stage.get_schedule().dims()) {
        if (d.var != Var::outermost().name()) {
            loops.push_back({name(d.var), d.var, d.is_rvar()});
        }
    }
    return loops;
}

std::vector<std::string> dimensions_of(const Function &f) {
    std::vector<std::string> names;
    for (const auto &a : f.args()) {
        names.push_back(loop_name(a));
    }
    return names;
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
    name_loops(env);
    std::vector<std::string> in_order;
    for (const auto &e : env) {
        in_order.push_back(e.first);
    }
    std::sort(in_order.begin(), in_order.end(), made_before);
    int unnamed = 0;
    for (const auto &halide : in_order) {
        const Function &f = env.at(halide);
        const std::string base = without_im(halide);
        const auto buffer = found.buffers.find(base);
        const bool is_input = buffer != found.buffers.end() && base != halide.substr(0, halide.find('$'));
        // Func f("f1") is `f1$0` in Halide, and one without a name `f1`.
        const bool named = !is_unnamed(halide, 'f');
        add(Func(f), is_input ? base : named ? plain_name(halide) : "func_" + std::to_string(unnamed++));
        if (is_input) {
            funcs_[plain_by_halide_[halide]].parameter = buffer->second;
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

std::vector<std::string> PipelineView::readers_of(const Func &func) const {
    std::vector<std::string> readers;
    for (const auto &[halide, plain] : plain_by_halide_) {
        const auto reads = find_direct_calls(funcs_.at(plain).function);
        if (halide != func.name() && reads.count(func.name())) {
            readers.push_back(halide);
        }
    }
    std::sort(readers.begin(), readers.end(), made_before);
    for (auto &r : readers) {
        r = plain_by_halide_.at(r);
    }
    return readers;
}

std::vector<std::string> PipelineView::names() const {
    std::vector<std::string> names;
    for (const auto &e : funcs_) {
        names.push_back(e.first);
    }
    return names;
}

}  // namespace halyard
