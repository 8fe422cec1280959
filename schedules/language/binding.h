#ifndef HALYARD_BINDING_H
#define HALYARD_BINDING_H

/** \file
 * Binds the words to Lua: handles as userdata, lookup by name, checks, and the record of what
 * each line of a script did.
 */

#include <functional>

#include "lowering/host/mma.h"
#include "lowering/host/prefetch.h"
#include "lowering/host/prefetch_ahead.h"
#include "lowering/host/side_by_side.h"
#include "lowering/host/stream.h"
#include "language/word.h"

namespace halyard {

/** What a word touched, so that a loop nest can be shown beside the lines that made it. */
struct Touch {
    std::string file;
    int line = 0;
    std::string word;
    std::string func;
    std::vector<std::string> loops;  // plain names; empty where the word places the whole Func
    LuaHost::Place place;            // the line of the script that led to it
    double number = 0;               // the largest of its arguments, whatever its sign
    bool has_open_number = false;    // one that only a call knows is among them
};

/** An error, so far without a message, of what a word did at its line. */
Diagnostic diagnostic_at(const Touch &t);

/** What a script leaves to a search: `k:open("weight")`. */
struct OpenPart {
    std::string file;
    int line = 0;
    std::vector<std::string> funcs;  // by name; empty: all of which the script says nothing
    bool target = false;             // a variable `target` is known there
    size_t touches = 0;              // made before it
};

/** A number of the schedule that is known only when the library is called. */
struct Requirement {
    Halide::Expr condition;  // of parameters and the extents of buffers
    Halide::Expr value;      // what it is about
    std::string message;     // without the value
};

/** What an autoscheduler of Halide has made, in words. */
struct Translation {
    std::string scheduler, sizes;
    int64_t threads = 0;
    std::string statements;  // of `apply`
    std::string problem;     // where there are no words for it
};

class Binding {
public:
    Binding(LuaHost &host, PipelineView &view);

    LuaHost &host() {
        return host_;
    }
    PipelineView &view() {
        return view_;
    }

    const PipelineView &view() const {
        return view_;
    }

    /** Pushes `k`, the table of Funcs and scalars by name. */
    void push_funcs(lua_State *L);

    void push(lua_State *L, Handle handle);

    /** The handle at a stack index, or nullptr if the value is none. */
    static Handle *handle_at(lua_State *L, int index);

    /** What is compiled for. */
    Halide::Target target;

    /** Whether a script asks for conditions alone, and schedules nothing yet. */
    bool only_conditions = false;

    /** Called before a word is applied. */
    std::function<void(const Touch &)> before_word;

    /** Called after every word that was applied. */
    std::function<void(const Touch &)> on_word;

    /** Called for an error that a pass finds when the script has ended. */
    std::function<void(const Diagnostic &)> on_late_error;

    /** Whether a search asks; otherwise a part that is left open is an error. */
    bool may_be_open = false;

    /** Whether the script wants Halide's functions of f32 as they are: `k:libm()`. */
    bool libm = false;

    const std::optional<OpenPart> &open_part() const {
        return open_;
    }

    const std::vector<Touch> &touches() const {
        return touches_;
    }

    /** Set where the script hands the pipeline to an autoscheduler. */
    std::optional<Translation> translation;

    /** Has the stores of an output bypass the caches; `above` -1 stands for the default. */
    void stream(const Halide::Internal::Function &output, int64_t above);

    const std::vector<Streamed> &streamed() const {
        return streamed_;
    }

    /** Has a loop prefetch what another will need. */
    void prefetch_over(SpreadPrefetch prefetch) {
        prefetches_.push_back(std::move(prefetch));
    }

    const std::vector<SpreadPrefetch> &prefetches() const {
        return prefetches_;
    }

    /** Has a loop prefetch what it will need itself. */
    void prefetch_ahead(AheadPrefetch prefetch) {
        ahead_.push_back(std::move(prefetch));
    }

    const std::vector<AheadPrefetch> &prefetches_ahead() const {
        return ahead_;
    }

    /** Has the loops of some Funcs run as one; the line of the script that says so answers for it. */
    void put_side_by_side(std::vector<Halide::Internal::Function> funcs, std::vector<std::string> names);

    const std::vector<SideBySide> &side_by_side() const {
        return side_by_side_;
    }

