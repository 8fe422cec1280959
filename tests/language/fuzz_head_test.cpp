// Broken variants of the real schedules, read as a build reads them: each is accepted or refused
// with a message, and nothing else happens. HALYARD_FUZZ=n runs n times as many.

#include <cstdlib>

#include "hostile.h"
#include "mutate.h"

TEST_CASE("no text breaks the reader of schedules", "[fuzz]") {
    const TempDir dir;
    const Mutator mutator(scripts_in(HALYARD_SOURCE "/schedules/cpu"), {"tune", "where", "requires", "generator"});
    const char *factor = std::getenv("HALYARD_FUZZ");
    const uint64_t count = kVariants * uint64_t(factor ? std::max(1, std::atoi(factor)) : 1);
    auto options = small_limits();
    options.lib_dirs = {HALYARD_SOURCE "/schedules"};
    options.target = "x86-64-linux-avx2";
    size_t accepted = 0;
    for (uint64_t seed = 0; seed < count; seed++) {
        const std::string text = mutator.variant(seed);
        // Written first, so that the text of a crash can be looked at.
        const std::string path = dir.write("script.lua", text);
        try {
            halyard::read_header(path, options);
            accepted++;
        } catch (const halyard::ScriptError &e) {
            if (e.diagnostic.file.empty() || e.diagnostic.message.empty()) {
                FAIL("seed " << seed << ": no file or no message: " << e.what() << "\n" << text);
            }
        } catch (const std::exception &e) {
            FAIL("seed " << seed << ": " << e.what() << "\n" << text);
        }
    }
    CHECK(accepted > count / 20);
    CHECK(accepted < count);
}
