// halyard db: what the database of schedules knows.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <tuple>

#include <fmt/format.h>

#include "command/commands.h"
#include "command/option_table.h"
#include "command/options.h"
#include "explore/store/database.h"
#include "explain/explain_words.h"
#include "kernel/failure.h"
#include "explore/store/pick.h"
#include "explore/store/record_file.h"
#include "kernel/place.h"
#include "kernel/process.h"
#include "kernel/registry.h"
#include "kernel/terminal.h"
#include "kernel/text.h"

namespace halyard {

namespace {

using namespace explore;

struct DbOptions {
    std::string db, op, shape, id, output;
    std::vector<std::string> files;
    size_t best = 10, exported = 0;
    int keep = 0;
    bool all = false, json = false, failed = false, stale = false;
};

std::string path_of(const DbOptions &o) {
    return o.db.empty() ? Database::default_path() : o.db;
}

// What only reads makes no file, and changes none.
Database existing(const std::string &path, Access access = Access::kRead) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
        throw Failure(fmt::format("{}: error: there is no database\n  `halyard explore` makes it; name another with "
                                  "--db or HALYARD_DB",
                                  path));
    }
    return Database(path, access);
}

Filter filter_of(const DbOptions &o) {
    Filter f;
    f.op = o.op;
    f.shape = o.shape.empty() ? "" : shape_key(parse_shape(o.shape));
    return f;
}

bool stale(const Entry &e) {
    return e.key.compilers != these_compilers() || e.script_hash != script_hash(e.candidate);
}

// One line an entry; the machine and the compilers only where they are not these.
std::string remarks(const Entry &e) {
    std::vector<std::string> items;
    if (e.chosen) {
        items.emplace_back("the best, in turns");
    }
    if (e.key.machine != this_machine()) {
        items.push_back(e.key.machine);
    }
    if (stale(e)) {
        items.push_back("stale: " + (e.key.compilers != these_compilers() ? e.key.compilers : std::string("its library has changed")));
    }
    if (!e.measured.ok() && !e.measured.message.empty()) {
        items.push_back(trim(e.measured.message.substr(0, e.measured.message.find('\n'))));
    }
    return join(items, "; ");
}

void print_entries(const std::vector<Entry> &entries) {
    std::vector<std::vector<std::string>> rows = {{"id", "op", "shape", "parameters", "threads", "time", "from", ""}};
    for (const Entry &e : entries) {
        check_signals();  // each of them may name a folder of modules
        rows.push_back({e.candidate.id(), e.key.op, e.key.shape.empty() ? "(estimates)" : e.key.shape,
                        e.key.params.empty() ? "-" : e.key.params, std::to_string(e.key.threads),
                        e.measured.ok() ? seconds_text(e.measured.least) : status_name(e.measured.status), e.candidate.origin, remarks(e)});
    }
    // The remarks are as long as they are; for the rest one long text shall not make every row as long.
    constexpr size_t kWidest = 80;
    std::vector<size_t> widths(rows[0].size());
    for (const auto &row : rows) {
        for (size_t i = 0; i + 1 < row.size(); i++) {
            widths[i] = std::min(std::max(widths[i], columns(row[i])), kWidest);
        }
    }
    for (size_t r = 0; r < rows.size(); r++) {
        std::string line;
        for (size_t i = 0; i + 1 < rows[r].size(); i++) {
            line += fit(rows[r][i], widths[i]) + "  ";
        }
        fmt::print("{}\n", paint(r == 0 ? Colour::kBold : Colour::kNone, trim(line + rows[r].back())));
    }
}

