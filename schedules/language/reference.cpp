// Prints what is generated from the table of words:
//
//   halyard-words --meta        the annotations for Lua language servers: schedules/meta/halyard.lua
//   halyard-words --reference   the page on every word: docs/reference/words.md

#include <algorithm>
#include <iostream>
#include <sstream>

#include "language/word.h"

namespace halyard {

namespace {

struct Group {
    const char *title;
    const char *text;
    const std::vector<Word> *words;
};

const std::vector<Group> &groups() {
    static const std::vector<Group> all = {
        {"Loops", "Make loops and say how they run.", &kLoopWords},
        {"Order and versions", "The order of loops, versions of a stage, reductions.", &kOrderWords},
        {"Place", "Where a Func is computed and stored; this is what fuses.", &kPlaceWords},
        {"Storage", "The memory that the values of a Func lie in.", &kStorageWords},
        {"Machine code", "What Halide has no word for; the finishing step of `halyard build` sees to it.", &kLoweringWords},
        {"Bounds", "What is computed, and what the schedule promises of it.", &kBoundsWords},
        {"GPU and other devices", "Map loops onto a device.", &kGpuWords},
        {"Buffers", "What the library may rely on in the buffers it is given.", &kBufferWords},
        {"Conditions", "Expressions for `specialize`. `+`, `-`, `*`, `//` and `%` work on them too.", &kExprWords},
        {"Tracing and profiling", "For Halide's tools.", &kTraceWords},
    };
    return all;
}

struct Fact {
    const char *name;
    const char *type;  // "" for a method, whose parameter is `argument`
    const char *argument;
    const char *doc;
};

const std::vector<Fact> kFacts = {
    {"lanes", "integer", "type: ElementType", "Elements of a type in one SIMD register: `target:lanes \"f32\"`."},
    {"has", "boolean", "feature: string", "Whether the target has a feature, by Halide's name: `target:has \"avx2\"`."},
    {"l1", "integer", "", "Bytes of first-level data cache a core."},
    {"l2", "integer", "", "Bytes of second-level cache a core."},
    {"l3", "integer", "", "Bytes of last-level cache, shared."},
    {"multiprocessors", "integer", "", "Multiprocessors of the GPU: 132, as of an H100, unless --fact says another number."},
    {"processors", "integer", "", "Cores that the thread pool may use."},
    {"shared_bytes", "integer", "", "Bytes of shared memory that a block of an sm_90a device can have."},
    {"vector_bytes", "integer", "", "Bytes of a SIMD register."},
    {"vector_registers", "integer", "", "SIMD registers that a register tile can use."},
    {"bits", "integer", "", "32 or 64."},
    {"name", "string", "", "The Halide target string."},
    {"features", "table<string, true>", "", "The parts of the target string as keys: `target.features.avx2`."},
};

// What `k` itself is asked.
const std::vector<Fact> kOfAllFuncs = {
    {"has", "boolean", "name: string", "Whether this variant of the algorithm has a Func: `k:has \"bias\"`."},
    {"names", "string[]", "", "The Funcs that can be scheduled."},
    {"libm", "", "",
     "On the host, leaves exp, log, pow, tanh, sin and cos of f32 and f16 to Halide and to libm, which is called "
     "for each element. Without it they are vector code of ours: own_op.md has the errors of both."},
    {"reader_of", "Func", "func: Func, index?: integer",
     "The Func that reads another one or an input, for one without a name: `k:reader_of(k.curve)`. Where several do, `index` says "
     "which, counted from 0 in the order of their names, of those without one by age."},
    {"open", "", "...: string",
     "Leaves Funcs to `halyard explore --schedule`, without names all of which the script says "
     "nothing: the statements that it finds are written in this place. It stands last, and is "
     "an error in a build."},
};

const char *const kEnums[] = {"tail", "memory", "align", "partition", "prefetch", "device"};
const Handle::Kind kKinds[] = {Handle::kStage, Handle::kFunc, Handle::kLoop, Handle::kDimension, Handle::kExpr};

std::string capitalised(std::string s) {
    s[0] = char(std::toupper(static_cast<unsigned char>(s[0])));
    return s;
}

// `outer:Loop inner:Loop`, `blocks:Loop...`
std::vector<ArgSpec> returns(const Word &w) {
    return std::string(w.returns) == "self" ? std::vector<ArgSpec>() : parse_arg_specs(w.returns);
}

// ---- the annotations

std::string lua_type(const std::string &kind) {
    if (!named_values(kind).empty()) {
        return capitalised(kind);
    }
    static const std::map<std::string, std::string> kTypes = {
        {"loop", "string|Loop"},
        {"loop_or_loops", "string|Loop|(string|Loop)[]"},
        {"loops", "(string|Loop)[]"},
        {"dim", "string"},
        {"level", "Loop|Func|Stage"},
        {"size", "integer|Expr"},
        {"sizes", "(integer|Expr)[]"},
        {"expr", "integer|Expr"},
        {"int", "integer"},
        {"bool", "boolean"},
        {"string", "string"},
        {"condition", "Expr"},
        {"func", "Func"},
        {"name", "string"},
        {"names", "string[]"},
    };
    return kTypes.at(kind);
}

std::string indented(const std::string &text, const std::string &prefix) {
    std::istringstream in(text);
    std::string out;
    for (std::string line; std::getline(in, line);) {
        out += prefix + line + "\n";
    }
    return out;
}

void print_method(const Word &w, Handle::Kind kind) {
    std::cout << "\n--- " << w.doc << "\n---\n---```text\n"
              << indented(w.before, "---") << "---  ->\n"
              << indented(w.after, "---") << "---```\n";
    std::string names;
    bool first = true;
    for (const auto &a : parse_arg_specs(w.args)) {
        const bool implied = first && kind == Handle::kLoop && !a.repeated;
        first = false;
        if (implied) {
            continue;
        }
        const std::string name = a.repeated ? "..." : a.name;
        const std::string optional = a.optional && !a.repeated ? "?" : "";
        const std::string about = named_values(a.kind).empty() ? " " + describe(a) : "";
        std::cout << "---@param " << name << optional << " " << lua_type(a.kind) << (a.repeated ? " " + a.name + ":" : "") << about << "\n";
        names += (names.empty() ? "" : ", ") + name;
        if (a.kind == "level") {
            std::cout << "---@param loop? string the loop's name, where a Func or stage stands before it\n";
            names += ", loop";
        }
    }
    if (returns(w).empty()) {
        std::cout << "---@return self\n";
    }
    for (const auto &r : returns(w)) {
        std::cout << "---@return " << r.kind << " " << (r.repeated ? "..." : r.name) << "\n";
    }
    std::cout << "function " << kind_name(kind) << ":" << w.name << "(" << names << ") end\n";
}

const char *class_doc(Handle::Kind kind) {
    switch (kind) {
    case Handle::kStage: return "The first or an update definition of a Func, or a specialisation of one.";
    case Handle::kFunc: return "A stage of the algorithm, or a buffer: `k.NAME`. Words of a stage mean its first one.";
    case Handle::kLoop: return "A loop of a stage, as `split`, `fuse` and `tile` return it.";
    case Handle::kDimension: return "A dimension of an input or output buffer: `k.x:dim(0)`.";
    default: return "An integer or condition that is known when the library runs.";
    }
}

void print_meta() {
    std::cout << "---@meta halyard\n\n"
                 "-- Generated by `halyard-words --meta` from the table of words in schedules/language. Do not edit.\n\n";
    for (const char *kind : kEnums) {
        std::cout << "---@alias " << capitalised(kind) << "\n";
        for (const auto &v : named_values(kind)) {
            std::cout << "---| \"" << v.name << "\"\n";
        }
        std::cout << "\n";
    }
    std::cout << "---@alias ElementType "
                 "\"f16\"|\"bf16\"|\"f32\"|\"f64\"|\"i8\"|\"i16\"|\"i32\"|\"i64\"|\"u8\"|\"u16\"|\"u32\"|\"u64\"\n";
    for (const Handle::Kind kind : kKinds) {
        const std::string name = kind_name(kind);
        std::cout << "\n--- " << class_doc(kind) << "\n---@class " << name << (kind == Handle::kFunc ? ": Stage" : "");
        if (kind == Handle::kExpr) {
            for (const char *op : {"add", "sub", "mul", "idiv", "mod"}) {
                std::cout << "\n---@operator " << op << "(integer|Expr): Expr";
            }
        }
        std::cout << "\nlocal " << name << " = {}\n";
        for (const auto &g : groups()) {
            for (const Word &w : *g.words) {
                // A Func inherits the words of a stage.
                if (word_applies(w, kind) && (kind != Handle::kFunc || w.on == kind)) {
                    print_method(w, kind);
                }
            }
        }
    }
    std::cout << "\n--- What is known of the machine that the library is for.\n---@class Target\n";
    for (const auto &f : kFacts) {
        if (!*f.argument) {
            std::cout << "---@field " << f.name << " " << f.type << " " << f.doc << "\n";
        }
    }
    std::cout << "local Target = {}\n";
    for (const auto &f : kFacts) {
        if (*f.argument) {
            const std::string argument = f.argument;
            const size_t colon = argument.find(':');
            std::cout << "\n--- " << f.doc << "\n---@param " << argument.substr(0, colon) << argument.substr(colon + 1) << "\n---@return "
                      << f.type << "\nfunction Target:" << f.name << "(" << argument.substr(0, colon) << ") end\n";
        }
    }
    std::cout << R"(
--- The Funcs, input buffers and scalar inputs of the algorithm by name: `k.sum_sq`.
--- A scalar input is an Expr.
---@class Funcs
---@field [string] Func
local Funcs = {}

)";
    for (const auto &f : kOfAllFuncs) {
        const std::string argument = f.argument;
        const size_t colon = argument.find(':');
        std::cout << "\n--- " << f.doc << "\n"
                  << (colon == std::string::npos ? "" : "---@param " + argument.substr(0, colon) + argument.substr(colon + 1) + "\n")
                  << (*f.type ? "---@return " + std::string(f.type) + "\n" : "") << "function Funcs:" << f.name << "("
                  << argument.substr(0, colon) << ") end\n";
    }
    std::cout << R"(
---@class Tune

--- A parameter that a search may change, and `--set name=value` on the command line.
--- `default` is the first choice where it is not given. `search = false`: it is not a matter of speed, so a search leaves it.
---@param choices { [integer]: integer|number|string|boolean, default?: integer|number|string|boolean, search?: boolean }
---@return Tune
function tune(choices) end

---@class ScheduleFields
---@field target? "cpu"|"cuda" what the schedule is for
---@field requires? string[] features that the target must have
---@field generator? table<string, Tune|integer|number|string|boolean> parameters of the algorithm
---@field params? table<string, Tune|integer|number|string|boolean> parameters of the schedule
---@field where? fun(p: table<string, any>, target: Target): boolean which values of the parameters go together
---@field apply fun(k: Funcs, p: table<string, any>, target: Target) the schedule

---@class Schedule

--- `return schedule "op" { ... }` ends a schedule file.
---@param op string the algorithm that the schedule is for
---@return fun(fields: ScheduleFields): Schedule
function schedule(op) end
)";
}

