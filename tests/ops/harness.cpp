#include "harness.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <regex>

#include <fmt/format.h>

#include "float8.h"
#include "kernel/arithmetic.h"
#include "kernel/cpu.h"
#include "kernel/element.h"
#include "kernel/generate.h"
#include "kernel/strict_memory.h"
#include "kernel/targets.h"
#include "kernel/text.h"
#include "kernel/workload.h"

namespace ops_test {

namespace {

using namespace halyard;

const char *const kPlacementNames[] = {"dense",
                                       "padded",
                                       "reversed",
                                       "permuted",
                                       "shifted",
                                       "window",
                                       "view",
                                       "view from an odd address",
                                       "view with odd rows",
                                       "view with odd rows from an odd address"};

bool is_integer(const halide_type_t &type) {
    return type.code == halide_type_int || type.code == halide_type_uint;
}

double rounded(const halide_type_t &type, double value) {
    uint64_t stored = 0;
    store_element(type, &stored, is_integer(type) ? std::nearbyint(value) : value);
    return load_element(type, &stored);
}

// An 8-bit number rounded to nearest, ties to even, saturated.
double rounded_float8(double value, int exponent_bits) {
    if (std::isnan(value)) {
        return value;
    }
    const int digits = 7 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const double largest = exponent_bits == 4 ? 448 : 57344;
    if (std::fabs(value) >= largest) {
        return std::copysign(largest, value);
    }
    const int exponent = std::max(value == 0 ? 0 : std::ilogb(value), 1 - bias);
    const double unit = std::ldexp(1, exponent - digits);
    return std::nearbyint(value / unit) * unit;
}

bool agrees(const halide_type_t &type, double got, const Expected &want) {
    if (const int bits = want.float8_exponent) {
        const double number = float8(int(got), bits), error = std::isinf(want.value) ? 0 : want.error;
        if (std::isnan(want.value)) {
            return std::isnan(number);
        }
        return (want.or_less || number >= rounded_float8(want.value - error, bits)) && number <= rounded_float8(want.value + error, bits);
    }
    if (std::isnan(want.value)) {
        return std::isnan(got);
    }
    if (std::isinf(want.value)) {
        return got == want.value;
    }
    return (want.or_less || got >= rounded(type, want.value - want.error)) && got <= rounded(type, want.value + want.error);
}

}  // namespace

std::vector<int> extents_of(const OpArgument &argument, const Dims &dims) {
    std::vector<int> extents;
    for (const auto &e : argument.extents) {
        extents.push_back(std::max(int(evaluate(e, dims).value()), 0));  // no window fits in an image that is smaller
    }
    return extents;
}

bool same(double a, double b) {
    return a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b);
}

void fill_random(HostBuffer &buffer, uint64_t seed) {
    const halide_type_t type = buffer.type();
    if (!is_integer(type)) {
        buffer.fill_random(seed);
    } else if (type.bits == 8) {
        buffer.fill_random(seed, type.code == halide_type_int ? -128 : 0, type.code == halide_type_int ? 127 : 255);
    } else {
        buffer.fill_random(seed, 0, 100);
    }
}

namespace {

bool same(const std::vector<double> &a, const std::vector<double> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) { return ops_test::same(x, y); });
}

std::vector<int> index_of(size_t number, const std::vector<int> &extents) {
    std::vector<int> index;
    for (int extent : extents) {
        index.push_back(int(number % size_t(extent)));
        number /= size_t(extent);
    }
    return index;
}

size_t number_of(const std::vector<int> &index, const std::vector<int> &extents) {
    size_t number = 0;
    for (size_t d = index.size(); d-- > 0;) {
        number = number * size_t(extents[d]) + size_t(index[d]);
    }
    return number;
}

bool is_open(const OpTest &test, const std::string &dim) {
    const auto open = test.open_dims();
    return std::find(open.begin(), open.end(), dim) != open.end();
}

// Strides of dimensions that lie in memory in this order, each with a gap after it.
std::vector<int> strides(const std::vector<int> &extents, const std::vector<size_t> &order, int gap) {
    std::vector<int> result(extents.size());
    int step = 1;
    for (size_t d : order) {
        result[d] = step;
        step = step * std::max(extents[d], 1) + gap;
    }
    return result;
}

