#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <cstdlib>

// What the caller's shell has set must not reach the commands that tests run.
int main(int argc, char **argv) {
    for (const char *name : {"HALYARD_ROOT", "HALYARD_CACHE", "NO_COLOR", "COLUMNS", "CXX"}) {
        unsetenv(name);
    }
    return Catch::Session().run(argc, argv);
}
