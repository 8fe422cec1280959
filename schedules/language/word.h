#ifndef HALYARD_WORD_H
#define HALYARD_WORD_H

/** \file
 * The words of the schedule language, one data entry each.
 *
 * The one table drives the Lua bindings, the checks of arguments, the error messages, the
 * `---@meta` file for editors, the reference page, and the test that Halide has no directive
 * that the language lacks.
 */

#include <optional>
#include <string>
#include <vector>

#include <Halide.h>

#include "language/domain.h"
#include "language/lua_host.h"
#include "language/pipeline_view.h"

namespace halyard {

/** What a Lua value of the schedule language stands for. */
struct Handle {
    enum Kind { kFunc, kStage, kLoop, kDimension, kExpr };
    Kind kind = kFunc;
    std::string func_name;  // plain name of the Func that it belongs to
    Halide::Func func;
    int stage_index = 0;
    std::optional<Halide::Stage> stage;  // of a stage or loop; a specialisation is a stage of its own
    LoopName loop;
    Halide::Parameter parameter;  // of a dimension of an input buffer
    int dimension = 0;
    Halide::Expr expr;
    int binding = 0;  // which one made it: a version's Funcs are its own
};

const char *kind_name(Handle::Kind kind);

/** "a Func", "an Expr". */
std::string article(Handle::Kind kind);

/** An argument of a word, checked and converted. Which members are set follows from its kind. */
struct Argument {
    bool present = false;
    Halide::Expr expr;
    int64_t integer = 0;
    bool boolean = false;
    std::string text;
    std::vector<LoopName> loops;
    std::vector<std::string> texts;
    std::vector<Halide::Expr> exprs;
    std::vector<Handle> handles;
    std::optional<Halide::LoopLevel> level;
};

class Binding;

/** One use of a word, from the check of its arguments to its results. */
struct Call {
    Binding &binding;
    lua_State *L;
    const Handle &self;
    std::vector<Argument> args;
    int results = -1;  // values pushed; -1: the word returns self

    Halide::Func func() const {
        return self.func;
    }
    Halide::Stage stage() const;
    Halide::VarOrRVar loop(size_t arg, size_t i = 0) const;
    std::vector<Halide::VarOrRVar> loops(size_t arg) const;
    /** Puts loops in an order, the innermost first, into the places that they have among all loops of the stage. Halide asks of
     * each two reduction loops that change places whether they may, but only of those that it is told. */
    void reorder(const std::vector<Halide::VarOrRVar> &order);
    Halide::Var dim(size_t arg) const;
    /** A name for a new loop of this stage: the one given as argument, or `base` made unique. */
    std::string new_loop(size_t arg, const std::string &base);
    void push_loop(const std::string &plain);
    void push_func(const Halide::Func &f, const std::string &name);
    void push_stage(const Halide::Stage &s, int index);
    void push_expr(const Halide::Expr &e);
    void push_dimension(int d);
    /** Fails where one of them is known only when the library is called. */
    void need_numbers(const std::vector<Halide::Expr> &sizes) const;
    [[noreturn]] void fail(const std::string &message, const std::string &hint = "") const;
};

/** Where a word has an effect; elsewhere it is an error (effects.h). */
enum class Effect {
    kAnywhere,
    kPlaced,  // of what has loops and memory of its own: not of a Func that is computed inline
    kInside,  // of what is computed on the way: an output is computed at the root, into the caller's buffer
    kMemory,  // both: an output has the caller's memory
    kCuda,    // in a schedule for CUDA
};

struct Word {
    const char *name;
    Handle::Kind on;  // words of kStage are words of Func (its first stage) too, and of a loop where
                      // their first argument is a loop
    /** `name:kind[domain]`, separated by blanks; `?` marks what may be left out, `...` the last one
     * repeated. The kinds are those of describe_kind(); those of numbers have a domain (domain.h). */
    const char *args;
    const char *returns;  // "self", or `name:Kind` of each result
    const char *doc;
    const char *before;  // the loops before and after, as the reference shows them
    const char *after;
    void (*apply)(Call &);
    const char *halide = nullptr;  // Halide's name, where Lua cannot parse it
    Effect effect = Effect::kAnywhere;

    /** Whether it is about loops or memory, which a Func that is computed inline has not. */
    bool needs_place() const;
};

/** All words in the order of the reference. */
const std::vector<Word> &words();

// The parts of the table, a file each.
extern const std::vector<Word> kLoopWords, kOrderWords, kPlaceWords, kStorageWords, kBoundsWords, kGpuWords, kTraceWords, kBufferWords,
    kExprWords, kLoweringWords;

/** One legal value of an argument that is a name, for checks and the reference. */
struct NamedValue {
    const char *name;
    int value;
};

/** The legal names for an argument kind ("tail", "memory", ...); empty for kinds that are not names. */
const std::vector<NamedValue> &named_values(const std::string &kind);

/** `name:kind?...` taken apart. */
struct ArgSpec {
    std::string name, kind;
    bool optional = false, repeated = false;
    std::optional<Domain> domain;  // of a number
};
std::vector<ArgSpec> parse_arg_specs(const char *specs);

/** What an argument of a kind may be, for messages and the reference: "an integer", ... */
std::string describe_kind(const std::string &kind);

/** The same with the domain of its numbers: "an integer or an expression, from 1 to 4096". */
std::string describe(const ArgSpec &arg);

/** `split(loop, factor, tail?, outer?, inner?)`; said of a loop, without the first argument. */
std::string usage(const Word &word, bool on_loop);

/** Whether a word can be said of a kind of handle: words of a stage hold for a Func, and for a loop
 * where their first argument is one. */
bool word_applies(const Word &word, Handle::Kind kind);

}  // namespace halyard

#endif
