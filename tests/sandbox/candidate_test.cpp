// What a candidate of the explorer reaches while it is checked and timed.

#include <cstdlib>

#include <catch2/catch.hpp>

#include "tests/explore/fake_generator.h"
#include "kernel/confine.h"
#include "explore/measure/measurer.h"

using namespace halyard::explore;

TEST_CASE("A candidate reaches its own folder and nothing else", "[sandbox]") {
    const Folder folder, secrets;
    const FakeGenerator generator(folder);
    write_file(secrets / "secret", "of the user");
    setenv("HALYARD_SECRET", (secrets / "secret").c_str(), 1);
    setenv("HALYARD_VICTIM", (secrets / "victim").c_str(), 1);
    // The library computes something else where one of its attempts works.
    CHECK(measure(generator.task(), generator.candidate("escape")).status == Status::kWrongResult);
    unsetenv("HALYARD_CONFINE");
    if (!halyard::confines()) {
        WARN("not tested: " << halyard::confinement_state());
        return;
    }
    setenv("HALYARD_CONFINE_READS", (HALYARD_FAKES ":" + folder.path()).c_str(), 1);  // for the generator, a script
    std::filesystem::remove(secrets / "victim");
    const Measured m = measure(generator.task(), generator.candidate("escape"));
    INFO(m.message);
    CHECK(m.status == Status::kOk);
    CHECK_FALSE(std::filesystem::exists(secrets / "victim"));
}
