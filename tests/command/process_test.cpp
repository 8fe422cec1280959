// Child processes.

#include <chrono>
#include <csignal>
#include <filesystem>

#include <catch2/catch.hpp>

#include "failure.h"
#include "support.h"

using halyard::run_process;

TEST_CASE("What a process prints and how it ends", "[process]") {
    const ProcessResult r = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
    CHECK(r.out == "out\n");
    CHECK(r.err == "err\n");
    CHECK(r.exit_code == 3);
    CHECK_FALSE(r.ok());
    CHECK(run_process({"sh", "-c", "kill -SEGV $$"}).signal == SIGSEGV);
    CHECK(run_process({"sh", "-c", "echo $X"}, {0, {"X=5"}}).out == "5\n");
    CHECK(run_process({"cat"}).out == "");  // standard input is empty
    CHECK_THROWS_AS(run_process({"/nowhere/program"}), halyard::Failure);
}

TEST_CASE("More than a pipe holds, on both", "[process]") {
    const ProcessResult r = run_process({"sh", "-c", "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; "
                                                     "head -c 3000000 /dev/zero"});
    CHECK(r.out.size() == 6000000);
    CHECK(r.err.size() == 3000000);
}

TEST_CASE("A timeout ends the children too", "[process]") {
    const Folder folder;
    const auto begin = std::chrono::steady_clock::now();
    const ProcessResult r = run_process({"sh", "-c", "(sleep 0.5; echo late >" + (folder / "late") + ") & sleep 50"},
                                        {0.2, {}});
    CHECK(r.timed_out);
    CHECK(r.exit_code == -1);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
    run_process({"sleep", "0.6"});
    CHECK_FALSE(std::filesystem::exists(folder / "late"));
}

TEST_CASE("A grandchild that holds the pipes is not waited for", "[process]") {
    const auto begin = std::chrono::steady_clock::now();
    const ProcessResult r = run_process({"sh", "-c", "sleep 3 & echo done"});
    CHECK(r.out == "done\n");
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
}

TEST_CASE("A temporary folder goes away with all that it holds", "[process]") {
    std::string path;
    {
        const Folder folder;
        path = folder.path();
        std::filesystem::create_directories(folder / "a/b");
        write_file(folder / "a/b/c", "x");
    }
    CHECK_FALSE(std::filesystem::exists(path));
}
