// Where files go: whole and all of them, or nothing changes.

#include <csignal>
#include <filesystem>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "kernel/failure.h"
#include "kernel/place.h"
#include "support.h"

using namespace halyard;
using Catch::Matchers::Contains;

namespace {

namespace fs = std::filesystem;

std::string message_of(const std::function<void()> &action) {
    try {
        action();
    } catch (const Failure &e) {
        return e.what();
    }
    return "";
}

// A device of our own, as a test that goes wrong may replace it; false where nobody but root may make one.
bool make_device(const std::string &path, mode_t kind, unsigned major, unsigned minor) {
    return mknod(path.c_str(), kind | 0666, makedev(major, minor)) == 0;
}

struct Obstacle {
    std::string path, name;
};

// What is no file, one of each kind.
std::vector<Obstacle> obstacles_in(const Folder &folder) {
    std::vector<Obstacle> all = {{folder / "folder", "a folder"}, {folder / "fifo", "a FIFO"}, {folder / "socket", "a socket"}};
    fs::create_directory(all[0].path);
    REQUIRE(mkfifo(all[1].path.c_str(), 0666) == 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    all[2].path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    REQUIRE(bind(fd, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0);
    close(fd);
    if (make_device(folder / "block", S_IFBLK, 7, 200)) {
        all.push_back({folder / "block", "a block device"});
    }
    return all;
}

// What a build made, in a folder beside the one that it goes to, where there are older files.
struct Made {
    Made() {
        fs::create_directory(from);
        fs::create_directory(to);
        for (const char *name : {"op.a", "op.h"}) {
            write_file(from + "/" + name, "new");
            write_file(to + "/" + name, "old");
        }
    }
    bool is_old() const {
        return read_file(to + "/op.a") == "old" && read_file(to + "/op.h") == "old" && names_in(to) == Arguments{"op.a", "op.h"};
    }
    Folder folder;
    std::string from = folder / "from", to = folder / "to", function = "op";
};

}  // namespace

TEST_CASE("What stands in a place and is no file stays there", "[place]") {
    const Folder folder;
    for (const Obstacle &o : obstacles_in(folder)) {
        INFO(o.name);
        const fs::file_type before = fs::status(o.path).type();
        fs::create_symlink(o.path, o.path + ".link");
        for (const std::string &path : {o.path, o.path + ".link"}) {
            const std::string message = message_of([&] { write_output(path, "text"); });
            CHECK(starts_with(message, path + ": error: "));
            CHECK_THAT(message, Contains("there is " + o.name + " of this name\n  name another file"));
            CHECK(message_of([&] { check_outputs({"", path}); }) == message);
        }
        CHECK(fs::status(o.path).type() == before);
        CHECK(fs::is_symlink(o.path + ".link"));
    }
}

TEST_CASE("A place that no file can be made in is found before the work", "[place]") {
    const Folder folder;
    write_file(folder / "file", "");
    fs::create_symlink(folder / "loop", folder / "loop");
    CHECK_THAT(message_of([&] { check_outputs({folder / "no/where"}); }), Contains("there is no folder " + (folder / "no")));
    CHECK_THAT(message_of([&] { check_outputs({folder / "file/x"}); }), Contains("there is no folder " + (folder / "file")));
    CHECK_THAT(message_of([&] { check_outputs({folder / "loop"}); }), Contains("Too many levels of symbolic links"));
    CHECK_THAT(message_of([&] { check_outputs({folder / std::string(300, 'x')}); }), Contains("File name too long"));
    CHECK_THAT(message_of([&] { check_outputs({folder / "x", folder / "./x"}); }), Contains("another output of this command goes there"));
    CHECK(message_of([&] { check_outputs({"", folder / "x", "", folder / "y"}); }) == "");
    CHECK(names_in(folder.path()) == Arguments{"file", "loop"});
}

TEST_CASE("Of what a generator left, only its outputs are placed", "[place]") {
    const Made made;
    const auto in_from = [&](const char *name) { return made.from + "/" + name; };
    for (const char *name : {".bashrc", "Makefile", "opera.h", "op", "op.x\nall:", "op-avx2.bc", "op.suid"}) {
        write_file(in_from(name), "text");
    }
    fs::permissions(in_from("op.suid"), fs::perms::all | fs::perms::set_uid);
    fs::create_directories(in_from("op.folder/below"));
    fs::create_symlink(in_from("Makefile"), in_from("op.link"));
    fs::create_hard_link(in_from("Makefile"), in_from("op.twice"));
    REQUIRE(mkfifo(in_from("op.fifo").c_str(), 0600) == 0);
    place_files(made.from, made.function, made.to, "", {});
    CHECK(names_in(made.to) == Arguments{"op-avx2.bc", "op.a", "op.h", "op.suid"});
    CHECK((fs::status(made.to + "/op.suid").permissions() & (fs::perms::set_uid | fs::perms::others_write)) == fs::perms::none);
}

TEST_CASE("A link leads to the file that is written", "[place]") {
    const Folder folder;
    write_file(folder / "file", "old");
    fs::create_symlink("file", folder / "link");
    write_output(folder / "link", "new");
    CHECK(read_file(folder / "file") == "new");
    CHECK(fs::is_symlink(folder / "link"));
    CHECK(names_in(folder.path()) == Arguments{"file", "link"});
}

TEST_CASE("A character device is written into", "[place]") {
    const Folder folder;
    const Made made;
    if (!make_device(folder / "null", S_IFCHR, 1, 3) || !make_device(folder / "full", S_IFCHR, 1, 7)) {
        WARN("skipped: only root can make a device");
        return;
    }
    fs::create_symlink("null", folder / "link");
    write_output(folder / "null", "text");
    write_output(folder / "link", "text");
    CHECK_THAT(message_of([&] { write_output(folder / "full", "text"); }),
               Contains("full: error: cannot be written: No space left on device"));
    CHECK_THROWS_AS(place_files(made.from, made.function, made.to, folder / "full", {}), Failure);
    CHECK(made.is_old());
    place_files(made.from, made.function, made.to, folder / "null", {});
    CHECK(read_file(made.to + "/op.a") == "new");
    for (const char *name : {"null", "full"}) {
        CHECK(fs::is_character_file(folder / name));
    }
    // In the place of a library it is a mistake.
    CHECK(make_device(made.to + "/op.c", S_IFCHR, 1, 3));
    write_file(made.from + "/op.c", "new");
    CHECK_THAT(message_of([&] { place_files(made.from, made.function, made.to, "", {}); }),
               Contains("there is a character device of this name"));
}

// RLIMIT_FSIZE with its signal ignored makes a write fail as a full disk does.
TEST_CASE("Of a file that cannot be written nothing is left", "[place]") {
    const Folder folder;
    write_file(folder / "file", "old");
    rlimit limit = {};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    const rlimit small = {4096, limit.rlim_max};
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const std::string existing = message_of([&] { write_output(folder / "file", std::string(5000, 'x')); });
    const std::string fresh = message_of([&] { write_output(folder / "other", std::string(100000, 'x')); });
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, before);
    CHECK(existing == folder / "file: error: cannot be written: File too large");
    CHECK(fresh == folder / "other: error: cannot be written: File too large");
    CHECK(read_file(folder / "file") == "old");
    CHECK(names_in(folder.path()) == Arguments{"file"});
}

TEST_CASE("Files of a build are placed all or none", "[place]") {
    for (const char *taken : {"op.a", "op.h"}) {
        const Made made;
        fs::remove(made.to + "/" + taken);
        fs::create_directory(made.to + "/" + taken);
        CHECK_THAT(message_of([&] { place_files(made.from, made.function, made.to, made.folder / "d", {}); }),
                   Contains(made.to + "/" + taken + ": error: ") && Contains("a folder"));
        CHECK(read_file(made.to + (taken[3] == 'a' ? "/op.h" : "/op.a")) == "old");
        CHECK_FALSE(fs::exists(made.folder / "d"));
    }
    const Made made;
    const auto obstacles = obstacles_in(made.folder);
    for (const std::string &depfile : {obstacles[0].path, obstacles[1].path, made.folder / "no/where", made.to + "/op.h"}) {
        INFO(depfile);
        CHECK(starts_with(message_of([&] { place_files(made.from, made.function, made.to, depfile, {}); }), depfile + ": error: "));
        CHECK(made.is_old());
    }
    // A link is what a build replaces, whatever it leads to.
    fs::remove(made.to + "/op.a");
    fs::create_symlink(obstacles[1].path, made.to + "/op.a");
    place_files(made.from, made.function, made.to, made.folder / "d", {"input"});
    CHECK(read_file(made.to + "/op.a") == "new");
    CHECK(read_file(made.to + "/op.h") == "new");
    CHECK_THAT(read_file(made.folder / "d"), Contains(made.to + "/op.a") && Contains("/input\n"));
}
