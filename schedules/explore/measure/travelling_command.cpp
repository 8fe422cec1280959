#include "explore/measure/travelling_command.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/paths.h"
#include "kernel/place.h"
#include "kernel/process.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace fs = std::filesystem;

void write_program(const std::string &path, const std::string &content) {
    write_output(path, content);
    fs::permissions(path,
                    fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read | fs::perms::others_exec);
}

void copy_command(const std::string &folder) {
    const fs::path command = fs::path(paths().root) / "bin/halyard", bin = fs::path(folder) / "bin", lib = fs::path(folder) / "lib";
    fs::create_directories(bin);
    fs::create_directories(lib);
    const auto copy = [](const std::string &from, const fs::path &to) { write_program(to.string(), read_file(from)); };
    copy(require_piece(command.string(), "the command itself"), bin / "halyard");
    const ProcessResult r = run_process({"ldd", command.string()});
    if (!r.ok()) {
        throw Failure(fmt::format("{}: error: ldd {}", command.string(), describe_end(r, 0)));
    }
    const std::set<std::string> of_system = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"};
    for (const auto &line : split(r.out, '\n')) {
        const size_t arrow = line.find("=> /");
        const std::string path = arrow == std::string::npos ? "" : trim(line.substr(arrow + 3, line.find(" (", arrow) - arrow - 3));
        if (!path.empty() && !of_system.count(fs::path(path).filename().string())) {
            copy(path, lib / fs::path(path).filename());
        }
    }
}

}  // namespace halyard::explore
