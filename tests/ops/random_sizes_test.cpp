// Every op in sizes that are drawn: one less, as many and one more than vectors, tiles and the limits between versions, primes, 1 and 0,
// with numbers that are none in any place, as views of every kind, with the parameters of its generator drawn, too. On CUDA devices have
// any number of multiprocessors, by which versions are chosen.
//
//   HALYARD_SIZES=40 HALYARD_SIZES_SEED=1 HALYARD_SIZES_PLACE=cuda HALYARD_SIZES_CALLS=20 ops_test "gemm: random sizes"
//
// builds 40 libraries, each of the next seed; a failure names its seed. HALYARD_SIZES_SCHEDULE=swiglu_int8 is of that schedule alone,
// or of a file.
// With HALYARD_SIZES_BOUND=1 a schedule says that results have so many elements along one or two dimensions, and so have the calls;
// with 2 it says how any of its Funcs lie in memory, and what of them is computed; with 4 it is none that ships, but places drawn Funcs
// and has more of them computed.

#include <dlfcn.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "harness.h"
#include "setting.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/registry.h"
#include "kernel/schedules.h"
#include "kernel/targets.h"
#include "kernel/text.h"
#include "language/script.h"
#include "rows.h"

namespace {

using namespace ops_test;
using namespace halyard;

void set_emulated(const char *name, int value) {
    static void *const driver = dlopen(std::getenv("HALYARD_CUDA_DRIVER"), RTLD_NOW);
    REQUIRE(driver);
    const auto set = reinterpret_cast<void (*)(const char *, int)>(dlsym(driver, "halyard_emulator_set"));
    REQUIRE(set);
    set(name, value);
}

class Draw {
public:
    explicit Draw(uint32_t seed) : random_(seed) {}

    uint32_t below(uint32_t n) {
        return random_() % n;
    }
    bool one_in(uint32_t n) {
        return below(n) == 0;
    }
    template<typename T>
    const T &of(const std::vector<T> &list) {
        return list[below(uint32_t(list.size()))];
    }

    /** A size at the edge of something. */
    int size(int most) {
        static const std::vector<int> edges = {4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256, 384, 512, 1024, 2048, 4096};
        static const std::vector<int> odd = {1, 1, 2, 3, 5, 7, 11, 13, 29, 37, 61, 67, 101, 131, 197, 251, 257, 263, 331, 509, 521, 1021};
        for (;;) {
            const int n = one_in(uint32_t(setting("HALYARD_SIZES_ZERO", 40))) ? 0 : one_in(2) ? of(odd) : of(edges) + int(below(3)) - 1;
            if (n <= most) {
                return n;
            }
        }
    }

    Dims dims(Dims given) {
        const double most = setting("HALYARD_SIZES_MOST", 3000000);
        double product = 1;
        for (const auto &d : given) {
            product *= double(std::max<int64_t>(d.second, 1));
        }
        for (auto &d : given) {
            if (one_in(5)) {  // the others go with it
                continue;
            }
            product /= double(std::max<int64_t>(d.second, 1));
            const int room = int(std::min(4096.0, std::max(1.0, most / product)));
            d.second = d.second > 4096 ? d.second : size(room);
            product *= double(std::max<int64_t>(d.second, 1));
        }
        return given;
    }

