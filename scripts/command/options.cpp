#include "command/options.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "command/option_table.h"
#include "kernel/failure.h"
#include "explore/store/pick.h"
#include "kernel/text.h"

namespace halyard {

namespace {

const std::string kFromDatabase = "db:";

// rows=4,accum=2 is short for two options; a value has no comma.
std::vector<std::string> separate(const std::vector<std::string> &items) {
    return split(join(items, ","), ',');
}

}  // namespace

CLI::Validator positive_seconds() {
    // CLI::PositiveNumber answers with all 309 digits of the largest double.
    return CLI::Validator(
        [](std::string &text) {
            double seconds = 0;
            return CLI::detail::lexical_cast(text, seconds) && seconds > 0 && std::isfinite(seconds)
                       ? std::string()
                       : fmt::format("\"{}\" is not a number of seconds above 0", text);
        },
        "");
}

CLI::Option *add_output(CLI::App &app, const std::string &names, std::string &into, const std::string &help) {
    const CLI::Validator named(
        [](std::string &path) { return path.empty() ? "the name is empty; give one, or leave the option out" : std::string(); }, "");
    return app.add_option(names, into, help)->type_name("FILE")->check(named);
}

CLI::Option *add_repeated(CLI::App &app, const std::string &names, std::vector<std::string> &into, const std::string &help) {
    return app.add_option(names, into, help)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void CommonOptions::add(CLI::App &app, const std::string &target_help) {
    app.add_option("--target", target, target_help)->type_name("TARGETS");
    app.add_option("--devices", devices,
                   "With --target cuda: architectures, with commas, as sm_90a; or emulator, to run on the host "
                   "[sm_80,sm_90a,sm_100,sm_120]")
        ->type_name("DEVICES");
    add_repeated(app, "--set", set, "A value for a tune{} parameter of the schedule")->type_name("NAME=VALUE");
    add_repeated(app, "--param", params, "A generator parameter, as type=float16")->type_name("NAME=VALUE");
    add_repeated(app, "--fact", facts, "A fact about the target, as l2=2M or processors=8")->type_name("NAME=VALUE");
    app.add_option("--generator", generator, "A stock Halide generator executable; OP is then its generator's name")->type_name("EXE");
    app.add_option("--timeout", timeout, "Stop the generator after so many seconds")
        ->type_name("SEC")
        ->check(positive_seconds())
        ->capture_default_str();
    add_output(app, "--db", db, "The schedules that searches found [HALYARD_DB, else ~/.local/share/halyard/schedules.db]");
    put_in_group(app, group::kOp, {"--generator", "--param"});
    put_in_group(app, group::kSchedule, {"--set", "--fact"});
    put_in_group(app, group::kTarget, {"--target", "--devices"});
    put_in_group(app, group::kDatabase, {"--db"});
    put_in_group(app, group::kLimits, {"--timeout"});
}

void add_no_lint(CLI::App &app, bool &no_lint) {
    app.add_flag("--no-lint", no_lint, "Do not look for what is slow in the schedule");
}

void print_notes(const std::vector<std::string> &notes) {
    for (const auto &note : notes) {
        fmt::print(stderr, "{}\n", note);
    }
}

std::string CommonOptions::database() const {
    return db.empty() ? explore::Database::default_path() : db;
}

void CommonOptions::check_database(const std::vector<std::string> &schedules, bool otherwise) const {
    const bool asked = otherwise || std::any_of(schedules.begin(), schedules.end(),
                                                [](const std::string &s) { return s == "best" || starts_with(s, kFromDatabase); });
    if (!db.empty() && !asked) {
        throw UsageError("--db: nothing here is looked up in a database; name one of its schedules, as --schedule db:ID");
    }
}

GenerateRequest CommonOptions::request(const std::string &op, const std::string &schedule, const Dims *shape) const {
    GenerateRequest r;
    r.op = op;
    r.schedule = schedule;
    r.generator = generator;
    r.target = target;
    r.devices = devices;
    r.set = parse_options(separate(set), "--set");
    r.facts = parse_options(separate(facts), "--fact");
    r.params = parse_options(params, "--param");
    r.timeout = timeout;
    if (schedule == "best") {
        if (!shape) {
            throw UsageError("--schedule best is the best known for one size; give it with --shape");
        }
        r.schedule.clear();
        r.target = target.empty() ? "host" : target;
        const explore::Pick picked = explore::pick(database(), r, *shape, 0);
        if (!picked.found) {
            throw UsageError(fmt::format("--schedule best: there is only {}", picked.why));
        }
        return picked.request;
    }
    if (starts_with(schedule, kFromDatabase)) {
        explore::Database known(database(), explore::Access::kRead);
        r = explore::with_entry(r, explore::find_entry(known, schedule.substr(kFromDatabase.size())));
    }
    return r;
}

}  // namespace halyard