// Of a view: whatever its rows have, more lies between them, and a row more between the matrices.
Layout view(Layout layout, Placement placement) {
    constexpr int kUnit = 16;  // elements, 16 bytes or more
    const bool odd_rows = placement == Placement::kViewOfOddRows || placement == Placement::kViewOfOddRowsAndAddress;
    const bool odd_address = placement == Placement::kViewOfOddAddress || placement == Placement::kViewOfOddRowsAndAddress;
    layout.offset = odd_address ? 3 : kUnit;
    int step = 1;
    for (size_t d = 0; d < layout.extents.size(); d++) {
        const int extent = std::max(layout.extents[d], 1);
        layout.strides.push_back(step);
        step = d > 0 ? step * (extent + 1) : (extent / kUnit + 1) * kUnit + (odd_rows ? 1 : 0);
    }
    return layout;
}

Layout place(const OpTest &test, const OpArgument &argument, const Dims &dims, Placement placement, bool on_gpu) {
    Layout layout(extents_of(argument, dims));
    const size_t rank = layout.extents.size();
    std::vector<size_t> order;
    for (size_t d = 0; d < rank; d++) {
        order.push_back(d);
    }
    if (placement == Placement::kShifted || placement == Placement::kWindow) {
        layout.mins.assign(rank, 0);
        for (size_t d = 0; d < rank; d++) {
            int &extent = layout.extents[d];
            if (!is_open(test, argument.extents[d])) {
                continue;
            }
            if (placement == Placement::kShifted) {
                layout.mins[d] = 5;
            } else if (argument.output && extent > 2) {
                layout.mins[d] = 1 + extent / 4;
                extent -= layout.mins[d] + extent / 5;
            }
        }
    }
    if (placement == Placement::kDense || test.needs_dense(argument.name)) {
        return layout;
    }
    if (placement >= Placement::kView) {
        return view(layout, placement);
    }
    layout.offset = on_gpu ? 0 : 1;  // on a device, kernels that move more than elements are to run here
    if (placement == Placement::kPermuted && rank > 2) {
        std::swap(order[1], order[2]);
    }
    layout.strides = strides(layout.extents, order, rank > 1 ? 3 : 0);
    if (placement == Placement::kReversed && rank > 1) {
        layout.strides[1] = -layout.strides[1];
    }
    return layout;
}

struct Output {
    std::string name;
    std::vector<int> full;  // its extents, were it no window
};

struct Call {
    Problem problem;
    std::unique_ptr<KernelArguments> arguments;
    std::vector<Output> outputs;
};

Call prepare(const OpTest &test, const Op &op, const CompiledKernel &kernel, const Case &c, Placement placement, uint64_t seed) {
    Call call;
    call.problem.params = kernel.params();
    call.problem.on_gpu = kernel.target().find("cuda") != std::string::npos;
    call.problem.dims = with_params(op, c.dims, kernel.params());
    call.arguments = std::make_unique<KernelArguments>(kernel);
    const Dims &dims = call.problem.dims;
    for (const auto &a : kernel.arguments()) {
        const OpArgument &registered = *op.argument(a.name);
        if (!a.is_buffer) {
            call.arguments->scalar(a.name, double(float(evaluate(registered.value, dims).value())));
            continue;
        }
        HostBuffer &buffer = call.arguments->buffer(a.name, place(test, registered, dims, placement, call.problem.on_gpu));
        if (a.is_output) {
            call.outputs.push_back({a.name, extents_of(registered, dims)});
        } else {
            fill_random(buffer, ++seed);
        }
    }
    test.fill(*call.arguments, dims, seed);
    if (c.alter) {
        c.alter(*call.arguments, dims);
    }
    for (const auto &a : kernel.arguments()) {
        if (a.is_buffer && call.arguments->buffer(a.name).size() == 0 && !call.problem.on_gpu) {
            call.arguments->buffer(a.name).raw()->host = nullptr;  // what reads there ends
        }
        if (a.is_buffer && !a.is_output) {
            const HostBuffer &buffer = call.arguments->buffer(a.name);
            call.problem.inputs[a.name] = {buffer.extents(), buffer.values()};
        } else if (!a.is_buffer) {
            call.problem.scalars[a.name] = call.arguments->scalar(a.name);
        }
    }
    return call;
}

// Which element of the whole output an element of a buffer is.
size_t number_in_whole(const HostBuffer &output, const std::vector<int> &full, size_t number) {
    // A window starts at its min; a shifted buffer is whole.
    if (output.extents() == full) {
        return number;
    }
    std::vector<int> index = index_of(number, output.extents());
    const halide_buffer_t *raw = const_cast<HostBuffer &>(output).raw();
    for (size_t d = 0; d < index.size(); d++) {
        index[d] += raw->dim[d].min;
    }
    return number_of(index, full);
}