// ---- the page

std::string result_names(const Word &w) {
    std::string s;
    for (const auto &r : returns(w)) {
        s += (s.empty() ? "" : ", ") + r.name + (r.repeated ? "..." : "");
    }
    return s;
}

std::string receiver(Handle::Kind kind) {
    std::string s = kind_name(kind);
    s[0] = char(std::tolower(static_cast<unsigned char>(s[0])));
    return s;
}

void print_usage(const Word &w) {
    const std::string results = result_names(w).empty() ? "" : result_names(w) + " = ";
    std::cout << "```lua\n";
    const auto print = [&](const std::string &of, std::string forms) {
        const std::string start = results + of + ":";
        for (size_t at = forms.find(" or "); at != std::string::npos; at = forms.find(" or ")) {
            forms.replace(at, 4, "\n" + start);
        }
        std::cout << start << forms << "\n";
    };
    print(receiver(w.on), usage(w, false));
    if (w.on == Handle::kStage && word_applies(w, Handle::kLoop)) {
        print("loop", usage(w, true));
    }
    std::cout << "```\n\n";
}

const char *effect_text(Effect effect) {
    switch (effect) {
    case Effect::kPlaced: return "An error where the Func is computed inline, since it would have no effect.";
    case Effect::kInside: return "An error where the Func is an output, since it would have no effect.";
    case Effect::kMemory: return "An error where the Func is an output or computed inline, since it would have no effect.";
    case Effect::kCuda: return "An error in a schedule for the host, since it would have no effect.";
    default: return "";
    }
}

