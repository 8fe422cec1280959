// What a generator process reaches. It is native code that the user chose; a mistake in it, or in the compiler that it is,
// that a stranger's schedule finds, must not be worth much.

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/command/support.h"
#include "kernel/confine.h"
#include "kernel/text.h"

namespace {

// A process that waits, to be disturbed.
class Prey {
public:
    Prey() : pid_(fork()) {
        if (pid_ == 0) {
            for (;;) {
                pause();
            }
        }
    }
    ~Prey() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    std::string number() const {
        return std::to_string(pid_);
    }

private:
    pid_t pid_;
};

// What the hostile generator said of each of its attempts.
std::map<std::string, std::string> attempts(const std::string &confine, const std::string &generator = HALYARD_ESCAPE) {
    const Folder secrets, out;
    const Prey prey;
    write_file(secrets / "secret", "of the user");
    const ProcessResult r = run({"build", "hostile", "--generator", generator, "--schedule", "none", "-o", out / "out"},
                                {"HALYARD_CONFINE=" + confine, "HALYARD_SECRET=" + (secrets / "secret"),
                                 "HALYARD_VICTIM=" + (secrets / "victim"), "HALYARD_PREY=" + prey.number()});
    INFO(r.err);
    REQUIRE(r.exit_code == 0);
    std::map<std::string, std::string> said;
    std::istringstream in(read_file(out / "out/hostile.h"));
    for (std::string name, what; in >> name >> what;) {
        said[name] = what;
    }
    return said;
}

bool skipped() {
    if (!halyard::confines()) {
        WARN("not tested: " << halyard::confinement_state());
    }
    return !halyard::confines();
}

const char *const kNeeded[] = {"own_file", "own_folder", "thread", "temporary"};

}  // namespace

// The loader splits its list of libraries at blanks and colons, and without ours Halide finds no temporary folder.
TEST_CASE("A generator runs confined wherever Halyard is installed", "[sandbox]") {
    const Folder folder;
    const std::string build = std::filesystem::path(HALYARD_COMMAND).parent_path().parent_path();
    for (const char *name : {"plain", "sp ace", "co:lon", "both : of them"}) {
        INFO(name);
        std::filesystem::create_directory_symlink(build, folder / name);
        const ProcessResult r = run({"build", "rms_norm", "--target", "host", "-o", folder / (std::string("out of ") + name)},
                                    {"HALYARD_ROOT=" + (folder / name)});
        INFO(r.err);
        CHECK(r.exit_code == 0);
        CHECK(r.err.empty());
    }
}

TEST_CASE("A generator reaches its own folder and nothing else", "[sandbox]") {
    if (skipped()) {
        return;
    }
    const auto said = attempts("on");
    for (const char *name : kNeeded) {
        CHECK(said.at(name) == std::string("works"));
    }
    for (const char *name : {"write",
                             "truncate",
                             "read",
                             "list",
                             "link",
                             "rename",
                             "mode",
                             "times",
                             "owner",
                             "pipe",
                             "limit_of_others",
                             "priority_of_others",
                             "processors_of_others",
                             "owner_of_signals",
                             "environment_of_others",
                             "network",
                             "udp",
                             "local_socket",
                             "socket_pair",
                             "flags",
                             "new_calls",
                             "watch",
                             "attributes",
                             "connections",
                             "mounts_by_task",
                             "lease",
                             "told_of_files",
                             "shared_zeros",
                             "growing_memory",
                             "long_stack",
                             "addresses",
                             "secret_memory",
                             "program_in_memory",
                             "shared_memory",
                             "outlive",
                             "signal",
                             "memory_of_others",
                             "ptrace",
                             "fork",
                             "shell",
                             "namespace",
                             "exec"}) {
        INFO(name);
        CHECK(said.at(name) == std::string("fails"));
    }
}

// So that the attempts above are known to be ones that work.
TEST_CASE("A generator that is not confined reaches what its user does", "[sandbox]") {
    const auto said = attempts("off");
    for (const char *name : kNeeded) {
        CHECK(said.at(name) == std::string("works"));
    }
    for (const char *name : {"write",
                             "truncate",
                             "read",
                             "list",
                             "link",
                             "rename",
                             "mode",
                             "times",
                             "owner",
                             "pipe",
                             "limit_of_others",
                             "priority_of_others",
                             "processors_of_others",
                             "owner_of_signals",
                             "environment_of_others",
                             "network",
                             "udp",
                             "local_socket",
                             "socket_pair",
                             "watch",
                             "attributes",
                             "connections",
                             "mounts_by_task",
                             "lease",
                             "told_of_files",
                             "shared_zeros",
                             "growing_memory",
                             "program_in_memory",
                             "shared_memory",
                             "outlive",
                             "signal",
                             "fork",
                             "shell",
                             "exec"}) {
        INFO(name);
        CHECK(said.at(name) == std::string("works"));
    }
}

TEST_CASE("A confined child ends with its group and its pipes", "[sandbox]") {
    const Folder folder;
    halyard::Confinement c = halyard::confinement_of("/bin/sh", {});
    c.starts_programs = true;
    c.writes = {folder.path()};
    ProcessResult r = halyard::run_confined({"/bin/sh", "-c", "echo out; echo err >&2; echo $TMPDIR; exit 3"}, {}, c);
    CHECK(r.exit_code == 3);
    CHECK(r.err == "err\n");
    if (!skipped()) {
        CHECK(r.out == "out\n" + folder.path() + "\n");
    }
    halyard::ProcessOptions options;
    options.timeout = 0.3;
    r = halyard::run_confined({"/bin/sh", "-c", "echo $$; sleep 50 & wait"}, options, c);
    CHECK(r.timed_out);
    CHECK_FALSE(group_runs(std::stoi(r.out)));
}

TEST_CASE("A temporary folder goes with the folder of its process", "[sandbox]") {
    const Folder folder;
    halyard::Confinement c = halyard::confinement_of(HALYARD_ESCAPE, {});
    c.writes = {folder.path(), "/tmp"};  // where a kernel without Landlock lets it write
    const ProcessResult r = halyard::run_confined({HALYARD_ESCAPE, "--temporary"}, {}, c);
    CHECK(r.exit_code == 0);
    if (!skipped()) {
        CHECK(halyard::starts_with(r.out, folder.path() + "/"));
    }
}