// The first difference.
std::string compare(const HostBuffer &output, const std::vector<double> &got, const std::vector<Expected> &want) {
    std::string first;
    size_t wrong = 0;
    const std::vector<bool> poisoned = output.poisoned_elements();
    for (size_t i = 0; i < got.size(); i++) {
        const auto at = [&] { return fmt::format("{}", fmt::join(index_of(i, output.extents()), ",")); };
        const Expected &w = want[i];
        if (!std::isnan(w.value) && !std::isinf(w.value) && !std::isfinite(w.error)) {
            return fmt::format("the reference gives no bound at ({})", at());
        }
        if (w.kept) {
            if (!poisoned[i] && wrong++ == 0) {
                first = fmt::format("at ({}) {:.9g} is stored, where nothing is to be", at(), got[i]);
            }
            continue;
        }
        if (!agrees(output.type(), got[i], w) && wrong++ == 0) {
            first = fmt::format("at ({}) {:.9g} instead of {:.9g} +- {:.2g}", at(), got[i], w.value, w.error);
        }
    }
    return wrong == 0 ? "" : fmt::format("{}; {} of {} elements are wrong", first, wrong, got.size());
}

// How far all elements together are from the reference, relative to it, without what storing them rounds off.
double relative_error(const halide_type_t &type, const std::vector<double> &got, const std::vector<Expected> &want) {
    const int digits = type.code == halide_type_bfloat ? 8 : type.bits == 16 ? 11 : 24;
    double off = 0, all = 0;
    for (size_t i = 0; i < got.size(); i++) {
        if (std::isfinite(want[i].value) && std::isfinite(got[i])) {
            const double rounding = got[i] == 0 ? 0 : std::ldexp(1.0, std::ilogb(got[i]) - digits);
            off += std::pow(std::max(std::fabs(got[i] - want[i].value) - rounding, 0.0), 2);
            all += want[i].value * want[i].value;
        }
    }
    return off == 0 ? 0 : std::sqrt(off / all);
}

bool untouched(const HostBuffer &output) {
    return output.poisoned() && output.surroundings_intact();
}

// random    whether the inputs are nothing special
std::string check_call(const OpTest &test, const CompiledKernel &kernel, Call &call, bool random, Accuracies *seen) {
    std::map<std::string, std::vector<double>> first;
    // Nothing of a kernel on a device is done by threads of the host.
    const bool on_device = kernel.target().find("cuda") != std::string::npos;
    for (int threads : on_device ? std::vector<int>{2, 2} : std::vector<int>{2, 2, 1}) {
        kernel.set_threads(threads);
        for (const auto &o : call.outputs) {
            call.arguments->buffer(o.name).poison();
        }
        std::optional<StrictMemory> strict;
        if (threads == 1) {
            strict.emplace(kernel);
        }
        const CallResult r = kernel.call(*call.arguments);
        strict.reset();
        if (!r.ok()) {
            const bool clean = std::all_of(call.outputs.begin(), call.outputs.end(),
                                           [&](const Output &o) { return untouched(call.arguments->buffer(o.name)); });
            return fmt::format("error {}{}: {}", r.code, clean ? "" : " after a write", r.message);
        }
        for (const auto &o : call.outputs) {
            const auto values = call.arguments->buffer(o.name).values();
            if (!same(first.emplace(o.name, values).first->second, values)) {
                return fmt::format("{}: {}: {}", o.name,
                                   threads == 2 ? "another call gives another result" : "one thread gives another result than two",
                                   difference(values, first[o.name], call.arguments->buffer(o.name).extents()));
            }
        }
    }
    for (const auto &a : kernel.arguments()) {
        if (!a.is_buffer) {
            continue;
        }
        const HostBuffer &buffer = call.arguments->buffer(a.name);
        if (!buffer.surroundings_intact()) {
            return fmt::format("writes around {}", a.name);
        }
        if (!a.is_output && !same(buffer.values(), call.problem[a.name].values)) {
            return fmt::format("writes into {}", a.name);
        }
    }
    for (const auto &o : call.outputs) {
        const HostBuffer &output = call.arguments->buffer(o.name);
        const std::vector<double> &got = first[o.name];
        const std::vector<Expected> whole = test.expected_of(o.name, call.problem);
        std::vector<Expected> want;
        for (size_t i = 0; i < got.size(); i++) {
            want.push_back(whole[number_in_whole(output, o.full, i)]);
        }
        const std::string wrong = compare(output, got, want);
        if (!wrong.empty()) {
            return fmt::format("{} {}", o.name, wrong);
        }
        // A logarithm makes of the error of an argument near 0 as much as there is, and a few elements may all be such near 0.
        // Scales are of what was rounded before.
        const bool is_scale = o.name == "row_scale" || o.name == "block_scale";
        const bool usual = random && !is_scale && !call.problem.is("activation", "log_relu");
        const bool bounded = usual && call.problem.is("type", "bfloat16") && got.size() >= 64 && !is_integer(output.type());
        const double error = bounded ? relative_error(output.type(), got, want) : 0, most = test.most_in_bf16(call.problem);
        if (error > most) {
            return fmt::format("{} is off by {:.2g} of its norm, more than {:.2g}", o.name, error, most);
        }
        if (seen && usual) {
            add_output(*seen, output.type(), got, want, output.type().code == halide_type_bfloat ? most : 0, error);
        }
    }
    return "";
}

}  // namespace