void print_word(const Word &w) {
    std::cout << "### " << w.name << "\n\n";
    print_usage(w);
    std::cout << w.doc << (w.halide ? " Halide calls it `" + std::string(w.halide) + "`." : "") << "\n\n";
    if (w.effect != Effect::kAnywhere) {
        std::cout << effect_text(w.effect) << "\n\n";
    }
    const auto args = parse_arg_specs(w.args);
    for (const auto &a : args) {
        std::cout << "- `" << a.name << "`" << (a.optional ? " (optional)" : "") << (a.repeated ? " (one or more)" : "") << ": ";
        if (named_values(a.kind).empty()) {
            std::cout << describe(a) << "\n";
        } else {
            std::cout << "a name of [" << a.kind << "](#names)\n";
        }
    }
    if (returns(w).empty()) {
        std::cout << "- returns: " << (w.on == Handle::kStage ? "what it was said of" : "the " + receiver(w.on))
                  << ", so that words chain\n";
    }
    for (const auto &r : returns(w)) {
        std::cout << "- returns `" << r.name << "`: " << (r.repeated ? "for each loop a " : "a ") << r.kind << "\n";
    }
    std::cout << "\n```text\n" << w.before << "\n  ->\n" << w.after << "\n```\n\n";
}

void print_reference() {
    std::cout << "<!-- Generated by `halyard-words --reference` from the table of words in schedules/language. "
                 "Do not edit. -->\n\n# The words of a schedule\n\n"
                 "A word is said of a Func (`k.y`), of a stage of one (`k.y:update(0)`) or of a loop (what `split` "
                 "returns). Words of a stage, said of a Func, mean its first definition. `?` marks an argument that "
                 "may be left out, `...` one that may be repeated. Under each word stand the loops before and "
                 "after.\n\n"
                 "A number that is not in the range that stands at its argument is an error at its line; where it is an "
                 "expression, known only when the library is called, the call fails. So is what would have no effect: a word "
                 "on the loops of a Func that is computed inline, or on where an output is computed. What only says the "
                 "default, as `compute_root` of an output or `serial`, is legal.\n\n";
    for (const auto &g : groups()) {
        std::string words;
        for (const Word &w : *g.words) {
            words += (words.empty() ? "" : ", ") + ("[" + std::string(w.name) + "](#" + w.name + ")");
        }
        std::cout << "- " << g.title << ": " << words << "\n";
    }
    for (const auto &g : groups()) {
        std::cout << "\n## " << g.title << "\n\n" << g.text << "\n\n";
        for (const Word &w : *g.words) {
            print_word(w);
        }
    }
    std::cout << "## Names\n\nThe legal values of arguments that are names.\n\n";
    for (const char *kind : kEnums) {
        std::cout << "- " << kind << ": ";
        const char *comma = "";
        for (const auto &v : named_values(kind)) {
            std::cout << comma << "`\"" << v.name << "\"`";
            comma = ", ";
        }
        std::cout << "\n";
    }
    std::cout << "\n## k\n\nThe first argument of `apply`: the Funcs and input buffers by name, as in `k.y`.\n\n";
    for (const auto &f : kOfAllFuncs) {
        const std::string argument = f.argument;
        std::cout << "- `k:" << f.name << "(" << argument.substr(0, argument.find(':')) << ")`" << (*f.type ? ": " : "") << f.type << ". "
                  << f.doc << "\n";
    }
    std::cout << "\n## target\n\nThe third argument of `apply`. Every fact follows from the target string and from "
                 "`--fact name=value`, never from the machine that builds.\n\n";
    for (const auto &f : kFacts) {
        std::cout << "- `target" << (*f.argument ? ":" : ".") << f.name;
        if (*f.argument) {
            std::cout << "(" << std::string(f.argument).substr(0, std::string(f.argument).find(':')) << ")";
        }
        std::cout << "`: " << f.type << ". " << f.doc << "\n";
    }
}

}  // namespace

}  // namespace halyard

int main(int argc, char **argv) {
    const std::string what = argc == 2 ? argv[1] : "";
    if (what == "--meta") {
        halyard::print_meta();
    } else if (what == "--reference") {
        halyard::print_reference();
    } else {
        std::cerr << "usage: halyard-words --meta | --reference\n";
        return 2;
    }
    return 0;
}
