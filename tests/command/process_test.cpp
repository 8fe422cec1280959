// Child processes.

#include <chrono>
#include <csignal>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "kernel/failure.h"
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
    const ProcessResult r = run_process({"sh", "-c",
                                         "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; "
                                         "head -c 3000000 /dev/zero"});
    CHECK(r.out.size() == 6000000);
    CHECK(r.err.size() == 3000000);
}

TEST_CASE("Of endless output the beginning and the end are kept", "[process]") {
    halyard::ProcessOptions options;
    options.output_bytes = 1000;
    const ProcessResult r = run_process({"sh", "-c", "echo begin; head -c 3000000 /dev/zero; echo end"}, options);
    CHECK(halyard::starts_with(r.out, "begin\n"));
    CHECK(halyard::ends_with(r.out, "end\n"));
    CHECK(contains(r.out, "\n... 2999010 bytes are left out here ...\n"));
    CHECK(r.out.size() < 1100);
    // No more than that is in memory meanwhile.
    options.output_bytes = 3000100;
    CHECK(run_process({"sh", "-c", "head -c 3000000 /dev/zero"}, options).out.size() == 3000000);
}

TEST_CASE("Standard input that is given", "[process]") {
    halyard::ProcessOptions options;
    options.input = std::string(300000, 'x');
    CHECK(run_process({"cat"}, options).out == options.input);
}

TEST_CASE("Memory and processor time of a process are bounded, and of what it starts", "[process]") {
    halyard::ProcessOptions options;
    options.memory_bytes = int64_t(64) << 20;
    const std::string keep = "head -c 200000000 /dev/zero | tail -c 200000000 | wc -c";  // all of it in memory
    CHECK(run_process({"sh", "-c", keep}).out == "200000000\n");
    const ProcessResult greedy = run_process({"sh", "-c", keep}, options);
    CHECK(contains(greedy.err, "memory exhausted"));
    CHECK(run_process({"sh", "-c", "ulimit -d"}, options).out == "65536\n");  // before the program's first step
    options.processor_seconds = 1;
    CHECK(run_process({"sh", "-c", "while :; do :; done"}, options).signal == SIGXCPU);
}

// A part of the command that does not ask for signals, or asks too late.
TEST_CASE("A second signal ends the command", "[process]") {
    const pid_t pid = fork();
    if (pid == 0) {
        halyard::catch_signals();
        alarm(10);
        for (;;) {
            pause();
        }
    }
    int status = 0;
    run_process({"sleep", "0.3"});
    kill(pid, SIGINT);
    run_process({"sleep", "0.1"});
    CHECK(waitpid(pid, &status, WNOHANG) == 0);  // the first is for the command to answer
    kill(pid, SIGINT);
    waitpid(pid, &status, 0);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGINT));
}

TEST_CASE("A timeout ends the children too", "[process]") {
    const Folder folder;
    const auto begin = std::chrono::steady_clock::now();
    const ProcessResult r = run_process({"sh", "-c", "(sleep 0.5; echo late >" + (folder / "late") + ") & sleep 50"}, {0.2, {}});
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

// Each entry once, and neither a path nor the stack as long as the folders are deep: what a generator can leave.
TEST_CASE("Whatever a process left in a temporary folder goes away with it", "[process]") {
    const auto now = [] { return std::chrono::steady_clock::now(); };
    const auto begin = now();
    auto made = begin;
    const Folder outside;
    write_file(outside / "kept", "x");
    std::string path;
    {
        const Folder folder;
        path = folder.path();
        int at = open(path.c_str(), O_RDONLY | O_DIRECTORY);
        for (int depth = 0; depth < 20000; depth++) {
            REQUIRE(mkdirat(at, "d", 0700) == 0);
            const int next = openat(at, "d", O_RDONLY | O_DIRECTORY);
            close(at);
            at = next;
        }
        REQUIRE(symlinkat(outside.path().c_str(), at, "link") == 0);
        close(at);
        for (int i = 0; i < 20; i++) {
            std::filesystem::create_directories(folder / (".halyard-removed-" + std::to_string(i)) + "/a/b/c");
        }
        std::filesystem::create_directories(folder / "closed/more/more");
        std::filesystem::permissions(folder / "closed/more", std::filesystem::perms::none);
        std::filesystem::permissions(folder / "closed", std::filesystem::perms::none);
        std::filesystem::create_directory_symlink(outside.path(), folder / "link");
        made = now();
    }
    CHECK(now() - made < 10 * (made - begin) + std::chrono::seconds(20));
    CHECK_FALSE(std::filesystem::exists(std::filesystem::symlink_status(path)));
    CHECK(names_in(outside.path()) == Arguments{"kept"});
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