namespace {

// The smallest case of nothing special, of those with an output whose rows end within a vector where there are such: what is
// stored in whole vectors there is too much.
const Case *case_for_views(const Op &op, const CompiledKernel &kernel, const std::vector<Case> &cases) {
    constexpr int kVector = 8;  // elements
    const Case *best = nullptr;
    std::pair<bool, double> least;
    for (const auto &c : cases) {
        const Dims dims = with_params(op, c.dims, kernel.params());
        bool whole = true;
        for (const auto &a : kernel.arguments()) {
            if (a.is_output) {
                const auto extents = extents_of(*op.argument(a.name), dims);
                whole = whole && (extents.size() < 2 || extents[1] < 2 || extents[0] < kVector || extents[0] % kVector == 0);
            }
        }
        double size = 1;
        for (const auto &d : c.dims) {
            size *= double(d.second);
        }
        const auto cost = std::make_pair(whole, size);
        if (!c.alter && size > 0 && (!best || cost < least)) {
            best = &c;
            least = cost;
        }
    }
    return best;
}

// On a device the view for which there are most kernels of their own, and another one; on the host one of all.
std::vector<Placement> views_of(const CompiledKernel &kernel, int rotation) {
    const auto view = [](int i) { return Placement(int(Placement::kView) + i); };
    if (kernel.target().find("cuda") == std::string::npos) {
        return {view(rotation % kViews)};
    }
    return {view(0), view(1 + rotation % (kViews - 1))};
}

}  // namespace

GenerateRequest request_of(const std::string &op, const Assignments &choices) {
    GenerateRequest request;
    request.op = op;
    request.lint = true;
    for (const auto &c : choices) {
        if (c.first == "schedule") {
            request.schedule = c.second;
        } else if (c.first == "target") {
            request.target = c.second;
            request.devices = c.second == kCudaTarget && request.devices.empty() ? "emulator" : request.devices;
        } else if (c.first == "devices") {
            request.devices = "emulator," + c.second;
        } else if (starts_with(c.first, "set.")) {
            request.set[c.first.substr(4)] = c.second;
        } else {
            request.params.insert(c);
        }
    }
    return request;
}

CompiledKernel build(const std::string &op, const Assignments &choices) {
    return CompiledKernel::build(request_of(op, choices));
}

std::string why_skipped(const std::string &target) {
    const auto missing = features_missing(target, cpu().level);
    return missing.empty() ? "" : fmt::format("this processor ({}) does not run {}: it lacks {}", cpu().model, target, join(missing, ", "));
}

std::string check_case(const OpTest &test, const Op &op, const CompiledKernel &kernel, const Case &c, Placement placement, uint64_t seed,
                       Accuracies *seen) {
    // Device memory has no strides below 0.
    if (placement == Placement::kReversed && kernel.target().find("cuda") != std::string::npos) {
        placement = Placement::kPadded;
    }
    Call call = prepare(test, op, kernel, c, placement, seed);
    const std::string wrong = check_call(test, kernel, call, c.alter == nullptr, seen);
    return wrong.empty() ? "" : fmt::format("{} {} {}: {}", c.what, shape_text(op, c.dims), kPlacementNames[int(placement)], wrong);
}

