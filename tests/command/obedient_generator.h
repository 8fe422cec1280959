#ifndef HALYARD_TESTS_COMMAND_OBEDIENT_GENERATOR_H
#define HALYARD_TESTS_COMMAND_OBEDIENT_GENERATOR_H

/** \file
 * A generator executable that stops where a test wants it, after half of a library; and generators that reach what a test needs of them.
 */

#include <cstdlib>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "support.h"

/** Generators are not confined as long as there is one. */
class Unconfined {
public:
    Unconfined() {
        setenv("HALYARD_CONFINE", "off", 1);
    }
    ~Unconfined() {
        unsetenv("HALYARD_CONFINE");
    }
    Unconfined(const Unconfined &) = delete;
    Unconfined &operator=(const Unconfined &) = delete;
};

class ObedientGenerator {
public:
    explicit ObedientGenerator(const Folder &folder) : out_(folder / "out"), pid_(folder / "pid"), executable_(folder / "generator.sh") {
        // Half of the library and of the header, its process id, and then what the test says. It has no stub.
        write_file(executable_, "#!/bin/sh\n"
                                "case \" $* \" in *\" cpp_stub \"*) exit 1 ;; esac\n"
                                "while [ $# -gt 0 ]; do\n"
                                "  case $1 in\n"
                                "    -o) out=$2; shift ;;\n"
                                "    text=*) text=${1#text=} ;;\n"
                                "  esac\n"
                                "  shift\n"
                                "done\n"
                                "printf 'first half of %s, ' \"$text\" | tee \"$out/op.a\" >\"$out/op.h\"\n"
                                "echo $$ >" +
                                    pid_ + ".part && mv " + pid_ + ".part " + pid_ +
                                    "\n"
                                    "case $END in sleep) sleep 10 & wait ;; *) eval \"$END\" ;; esac\n"
                                    "printf 'second half\\n' | tee -a \"$out/op.a\" >>\"$out/op.h\"\n");
        std::filesystem::permissions(executable_, std::filesystem::perms::owner_all);
    }

    const std::string &out() const {
        return out_;
    }
    /** The file whose appearance means that half of the library is written. */
    const std::string &half_way() const {
        return pid_;
    }
    static std::string whole(const std::string &text) {
        return "first half of " + text + ", second half\n";
    }

    /** A build of "text"; `end` is what the generator does half way: "sleep", or a line of sh. */
    Arguments arguments(const std::string &text, const std::string &end = ":", const Arguments &more = {}) const {
        std::filesystem::remove(pid_);
        setenv("END", end.c_str(), 1);
        Arguments a = {"build", "op", "--generator", executable_, "--schedule", "none", "--param", "text=" + text, "-o", out_};
        a.insert(a.end(), more.begin(), more.end());
        return a;
    }

    void build_once(const std::string &text) const {
        const ProcessResult r = run(arguments(text));
        INFO(r.err);
        REQUIRE(r.exit_code == 0);
        REQUIRE(read_file(out_ + "/op.a") == whole(text));
        REQUIRE(read_file(out_ + "/op.h") == whole(text));
    }

    /** Nothing of its process group runs, the sleeping child among it. */
    bool is_gone() const {
        return !group_runs(std::stoi(read_file(pid_)));
    }

private:
    Unconfined unconfined_;  // it tells the test how far it is by a file outside of the only folder that a generator may write
    std::string out_, pid_, executable_;
};

#endif
