#ifndef HALYARD_TESTS_EXPLORE_FAKE_GENERATOR_H
#define HALYARD_TESTS_EXPLORE_FAKE_GENERATOR_H

/** \file
 * A generator that makes no code but hands out a library that is already there: the one that a line "-- mode crash" of the
 * schedule names. So a test says what a candidate does.
 */

#include <filesystem>

#include "tests/command/support.h"
#include "explore/task.h"

class FakeGenerator {
public:
    explicit FakeGenerator(const Folder &folder) : executable_(folder / "fake.generator"), pid_(folder / "pid") {
        // It takes libraries from where they are, and tells the test its number, outside of the only folder that a
        // generator may reach.
        setenv("HALYARD_CONFINE", "off", 1);
        write_file(executable_, "#!/bin/sh\n"
                                "case \" $* \" in *\" cpp_stub \"*) exit 1 ;; esac\n"
                                "for a; do case $a in autoscheduler.request=*) request=${a#autoscheduler.request=} ;; esac\n"
                                "done\n"
                                "description=$(sed -n 's/.*\"describe\":\"\\([^\"]*\\)\".*/\\1/p' \"$request\")\n"
                                "[ -z \"$description\" ] || { echo '{\"funcs\": [], \"buffers\": [], \"sizes\": {}, \"vector_bytes\": 32, "
                                "\"vector_registers\": 16, \"target\": \"\", \"algorithm\": \"\"}' >\"$description\"; exit; }\n"
                                "echo '{}' >\"$(sed -n 's/.*\"report\":\"\\([^\"]*\\)\".*/\\1/p' \"$request\")\"\n"
                                "script=$(sed -n 's/.*\"script\":\"\\([^\"]*\\)\".*/\\1/p' \"$request\")\n"
                                "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n"
                                "mode=$(sed -n 's/^-- mode //p' \"$script\")\n"
                                "case ${mode:=right} in\n"
                                "  no_end) echo $$ >" +
                                    pid_ +
                                    "; sleep 20 & wait ;;\n"
                                    "  no_memory) tail /dev/zero; exit 1 ;;\n"
                                    "  no_sense) echo 'Error: it makes no sense' >&2; exit 1 ;;\n"
                                    "  no_life) kill -SEGV $$ ;;\n"
                                    "esac\n"
                                    "echo >\"$out/fake.h\"\n"
                                    "cp " HALYARD_FAKES "/libexplore_fake_$mode.a \"$out/fake.a\"\n");
        std::filesystem::permissions(executable_, std::filesystem::perms::owner_all);
    }

    halyard::explore::Task task() const {
        halyard::explore::Task t;
        t.op = "fake";
        t.generator = executable_;
        t.limits.build_seconds = 5;
        t.limits.run_seconds = 5;
        return t;
    }

    static halyard::explore::Candidate candidate(const std::string &mode, int number = 0) {
        halyard::explore::Candidate c;
        c.lua = "-- mode " + mode + "\n-- number " + std::to_string(number) +
                "\nreturn schedule \"fake\" { target = \"cpu\", apply = function(k) end }\n";
        c.origin = mode;
        return c;
    }

    /** Where the one that never ends writes its process id. */
    const std::string &pid() const {
        return pid_;
    }

private:
    const std::string executable_, pid_;
};

#endif