std::string difference(const std::vector<double> &a, const std::vector<double> &b, const std::vector<int> &extents) {
    size_t count = 0, first = 0;
    for (size_t i = 0; i < a.size(); i++) {
        if (!same(a[i], b[i]) && count++ == 0) {
            first = i;
        }
    }
    const std::vector<int> at = extents.empty() ? std::vector<int>{int(first)} : index_of(first, extents);
    return count == 0 ? ""
                      : fmt::format("{} of {} elements differ, the first at ({}): {:.9g} and {:.9g}", count, a.size(), fmt::join(at, ","),
                                    a[first], b[first]);
}

bool is_refusal(const std::string &wrong) {
    static const std::regex refusal(": error -?[0-9]+: .");
    // What a kernel did wrong, and what every later call of its device then says.
    static const std::regex fault("outside of an array|CUDA_ERROR_|: kernel \\w+, block ");
    return std::regex_search(wrong, refusal) && !std::regex_search(wrong, fault);
}

std::string check_empty(const OpTest &test, const Op &op, const CompiledKernel &kernel, const Assignments &choices) {
    // Sizes that the schedule takes, if it does not take all.
    const std::vector<Case> cases = test.cases(choices);
    const auto usual = std::find_if(cases.begin(), cases.end(), [](const Case &c) {
        return !c.alter && std::all_of(c.dims.begin(), c.dims.end(), [](const auto &d) { return d.second > 1; });
    });
    const Dims dims = (usual == cases.end() ? cases.front() : *usual).dims;
    const auto with = [&](const std::string &dim, int64_t extent) {
        Case c = {"empty", dims};
        c.dims[dim] = extent;
        return c;
    };
    std::string text;
    for (const auto &dim : op.dims) {
        const Case c = with(dim, 0);
        const Dims all = with_params(op, c.dims, kernel.params());
        const bool possible = std::all_of(kernel.arguments().begin(), kernel.arguments().end(), [&](const KernelArgument &a) {
            const auto extents = a.is_buffer ? extents_of(*op.argument(a.name), all) : std::vector<int>();
            return std::all_of(extents.begin(), extents.end(), [](int e) { return e >= 0; });
        });
        if (!possible) {  // a window that is larger than the image
            continue;
        }
        const std::string wrong = check_case(test, op, kernel, c, Placement::kDense, 1);
        if (test.needs_some(dim, kernel.params())
                ? !is_refusal(wrong)
                : !wrong.empty() &&
                      !(is_refusal(wrong) && is_refusal(check_case(test, op, kernel, with(dim, dims.at(dim) + 1), Placement::kDense, 1)))) {
            text += fmt::format("\n  {}", wrong.empty() ? fmt::format("{} = 0 is no error", dim) : wrong);
        }
    }
    return text;
}

std::string check_build(const OpTest &test, const std::string &op, const Assignments &choices, int rotation, Accuracies *seen) {
    return check_cases(test, op, choices, test.cases(choices), rotation, seen);
}

std::string check_taken(const OpTest &test, const std::string &op, const Assignments &choices, int rotation, std::string *refused) {
    return check_cases(test, op, choices, test.cases(choices), rotation, nullptr, refused);
}

std::string check_cases(const OpTest &test, const std::string &op, const Assignments &choices, const std::vector<Case> &cases, int rotation,
                        Accuracies *seen, std::string *refused) {
    const CompiledKernel kernel = build(op, choices);
    int wrong = 0, number = 0;
    std::string text;
    const auto counts = [&](const std::string &problem) {
        if (refused && is_refusal(problem)) {
            *refused += "\n  " + problem;
            return false;
        }
        return !problem.empty();
    };
    for (const auto &c : cases) {
        auto placement = Placement((rotation + number) % kPlacements);
        placement = c.whole && placement == Placement::kWindow ? Placement::kDense : placement;
        const std::string problem = check_case(test, find_op(op), kernel, c, placement, uint64_t(100 * number), seen);
        if (counts(problem) && wrong++ < 4) {
            text += "\n  " + problem;
        }
        number++;
    }
    if (const Case *c = case_for_views(find_op(op), kernel, cases)) {
        for (const Placement placement : views_of(kernel, rotation)) {
            const std::string problem = check_case(test, find_op(op), kernel, *c, placement, uint64_t(100 * number), seen);
            if (counts(problem)) {
                wrong++;
                text += "\n  " + problem;
            }
            number++;
        }
    }
    const std::string empty = check_empty(test, find_op(op), kernel, choices);
    return wrong == 0 && empty.empty()
               ? ""
               : fmt::format("{} of {} cases of {} {}:{}{}", wrong, number, op, assignments_text(choices), text, empty);
}

}  // namespace ops_test
