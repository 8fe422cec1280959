#ifndef HALYARD_TESTS_ENGINE_HOSTILE_H
#define HALYARD_TESTS_ENGINE_HOSTILE_H

/** \file
 * Runs a script that should not get far, with limits that make that quick.
 */

#include <catch2/catch.hpp>

#include <ctime>

#include "language/script.h"
#include "support.h"

inline halyard::ScriptOptions small_limits() {
    halyard::ScriptOptions options;
    options.limits.memory_bytes = size_t(8) << 20;
    options.limits.instructions = 2'000'000;
    options.limits.seconds = 1;
    options.limits.print_bytes = 1024;
    return options;
}

/** A whole schedule around statements that `apply` runs. */
inline std::string in_apply(const std::string &statements) {
    return "return schedule \"op\" { apply = function(k, p, target)\n" + statements + "\nend }\n";
}

/** Loads a script and calls its apply with k = nil; the error's Diagnostic, or one without message. */
inline halyard::Diagnostic failure(const std::string &path, const halyard::ScriptOptions &options = small_limits()) {
    const std::clock_t begin = std::clock();  // of the processor: others may have it too
    halyard::Diagnostic d;
    try {
        halyard::Script script(path, options);
        script.apply([](lua_State *L) { lua_pushnil(L); });
    } catch (const halyard::ScriptError &e) {
        d = e.diagnostic;
        CHECK(std::string(e.what()).find("error: ") != std::string::npos);
        CHECK(std::string(e.what()).size() < 20000);
    }
    CHECK(double(std::clock() - begin) / CLOCKS_PER_SEC < 6);
    return d;
}

inline halyard::Diagnostic failure_of_text(const std::string &text, const halyard::ScriptOptions &options = small_limits()) {
    const TempDir dir;
    return failure(dir.write("script.lua", text), options);
}

#endif