void list(const DbOptions &o) {
    Database database = existing(path_of(o));
    Filter f = filter_of(o);
    f.best = o.all ? 0 : o.best;
    const auto entries = database.entries(f);
    if (o.json) {
        nlohmann::json records = nlohmann::json::array();
        for (const Entry &e : entries) {
            records.push_back(explore::to_json(e));
        }
        fmt::print("{}\n", records.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
        return;
    }
    print_entries(entries);
    fmt::print(stderr, "{} of {}\n", entries.size(), database.path());
}

void show(const DbOptions &o) {
    Database database = existing(path_of(o));
    const Entry e = find_entry(database, o.id);
    if (o.json) {
        fmt::print("{}\n", explore::to_json(e).dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
        return;
    }
    const auto about = [](const std::string &line) { fmt::print(stderr, "{}\n", line); };
    about(fmt::format("{} {} {} {}", e.key.op, e.key.shape, e.key.params, e.key.target));
    about(fmt::format("{}, {} thread(s), {}, {}", e.key.machine, e.key.threads, e.key.compilers, e.when));
    about(e.measured.ok() ? fmt::format("{} (median {}, quartiles {} and {}, {} samples), checked against {}, off by {:.2g} of what "
                                        "is allowed",
                                        seconds_text(e.measured.least), seconds_text(e.measured.median), seconds_text(e.measured.lower),
                                        seconds_text(e.measured.upper), e.measured.samples, e.measured.reference, e.measured.error)
                          : fmt::format("{}: {}", status_name(e.measured.status), join(split(e.measured.message, '\n'), "\n  ")));
    if (!e.candidate.set.empty() || !e.candidate.params.empty()) {
        about(fmt::format("--set {} --param {}", assignments_text(e.candidate.set), assignments_text(e.candidate.params)));
    }
    fmt::print("{}", e.candidate.lua);
}

std::string lines_of(const std::vector<Entry> &entries) {
    std::string text;
    for (const Entry &e : entries) {
        text += explore::to_json(e).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    }
    return text;
}

void export_entries(const DbOptions &o) {
    Filter f = filter_of(o);
    f.best = o.exported;
    const auto entries = existing(path_of(o)).entries(f);
    if (o.output.empty() || o.output == "-") {
        fmt::print("{}", lines_of(entries));
        return;
    }
    write_output(o.output, lines_of(entries));
    fmt::print(stderr, "{} of {} to {}\n", entries.size(), path_of(o), o.output);
}

// Every file is read before anything is written.
void import_entries(const DbOptions &o) {
    std::vector<Entry> entries;
    for (const auto &file : o.files) {
        const auto more = read_records(file);
        entries.insert(entries.end(), more.begin(), more.end());
    }
    Database database(path_of(o));
    const size_t changed = database.insert(entries);
    fmt::print("{} of {} were new or faster in {}\n", changed, entries.size(), database.path());
}

void merge(const DbOptions &o) {
    std::vector<Entry> entries;
    for (const auto &file : o.files) {
        const auto more = existing(file).entries({});
        entries.insert(entries.end(), more.begin(), more.end());
    }
    Database database(path_of(o));
    const size_t changed = database.insert(entries);
    fmt::print("{} of {} were new or faster in {}\n", changed, entries.size(), database.path());
}

void prune(const DbOptions &o) {
    if (!o.failed && !o.stale && o.keep == 0) {
        throw UsageError("say what goes: --failed, --stale, or --keep N for the N fastest of each op and size");
    }
    Database database = existing(path_of(o), Access::kWrite);
    const size_t damaged = o.failed || o.stale ? database.remove_damaged() : 0;
    std::vector<Entry> gone;
    const auto entries = database.entries(filter_of(o));
    std::map<std::string, std::vector<double>> times;
    const auto task = [](const Entry &e) {
        const Key &k = e.key;
        return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", k.op, k.generator, k.shape, k.params, k.target, k.machine, k.compilers,
                           k.threads);
    };
    for (const Entry &e : entries) {
        if (e.measured.ok()) {
            times[task(e)].push_back(e.measured.least);
        }
    }
    for (auto &t : times) {
        std::sort(t.second.begin(), t.second.end());
    }
    for (const Entry &e : entries) {
        check_signals();
        const auto &sorted = times[task(e)];
        const bool slow =
            o.keep > 0 && e.measured.ok() && !e.chosen && sorted.size() > size_t(o.keep) && e.measured.least > sorted[size_t(o.keep) - 1];
        const bool failed = (o.failed || o.keep > 0) && !e.measured.ok();
        if (slow || failed || (o.stale && stale(e))) {
            gone.push_back(e);
        }
    }
    database.remove(gone);
    fmt::print("{} of {} removed, {} are left in {}\n", damaged + gone.size(), damaged + entries.size(), database.entries({}).size(),
               database.path());
}

CLI::App *add(CLI::App &db, const std::string &name, const std::string &what, const std::shared_ptr<DbOptions> &o,
              void (*action)(const DbOptions &)) {
    CLI::App *cmd = db.add_subcommand(name, what);
    add_output(*cmd, "--db", o->db, "The database [HALYARD_DB, else ~/.local/share/halyard/schedules.db]");
    put_in_group(*cmd, group::kDatabase, {"--db"});
    cmd->callback([o, action] { action(*o); });
    return cmd;
}

void add_selection(CLI::App *cmd, const std::shared_ptr<DbOptions> &o) {
    cmd->add_option("op", o->op, "Of this op only")->type_name("OP");
    cmd->add_option("--shape", o->shape, "Of this size only, as rows=64,cols=4096")->type_name("DIMS");
    put_in_group(*cmd, group::kDatabase, {"--shape"});
}

}  // namespace

