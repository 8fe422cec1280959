#include "support.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "kernel/json_text.h"

namespace fs = std::filesystem;

ProcessResult run(const Arguments &arguments, const std::vector<std::string> &environment) {
    Arguments command = {HALYARD_COMMAND};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return halyard::run_process(command, {100, environment});
}

ProcessResult run_shell(const std::string &line) {
    return halyard::run_process({"/bin/sh", "-c", line}, {100, {"halyard=" HALYARD_COMMAND}});
}

std::string run_on_terminal(const Arguments &arguments, const std::vector<std::string> &environment) {
    winsize size = {};
    size.ws_row = 40;
    size.ws_col = 100;
    int terminal = -1;
    const pid_t pid = forkpty(&terminal, nullptr, nullptr, &size);
    if (pid < 0) {
        throw std::runtime_error("no pseudo-terminal");
    }
    if (pid == 0) {
        setenv("TERM", "xterm", 1);
        setenv("PAGER", "cat", 1);  // one that waits for a key would wait for ever
        for (const auto &e : environment) {
            putenv(const_cast<char *>(e.c_str()));
        }
        std::vector<char *> argv = {const_cast<char *>(HALYARD_COMMAND)};
        for (const auto &a : arguments) {
            argv.push_back(const_cast<char *>(a.c_str()));
        }
        argv.push_back(nullptr);
        execv(argv[0], argv.data());
        _exit(127);
    }
    std::string text;
    char block[4096];
    for (ssize_t n; (n = read(terminal, block, sizeof(block))) > 0;) {  // an error once the other side is closed
        text.append(block, size_t(n));
    }
    close(terminal);
    waitpid(pid, nullptr, 0);
    return text;
}

nlohmann::json run_json(const Arguments &arguments, int exit_code) {
    Arguments with_json = arguments;
    with_json.emplace_back("--json");
    const ProcessResult r = run(with_json);
    INFO(r.err);
    REQUIRE(r.exit_code == exit_code);
    return halyard::parse_json(r.out);
}

std::vector<std::string> names_in(const std::string &folder) {
    std::vector<std::string> names;
    if (!fs::exists(folder)) {
        return names;
    }
    for (const auto &entry : fs::directory_iterator(folder)) {
        names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

namespace {

std::string write_rms_norm(const std::string &path, const std::string &statistics) {
    write_file(path, "-- A row a task. For tests.\n"
                     "return schedule \"rms_norm\" {\n"
                     "  target = \"cpu\",\n"
                     "  params = { rows = tune { 1, 4, 16, default = 4 } },\n"
                     "  apply = function(k, p, target)\n"
                     "    local task, row = k.y:split(\"row\", p.rows, \"guard\")\n"
                     "    task:parallel()\n"
                     "    k." +
                         statistics +
                         ":compute_at(row)\n"
                         "  end,\n"
                         "}\n");
    return path;
}

}  // namespace

std::string write_schedule(const std::string &path) {
    return write_rms_norm(path, "inv_rms");
}

std::string write_wrong_schedule(const std::string &path) {
    return write_rms_norm(path, "inv_rns");
}

std::string line_of(const std::string &text, int number) {
    size_t begin = 0;
    for (int i = 1; i < number && begin != std::string::npos; i++) {
        begin = text.find('\n', begin);
        begin += begin != std::string::npos;
    }
    return begin == std::string::npos ? "" : halyard::trim(text.substr(begin, text.find('\n', begin) - begin));
}

static bool is_running(int group) {
    for (const auto &entry : fs::directory_iterator("/proc")) {
        std::ifstream in(entry.path() / "stat");
        std::string text;
        std::getline(in, text);
        // "7 (a name) S parent group ...", where a name may have brackets too
        const size_t name_end = text.rfind(')');
        std::istringstream fields(name_end == std::string::npos ? "" : text.substr(name_end + 1));
        char state = 'Z';
        int parent = 0, its_group = 0;
        if (fields >> state >> parent >> its_group && its_group == group && state != 'Z') {
            return true;
        }
    }
    return false;
}

bool group_runs(int group) {
    for (int looks = 0; looks < 100; looks++) {
        if (!is_running(group)) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return true;
}

bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

size_t count(const std::string &text, const std::string &part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) {
        n++;
    }
    return n;
}

std::optional<ProcessResult> shown_by_browser(const std::string &page) {
    for (const char *browser : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}) {
        if (access(browser, X_OK) == 0) {
            const Folder home;
            return halyard::run_process({browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                         "--user-data-dir=" + (home / "profile"), "--enable-logging=stderr", "--virtual-time-budget=2000",
                                         "--dump-dom", "file://" + page},
                                        {90, {"HOME=" + home.path()}});
        }
    }
    return std::nullopt;
}
