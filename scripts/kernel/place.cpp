#include "kernel/place.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "kernel/failure.h"
#include "kernel/outputs.h"
#include "kernel/process.h"
#include "language/diagnostics.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;

bool same_content(const fs::path &a, const fs::path &b) {
    std::error_code error;
    return fs::exists(b, error) && fs::file_size(a, error) == fs::file_size(b, error) && !error &&
           read_file(a.string()) == read_file(b.string());
}

std::string make_escape(const std::string &path) {
    std::string escaped;
    for (char c : path) {
        if (static_cast<unsigned char>(c) < ' ') {
            throw Failure(fmt::format("{}: error: cannot stand in a make rule: it has a control character", printable(path)));
        }
        if (c == ' ' || c == '#' || c == '\\') {
            escaped += '\\';
        } else if (c == '$') {
            escaped += '$';
        }
        escaped += c;
    }
    return escaped;
}

std::string rule_side(const std::vector<std::string> &files) {
    std::vector<std::string> items;
    for (const auto &f : files) {
        items.push_back(make_escape(fs::absolute(f).lexically_normal().string()));
    }
    return join(items, " \\\n  ");
}

[[noreturn]] void fail(const std::string &path, const std::string &why) {
    throw Failure(fmt::format("{}: error: cannot be put in its place: {}", path, why));
}

// A rename would replace whatever stands there, a device of the system too.
void check_replaceable(const std::string &path, fs::file_type type, const std::error_code &error) {
    const char *what = "something that is no file";
    switch (type) {
    case fs::file_type::not_found:
    case fs::file_type::regular:
    case fs::file_type::symlink: return;
    case fs::file_type::none: fail(path, error.message());
    case fs::file_type::directory: what = "a folder"; break;
    case fs::file_type::fifo: what = "a FIFO"; break;
    case fs::file_type::socket: what = "a socket"; break;
    case fs::file_type::block: what = "a block device"; break;
    case fs::file_type::character: what = "a character device"; break;
    default: break;
    }
    fail(path, fmt::format("there is {} of this name\n  name another file, or move that away", what));
}

void move_into(const fs::path &file, const fs::path &place, const std::string &path) {
    std::error_code error;
    fs::rename(file, place, error);
    if (error) {
        fail(path, error.message());
    }
}

// One that was named by itself.
class OutputFile {
public:
    explicit OutputFile(const std::string &path) : path_(path), place_(path) {
        std::error_code error;
        const fs::file_type type = fs::status(path, error).type();
        if (type == fs::file_type::character) {
            is_device_ = true;
            return;
        }
        check_replaceable(path, type, error);
        if (type == fs::file_type::regular) {
            place_ = fs::canonical(path, error);
            if (error) {
                fail(path, error.message());
            }
        }
        if (!fs::is_directory(folder(), error)) {
            fail(path, fmt::format("there is no folder {}\n  make it, or name another place", folder()));
        }
        if (access(folder().c_str(), W_OK | X_OK) != 0) {
            fail(path, fmt::format("the folder {}: {}\n  name another place", folder(), std::strerror(errno)));
        }
    }

    // What no other output may have; "" where others may.
    std::string identity() const {
        std::error_code ignored;
        return is_device_ ? "" : (fs::weakly_canonical(folder(), ignored) / place_.filename()).string();
    }

    void write(const std::string &content) {
        if (is_device_) {
            write_file(path_, content);
            return;
        }
        beside_.emplace(folder());
        write_file(part(), content, path_);
    }

    void place() {
        if (!is_device_) {
            move_into(part(), place_, path_);
        }
    }

private:
    std::string folder() const {
        return place_.has_parent_path() ? place_.parent_path().string() : ".";
    }
    std::string part() const {
        return beside_->path() + "/" + place_.filename().string();
    }

    std::string path_;
    fs::path place_;
    bool is_device_ = false;
    std::optional<TemporaryDirectory> beside_;
};

void check_distinct(std::set<std::string> &taken, const std::string &path, const std::string &identity) {
    if (!identity.empty() && !taken.insert(identity).second) {
        fail(path, "another output of this command goes there\n  name another file");
    }
}

}  // namespace

void check_outputs(const std::vector<std::string> &paths) {
    std::set<std::string> taken;
    for (const auto &path : paths) {
        if (!path.empty()) {
            check_distinct(taken, path, OutputFile(path).identity());
        }
    }
}

void write_output(const std::string &path, const std::string &content) {
    OutputFile file(path);
    file.write(content);
    file.place();
}

std::vector<std::string> place_files(const std::string &from, const std::string &function, const std::string &to,
                                     const std::string &depfile, const std::vector<std::string> &inputs) {
    const std::vector<fs::path> made = outputs_in(from, function);
    std::vector<std::string> places;
    std::set<std::string> taken;
    for (const auto &file : made) {
        std::error_code error;
        const fs::path place = fs::path(to) / file.filename();
        check_replaceable(place.string(), fs::symlink_status(place, error).type(), error);
        taken.insert((fs::weakly_canonical(to, error) / file.filename()).string());
        places.push_back(place.string());
        fs::permissions(file, fs::perms::set_uid | fs::perms::set_gid | fs::perms::sticky_bit | fs::perms::others_write,
                        fs::perm_options::remove, error);
    }
    // What can fail does so while the old files are still there.
    std::optional<OutputFile> rule;
    if (!depfile.empty()) {
        rule.emplace(depfile);
        check_distinct(taken, depfile, rule->identity());
        rule->write(fmt::format("{}: \\\n  {}\n", rule_side(places), rule_side(inputs)));
    }
    for (size_t i = 0; i < made.size(); i++) {
        if (made[i].extension() != ".h" || !same_content(made[i], places[i])) {
            move_into(made[i], places[i], places[i]);
        }
    }
    if (rule) {
        rule->place();
    }
    return places;
}

}  // namespace halyard