    /** Has the copies of a Func into shared memory made so many turns of the loop around before they are needed. */
    void fetch(const Halide::Internal::Function &f, int ahead);

    /** Has so many blocks of a Func's kernel fit a multiprocessor. */
    void resident(const Halide::Internal::Function &f, int blocks) {
        resident_[f.name()] = blocks;
    }

    const std::map<std::string, int> &resident() const {
        return resident_;
    }

    /** Has kernels ask for an input, in so many turns of each loop, before they wait for what runs before them. */
    void prefetch_at_launch(const std::string &input, int turns) {
        prefetched_at_launch_[input] = turns;
    }

    const std::map<std::string, int> &prefetched_at_launch() const {
        return prefetched_at_launch_;
    }

    struct Fetched {
        Halide::Internal::Function func;
        int ahead = 0;
    };
    const std::vector<Fetched> &fetched() const {
        return fetched_;
    }

    /** Has an update done by tile instructions; the line of the script that says so answers for it. */
    void multiply_in_tiles(const Halide::Internal::Function &f, int stage);

    /** How many steps ahead a product's operands are fetched on a GPU; false where mma was not said of it. */
    bool pipeline(const Halide::Internal::Function &f, int stage, int stages, int raster, bool ping_pong);

    /** How many blocks of a GPU share the steps of a tile; false where mma was not said of it. */
    bool split_k_cluster(const Halide::Internal::Function &f, int stage, int blocks);

    /** How many warps of a GPU's block share the steps of a tile; false where mma was not said of it. */
    bool split_k_warps(const Halide::Internal::Function &f, int stage, int warps);

    const std::vector<TileProduct> &tile_products() const {
        return tile_products_;
    }

    /** Has the library ask, when it is called, whether a number of the schedule is one that its word can take. */
    void require(const Halide::Expr &condition, const Halide::Expr &value, const std::string &message);

    /** Adds what was required to a pipeline, once the script has ended. */
    void add_requirements(Halide::Pipeline pipeline) const;

    /** The word being applied now, for errors that Halide raises in it; else nullptr. */
    const Word *current_word() const {
        return current_;
    }

    /** Whether a word changes the schedule now: what it has done when it fails stays, so no pcall may go on from there. */
    bool applies() const {
        return applies_;
    }

private:
    static int index_funcs(lua_State *L);
    static int open(lua_State *L);
    static int reader_of(lua_State *L);
    static int keep_libm(lua_State *L);
    static int index_handle(lua_State *L);
    static int call_word(lua_State *L);
    static void check_version(Binding &b, lua_State *L, const Call &call);
    static int describe(lua_State *L);
    static int arithmetic(lua_State *L);
    static int equal(lua_State *L);
    static Binding &of(lua_State *L);
    static std::string name_now(const std::string &word);
    Diagnostic no_func(const std::string &name) const;
    std::function<void(const std::string &)> late_error(const std::string &word);
    void run(lua_State *L, const Word &word, const Handle &self);
    void record(const Word &word, const Handle &self, const std::vector<Argument> &args, const std::vector<Halide::Internal::Dim> &before);

    LuaHost &host_;
    PipelineView &view_;
    std::vector<Touch> touches_;
    std::optional<OpenPart> open_;
    std::vector<Streamed> streamed_;
    std::vector<Fetched> fetched_;
    std::map<std::string, int> resident_;
    std::map<std::string, int> prefetched_at_launch_;
    std::vector<TileProduct> tile_products_;
    std::vector<SpreadPrefetch> prefetches_;
    std::vector<AheadPrefetch> ahead_;
    std::vector<SideBySide> side_by_side_;
    std::vector<Requirement> requirements_;
    const Word *current_ = nullptr;
    bool applies_ = false;  // a word changes the schedule now
    const int number_;      // among the bindings of this process
};

/** Reads the arguments of a word from the stack (from index 2, the receiver being at 1); raises an
 * error that names the argument, what is legal, and the nearest name. `implied` is the loop of the
 * receiver, which stands for the first argument. */
std::vector<Argument> read_arguments(Binding &binding, lua_State *L, const Word &word, const Handle &self, const LoopName *implied);

/** A message of Halide without its opening words. */
std::string halide_message(std::string s);

}  // namespace halyard

#endif