    /** NaN, infinities, large and small numbers in any place of inputs. */
    std::function<void(KernelArguments &, const Dims &)> specials(const CompiledKernel &kernel, std::string &what) {
        std::vector<std::string> names;
        for (const auto &a : kernel.arguments()) {
            if (a.is_buffer && !a.is_output && a.name.find("scale") == std::string::npos && a.name != "frequencies" && a.name != "sinks" &&
                (a.type.code == halide_type_float || a.type.code == halide_type_bfloat)) {
                names.push_back(a.name);
            }
        }
        struct Special {
            std::string name;
            double value;
            bool all;
            uint32_t at;
        };
        std::vector<Special> list;
        for (uint32_t n = names.empty() ? 0 : 1 + below(3); n > 0; n--) {
            const double value = of<double>({kNaN, kInfinity, -kInfinity, kInfinity, 60000, -60000, 0, 6e-8});
            list.push_back({of(names), value, one_in(6), uint32_t(random_())});
            what += fmt::format(" {}={}{}", list.back().name, value, list.back().all ? " everywhere" : "");
        }
        return [list](KernelArguments &arguments, const Dims &) {
            for (const Special &s : list) {
                HostBuffer &b = arguments.buffer(s.name);
                std::vector<double> values = b.values();
                if (s.all) {
                    std::fill(values.begin(), values.end(), s.value);
                } else if (!values.empty()) {
                    values[s.at % values.size()] = s.value;
                }
                b.assign(values);
            }
        };
    }

private:
    std::mt19937 random_;
};

// HALYARD_SIZES_DIMS=rows=1,cols=300000
Dims given_dims() {
    Dims dims;
    const char *given = std::getenv("HALYARD_SIZES_DIMS");
    for (const auto &item : split(given ? given : "", ',')) {
        if (const size_t equals = item.find('='); equals != std::string::npos) {
            dims[item.substr(0, equals)] = std::stoll(item.substr(equals + 1));
        }
    }
    return dims;
}

Assignments draw_build(const OpTest &test, const std::string &op, Draw &draw, bool on_cuda) {
    const char *only = std::getenv("HALYARD_SIZES_SCHEDULE");
    std::vector<std::pair<std::string, std::string>> schedules;
    for (const auto &s : schedules_of(op)) {
        if (s.place == (on_cuda ? kCudaTarget : "cpu") && (!only || s.name == only)) {
            schedules.emplace_back(s.name, s.path);
        }
    }
    if (only && std::string(only).find('/') != std::string::npos) {
        schedules.emplace_back(only, only);
    }
    if (schedules.empty()) {
        return {};
    }
    const auto [name, path] = draw.of(schedules);
    const std::string target = on_cuda ? kCudaTarget : draw.one_in(2) ? "host" : "avx2";
    ScriptOptions options;
    options.lib_dirs = {paths().schedules};
    options.target = resolve_targets(target).front();
    const Assignments fixed = read_header(path, options).generator;
    Assignments choices = {{"schedule", name}, {"target", target}};
    if (on_cuda) {
        choices["devices"] = draw.one_in(2) ? "sm_80" : "sm_90a";
    }
    for (const auto &choice : test.choices()) {
        if (choice.name.find('.') == std::string::npos && fixed.count(choice.name) == 0 && choices.count(choice.name) == 0) {
            choices[choice.name] = draw.of(choice.values);
        }
    }
    Assignments settled = choices;
    settled.insert(fixed.begin(), fixed.end());
    test.settle(settled);
    for (const auto &f : fixed) {
        settled.erase(f.first);
    }
    settled["schedule"] = name;
    return settled;
}

// Sizes without which a call is refused before it computes anything: heads of queries are a multiple of those of keys, and what is turned of
// a head is whole pairs of it.
void go_together(Dims &dims) {
    if (dims.count("heads") && dims.count("key_heads")) {
        dims["key_heads"] = std::max<int64_t>(dims["key_heads"], 1);
        dims["heads"] = dims["key_heads"] * std::max<int64_t>(dims["heads"] / dims["key_heads"], 1);
    }
    if (dims.count("width") && dims.count("d")) {
        dims["d"] = std::max<int64_t>(dims["d"], 2);
        dims["width"] = std::max<int64_t>(std::min(dims["width"], dims["d"]) / 2 * 2, 2);
    }
}

// The names that an error of the language lists.
std::vector<std::string> names_in_error(const std::string &op, const Assignments &choices, const std::string &line,
                                        const std::string &before, const std::string &folder) {
    Assignments asked = choices;
    asked["schedule"] = folder + "/" + op + ".lua";
    write_file(asked["schedule"], fmt::format("return schedule \"{}\" {{ target = \"{}\", apply = function(k) {} end }}\n", op,
                                              choices.at("target") == kCudaTarget ? "cuda" : "cpu", line));
    std::vector<std::string> names;
    try {
        build(op, asked);
    } catch (const std::exception &e) {
        const std::string text = e.what();
        const size_t list = text.find(before);
        for (size_t at = text.find('"', list); list != std::string::npos && at < text.find('\n', list);) {
            const size_t end = text.find('"', at + 1);
            names.push_back(text.substr(at + 1, end - at - 1));
            at = text.find('"', end + 1);
        }
    }
    return names;
}

std::vector<std::string> dimensions_of(const std::string &op, const Assignments &choices, const std::string &func,
                                       const std::string &folder) {
    return names_in_error(op, choices, fmt::format("k[\"{}\"]:bound_extent(\"?\", 1)", func), "its dimensions are ", folder);
}

// A parameter with a value that is drawn, as the algorithm may leave a number to it. 0 stands for what versions choose, of which there are none.
std::string param_of(const Tunable &param, Draw &draw) {
    std::vector<std::string> values;
    for (const auto &value : param.choices) {
        if (value != "0") {
            values.push_back(value);
        }
    }
    const std::string value = values.empty() ? param.value : draw.of(values);
    const bool plain = value == "true" || value == "false" || value.find_first_not_of("-0123456789") == std::string::npos;
    return fmt::format("{} = {}, ", param.name, plain ? value : fmt::format("\"{}\"", value));
}

// The algorithm with drawn Funcs in memory, and more of them computed than is needed.
void say_naive(const std::string &op, Assignments &choices, const std::string &folder, Draw &draw) {
    const bool on_cuda = choices.at("target") == kCudaTarget;
    const auto funcs = names_in_error(op, choices, "k.nosuch:compute_root()", "in this algorithm; there are ", folder);
    std::string lines;
    for (const auto &func : funcs) {
        const auto &arguments = find_op(op).arguments;
        if (draw.one_in(3) || std::any_of(arguments.begin(), arguments.end(), [&](const OpArgument &a) { return a.name == func; })) {
            continue;
        }
        const auto names = dimensions_of(op, choices, func, folder);
        if (names.empty()) {
            continue;
        }
        std::string said = fmt::format("f:compute_root()");
        for (uint32_t n = draw.below(2); n > 0; n--) {
            const std::string &name = draw.of(names);
            const int number = draw.of<int>({1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64, 128, 200});
            switch (draw.below(4)) {
            case 0: said += fmt::format(" f:bound_extent(\"{}\", {})", name, number); break;
            case 1: said += fmt::format(" f:align_bounds(\"{}\", {}, {})", name, number, draw.below(uint32_t(number))); break;
            case 2: said += fmt::format(" f:align_extent(\"{}\", {})", name, number); break;
            default: said += fmt::format(" f:align_bounds(\"{}\", {})", name, number); break;
            }
        }
        if (!on_cuda && draw.one_in(2)) {
            said += fmt::format(" f:vectorize(\"{}\", {}, \"{}\")", draw.of(names), draw.of<int>({2, 4, 8, 16}),
                                draw.of<std::string>({"guard", "round_up", "predicate", "shift_inwards"}));
        } else if (on_cuda) {
            said += fmt::format(" f:gpu_tile({{\"{}\"}}, {{8}}, \"guard\")", names.front());
        }
        lines += fmt::format("    pcall(function() local f = k[\"{}\"] {} end)\n", func, said);
    }
    ScriptOptions options;
    options.lib_dirs = {paths().schedules};
    options.target = resolve_targets(choices.at("target")).front();
    std::string generator, params;
    for (const auto &s : schedules_of(op)) {
        if (s.name == choices.at("schedule") && (s.place == "cuda") == on_cuda) {
            const ScriptHeader header = read_header(s.path, options);
            for (const auto &f : header.generator) {
                generator += fmt::format("{} = \"{}\", ", f.first, f.second);
            }
            for (const auto &p : header.params) {
                params += p.is_generator_param ? "" : param_of(p, draw);
            }
        }
    }
    for (auto c = choices.begin(); c != choices.end();) {  // what the schedule that ships would be told
        c = starts_with(c->first, "set.") ? choices.erase(c) : std::next(c);
    }
    choices["schedule"] = folder + "/" + op + ".lua";
    write_file(
        choices["schedule"],
        fmt::format("return schedule \"{}\" {{ target = \"{}\", generator = {{ {} }}, params = {{ {} }}, apply = function(k)\n{}end }}\n",
                    op, on_cuda ? "cuda" : "cpu", generator, params, lines));
}

// Has the schedule that ships say these lines before all others, or behind them.
void say(const std::string &op, Assignments &choices, const std::string &lines, const std::string &folder, bool last = false) {
    for (const auto &s : schedules_of(op)) {
        if (s.name == choices.at("schedule") && (s.place == "cuda") == (choices.at("target") == kCudaTarget)) {
            std::string text = read_file(s.path);
            const size_t apply = text.find("apply = function(k");
            text.insert(last && text.rfind("\n  end,") != std::string::npos ? text.rfind("\n  end,") : text.find(')', apply) + 1, lines);
            choices["schedule"] = folder + "/" + s.name + ".lua";
            write_file(choices["schedule"], text);
            return;
        }
    }
}

// The schedule with bounds of an output before all that it says, and the sizes of calls that they leave.
Dims bound(const std::string &op, Assignments &choices, const std::string &folder, Draw &draw) {
    std::vector<OpArgument> outputs;
    for (const auto &a : find_op(op).arguments) {
        if (a.output && a.is_buffer() && !a.optional) {
            outputs.push_back(a);
        }
    }
    std::string lines;
    Dims sizes;
    if (outputs.empty()) {
        return sizes;
    }
    const OpArgument &output = draw.of(outputs);
    const auto names = dimensions_of(op, choices, output.name, folder);
    for (uint32_t n = 1 + draw.below(2); n > 0 && names.size() == output.extents.size(); n--) {
        const size_t d = draw.below(uint32_t(names.size()));
        const std::string &size = output.extents[d];
        const bool plain = std::all_of(size.begin(), size.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
        if (plain && !std::isdigit(static_cast<unsigned char>(size[0])) && sizes.count(size) == 0) {
            sizes[size] = draw.of<int>({1, 1, 1, 2, 3, 4, 5, 8, 16, 17, 33, 64});
            lines += fmt::format("\n    k.{}:bound_extent(\"{}\", {})", output.name, names[d], sizes[size]);
        }
    }
    std::cerr << op << " " << choices.at("schedule") << lines << "\n";
    say(op, choices, lines, folder);
    return sizes;
}

// The schedule with words of where Funcs lie, and how much of them is computed, behind all that it says.
void say_places(const std::string &op, Assignments &choices, const std::string &folder, Draw &draw) {
    const auto funcs = names_in_error(op, choices, "k.nosuch:compute_root()", "in this algorithm; there are ", folder);
    std::string lines;
    for (uint32_t n = funcs.empty() ? 0 : 1 + draw.below(2); n > 0; n--) {
        const std::string &func = draw.of(funcs);
        auto names = dimensions_of(op, choices, func, folder);
        if (names.empty()) {
            continue;
        }
        const std::string &name = draw.of(names);
        const int number = draw.of<int>({1, 2, 3, 4, 5, 7, 8, 16, 17, 33});
        switch (draw.below(setting("HALYARD_SIZES_BOUND", 0) == 3 ? 3 : 4) + (setting("HALYARD_SIZES_BOUND", 0) == 3 ? 5 : 0)) {
        case 5:
        case 6: lines += fmt::format("\n    k[\"{}\"]:bound_extent(\"{}\", {})", func, name, number); break;
        case 7: lines += fmt::format("\n    k[\"{}\"]:bound_storage(\"{}\", {})", func, name, number); break;
        case 0: lines += fmt::format("\n    k[\"{}\"]:align_storage(\"{}\", {})", func, name, number); break;
        case 1:
            lines += fmt::format("\n    k[\"{}\"]:align_bounds(\"{}\", {}, {})", func, name, number, draw.below(uint32_t(number)));
            break;
        case 2: lines += fmt::format("\n    k[\"{}\"]:align_extent(\"{}\", {})", func, name, number); break;
        default:
            for (size_t i = names.size(); i > 1; i--) {
                std::swap(names[i - 1], names[draw.below(uint32_t(i))]);
            }
            lines += fmt::format("\n    k[\"{}\"]:reorder_storage(\"{}\")", func, fmt::join(names, "\", \""));
        }
    }
    std::cerr << op << " " << choices.at("schedule") << lines << "\n";
    say(op, choices, lines, folder, true);
}

// What was written for this run, which is gone when somebody reads of it.
std::string drawn_script(const Assignments &choices, const std::string &folder) {
    const std::string &schedule = choices.at("schedule");
    return starts_with(schedule, folder) ? "\n" + read_file(schedule) : "";
}

void check_sizes(const OpTest &test, const std::string &op) {
    const char *place = std::getenv("HALYARD_SIZES_PLACE");
    const bool on_cuda = place && std::string(place) == kCudaTarget;
    const int first = setting("HALYARD_SIZES_SEED", 1), calls = setting("HALYARD_SIZES_CALLS", 8);
    int right = 0, refused = 0, unbuilt = 0;
    for (int seed = first; seed < first + setting("HALYARD_SIZES", 1); seed++) {
        Draw draw{uint32_t(seed)};
        Assignments choices = draw_build(test, op, draw, on_cuda);
        const std::string schedule = choices.empty() ? "" : choices.at("schedule");
        if (choices.empty() || !why_skipped(choices.at("target")).empty()) {
            continue;
        }
        const TemporaryDirectory folder(temporary_root());
        const Dims bounded = setting("HALYARD_SIZES_BOUND", 0) == 1 ? bound(op, choices, folder.path(), draw) : Dims();
        if (setting("HALYARD_SIZES_BOUND", 0) == 4) {
            say_naive(op, choices, folder.path(), draw);
        } else if (setting("HALYARD_SIZES_BOUND", 0) >= 2) {
            say_places(op, choices, folder.path(), draw);
        }
        std::unique_ptr<CompiledKernel> kernel;
        try {
            kernel = std::make_unique<CompiledKernel>(build(op, choices));
        } catch (const std::exception &e) {
            std::cerr << "unbuilt " << seed << " " << assignments_text(choices) << ": " << e.what() << "\n";
            unbuilt++;
            continue;
        }
        const std::vector<Case> cases = test.cases(choices);
        for (int n = 0; n < calls; n++) {
            Case c = draw.of(cases);
            c.what = fmt::format("call {}", n);
            c.dims = draw.dims(c.dims);
            for (const auto &fixed : test.fixed_dims(schedule)) {
                c.dims[fixed.first] = fixed.second;
            }
            for (const auto &list : {given_dims(), bounded}) {
                for (const auto &given : list) {
                    c.dims[given.first] = given.second;
                }
            }
            if (!draw.one_in(8)) {
                go_together(c.dims);
            }
            c.alter = setting("HALYARD_SIZES_SPECIALS", 0) && draw.one_in(3) ? draw.specials(*kernel, c.what) : nullptr;
            if (on_cuda) {
                static const std::vector<int> multiprocessors = {1, 2, 3, 4, 8, 16, 48, 132};
                const int m = draw.of(multiprocessors);
                set_emulated("multiprocessors", m);
                c.what += fmt::format(" sms {}", m);
            }
            const auto placement = Placement(draw.below(kPlacements + kViews));
            if (c.whole && placement == Placement::kWindow) {
                continue;
            }
            if (setting("HALYARD_SIZES_VERBOSE", 0)) {  // of a call that does not return
                std::cerr << seed << " " << c.what;
                for (const auto &dim : c.dims) {
                    std::cerr << " " << dim.first << "=" << dim.second;
                }
                std::cerr << "\n";
            }
            std::string wrong;
            try {
                wrong = check_case(test, find_op(op), *kernel, c, placement, uint64_t(seed) * 1000 + uint64_t(n));
            } catch (const std::exception &e) {
                wrong = std::string(": error 0: thrown ") + e.what();
            }
            if (wrong.empty()) {
                right++;
            } else if (wrong.find("does not find what its schedule promises") != std::string::npos) {
                std::cerr << "trapped " << seed << " " << assignments_text(choices) << " " << wrong << "\n";
                return;
            } else if (is_refusal(wrong)) {
                std::cerr << "refused " << seed << " " << assignments_text(choices) << " " << wrong << "\n";
                refused++;
            } else {
                FAIL_CHECK("seed " << seed << " " << assignments_text(choices) << ": " << wrong << drawn_script(choices, folder.path()));
                if (wrong.find("outside of an array") != std::string::npos || wrong.find("CUDA_ERROR") != std::string::npos) {
                    return;  // the device is lost
                }
            }
        }
    }
    std::cerr << op << " seeds from " << first << ": " << right << " right, " << refused << " refused, " << unbuilt << " unbuilt\n";
}

}  // namespace

// Bounds by which vectors end in the middle, and rows begin at multiples of a vector in an array that begins anywhere.
TEST_CASE("results of so many rows or columns", "[bounds]") {
    const auto called = [](const OpTest &test, const std::string &op, const Assignments &params, const std::string &line, const Dims &dims,
                           Placement placement) {
        const TemporaryDirectory folder(temporary_root());
        Assignments choices = params;
        choices.insert({{"schedule", op + ".unfused"}, {"target", kCudaTarget}});  // but where it says others
        say(op, choices, line, folder.path(), params.count("schedule") > 0);
        Case c;
        c.dims = dims;
        return check_case(test, find_op(op), build(op, choices), c, placement, 1);
    };
    const auto check = [&](const OpTest &test, const std::string &op, const Assignments &params, const std::string &line, const Dims &dims,
                           Placement placement) { CHECK(called(test, op, params, line, dims, placement) == ""); };
    check(swiglu_test(), "swiglu", {{"add_bias", "true"}}, " k.y:bound_extent(\"col\", 17)", {{"m", 161}, {"n", 17}, {"k", 15}},
          Placement::kPadded);
    check(swiglu_mlp_test(), "swiglu_mlp", {}, " k.y:bound_extent(\"row\", 17)", {{"m", 17}, {"hidden", 17}, {"k", 11}, {"n", 29}},
          Placement::kViewOfOddAddress);
    // One element behind whole vectors, cut off from 32 bits.
    for (const char *type : {"uint8", "bfloat16"}) {
        check(gemm_test(), "gemm", {{"target", "host"}, {"output", type}}, " k.y:bound_extent(\"col\", 17)",
              {{"m", 3}, {"n", 17}, {"k", 96}}, Placement::kPadded);
    }
    // More of them than there are, of an input that has none.
    const Dims none = {{"tokens", 9}, {"top_k", 0}, {"experts", 5}};
    check(expert_sort_test(), "expert_sort", {{"target", "host"}, {"schedule", "expert_sort"}}, "\n    k.id:bound_extent(\"p\", 7)", none,
          Placement::kPadded);
    const std::string refused = called(expert_sort_test(), "expert_sort", {{"schedule", "expert_sort"}},
                                       "\n    k.row_index:bound_extent(\"row\", 4)", none, Placement::kPadded);
    CHECK(refused.find("Output buffer row_index is accessed at 3") != std::string::npos);
    // Beside versions that require more of a call.
    const Dims rope = {{"d", 29}, {"width", 3}, {"heads", 33}, {"tokens", 5}, {"length", 50}};
    const std::string window = called(rope_test(), "rope", {{"angles", "frequencies"}, {"schedule", "rope"}},
                                      "\n    k.y:bound_extent(\"head\", 33)", rope, Placement::kWindow);
    CHECK(window.find("beyond the max (32)") != std::string::npos);
}

// A schedule that has more pairs computed than there are, whose loops take their number from arrays of another form: they cannot be shown to
// have no turns where there is no pair, and do have some.
TEST_CASE("more pairs than there are, of arrays without any", "[bounds]") {
    const TemporaryDirectory folder(temporary_root());
    const std::string script = folder.path() + "/expert_sort.lua";
    write_file(script, R"(return schedule "expert_sort" { target = "cuda", params = { threads = 128 }, apply = function(k)
  k.before:compute_root():gpu_tile({ "e" }, { 8 }, "guard")
  for _, of_rows in ipairs { k.chunk_of, k.expert, k.sorted } do of_rows:compute_root():gpu_tile({ "row" }, { 8 }, "guard") end
  k.found:compute_root():align_bounds("row", 5, 3):gpu_tile({ "row" }, { 8 }, "guard")
  for _, of_pairs in ipairs { k.id, k.rank } do of_pairs:compute_root():gpu_tile({ "p" }, { 8 }, "guard") end
end }
)");
    const CompiledKernel kernel = build("expert_sort", {{"schedule", script}, {"target", kCudaTarget}});
    for (const Dims &dims : {Dims{{"tokens", 47}, {"top_k", 0}, {"experts", 3}}, Dims{{"tokens", 0}, {"top_k", 3}, {"experts", 3}},
                             Dims{{"tokens", 47}, {"top_k", 2}, {"experts", 3}}}) {
        Case c;
        c.dims = dims;
        CHECK(check_case(expert_sort_test(), find_op("expert_sort"), kernel, c, Placement::kDense, 1) == "");
    }
}

#define HALYARD_OP(name, ...)                                                                                                              \
    TEST_CASE(#name ": random sizes", "[.sizes]") {                                                                                        \
        check_sizes(name##_test(), #name);                                                                                                 \
    }
#include "ops.inc"
#undef HALYARD_OP