void add_db(CLI::App &app) {
    auto o = std::make_shared<DbOptions>();
    CLI::App *db = app.add_subcommand("db", "The schedules that searches found: list, show, export, import, merge, prune");
    db->require_subcommand(1);

    CLI::App *cmd = add(*db, "list", "The fastest of each op, size and machine", o, list);
    add_selection(cmd, o);
    cmd->add_option("--best", o->best, "So many of each")->type_name("N")->capture_default_str();
    cmd->add_flag("--all", o->all, "All that was ever measured, failures too, in the order in which it came");
    cmd->add_flag("--json", o->json, "A list of records on standard output");
    leaves_out(*cmd, "--all", {"--best"});
    put_in_group(*cmd, group::kDatabase, {"--best", "--all"});
    put_in_group(*cmd, group::kOutput, {"--json"});

    cmd = add(*db, "show", "The Lua of one on standard output, and what is known of it on standard error", o, show);
    cmd->add_option("id", o->id, "Its id, or how that begins")->required()->type_name("ID");
    cmd->add_flag("--json", o->json, "The record on standard output");
    put_in_group(*cmd, group::kOutput, {"--json"});

    cmd = add(*db, "export", "Records as JSON, one a line", o, export_entries);
    add_selection(cmd, o);
    cmd->add_option("--best", o->exported, "Only so many of each op, size and machine, the fastest [all]")->type_name("N");
    put_in_group(*cmd, group::kDatabase, {"--best"});
    add_output(*cmd, "-o,--output", o->output, "Where they go [standard output]");
    put_in_group(*cmd, group::kOutput, {"--output"});

    cmd = add(*db, "import", "Take records of `halyard db export`; the faster of two times of the same stays", o, import_entries);
    cmd->add_option("files", o->files, "Files; - is standard input")->required()->type_name("FILE");

    cmd = add(*db, "merge", "Take what other databases know", o, merge);
    cmd->add_option("files", o->files, "Other databases, which stay as they are")->required()->type_name("FILE");

    cmd = add(*db, "prune", "Remove what is of no use", o, prune);
    add_selection(cmd, o);
    cmd->add_flag("--failed", o->failed, "Those that did not build, crashed or were wrong, and what is damaged");
    cmd->add_flag("--stale", o->stale, "Those of other compilers, or whose library files have changed since, and what is damaged");
    cmd->add_option("--keep", o->keep, "All but the N fastest of each op, size and machine")->type_name("N")->check(CLI::Range(1, 1000000));
    put_in_group(*cmd, group::kDatabase, {"--failed", "--stale", "--keep"});
    db->footer("\nA schedule of the database can be named wherever a schedule is: --schedule db:ID\n"
               "\nExamples:\n"
               "  halyard db list rms_norm\n"
               "  halyard db show 3f2a >my.lua\n"
               "  halyard db export -o found.jsonl\n"
               "  halyard db export --best 1 -o shipped.jsonl && halyard build rms_norm --shape rows=64,cols=4096 --db shipped.jsonl\n"
               "  halyard db import found.jsonl --db other.db\n"
               "  halyard db prune --stale --keep 20");
}

}  // namespace halyard
