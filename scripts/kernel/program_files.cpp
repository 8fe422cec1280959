#include "kernel/program_files.h"

#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "kernel/process.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;

// More than any program has, so that none is looked at for long.
constexpr size_t kLongest = 4096, kMostFolders = 100, kMostNames = 2000;

// A name may stand for anything: a link to a folder, or to a file of secrets.
bool is_elf(const std::string &path) {
    return beginning_of_file(path, SELFMAG) == ELFMAG;
}

// What an ELF file says about the loader and about libraries.
struct Dynamic {
    bool is_script = false;
    std::string interpreter, run_path;
    std::vector<std::string> needed;
};

class ElfFile {
public:
    Dynamic read(const std::string &path) {
        Dynamic d;
        d.is_script = beginning_of_file(path, 2) == "#!";
        if (!is_elf(path)) {
            return d;
        }
        in_.open(path, std::ios::binary);
        Elf64_Ehdr header = {};
        if (!at(0, header) || header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
            return d;
        }
        Elf64_Phdr dynamic = {};
        for (int i = 0; i < header.e_phnum; i++) {
            Elf64_Phdr segment = {};
            if (!at(header.e_phoff + uint64_t(i) * sizeof(segment), segment)) {
                break;
            }
            segments_.push_back(segment);
            if (segment.p_type == PT_INTERP && d.interpreter.empty()) {  // of several the kernel takes the first
                d.interpreter = string_at(segment.p_offset);
            } else if (segment.p_type == PT_DYNAMIC) {
                dynamic = segment;
            }
        }
        read_dynamic(dynamic, d);
        return d;
    }

private:
    template<typename T>
    bool at(uint64_t offset, T &value) {
        in_.clear();
        in_.seekg(std::streamoff(offset));
        return bool(in_.read(reinterpret_cast<char *>(&value), sizeof(value)));
    }

    std::string string_at(uint64_t offset) {
        in_.clear();
        in_.seekg(std::streamoff(offset));
        std::string text;
        for (char c; text.size() < kLongest && in_.get(c) && c != 0;) {
            text += c;
        }
        return text;
    }

    void read_dynamic(const Elf64_Phdr &dynamic, Dynamic &d) {
        std::vector<uint64_t> needed;
        uint64_t table = 0, run_path = 0, old_run_path = 0;
        for (uint64_t i = 0; (i + 1) * sizeof(Elf64_Dyn) <= dynamic.p_filesz && i < 4096; i++) {
            Elf64_Dyn entry = {};
            if (!at(dynamic.p_offset + i * sizeof(entry), entry) || entry.d_tag == DT_NULL) {
                break;
            }
            if (entry.d_tag == DT_STRTAB) {
                table = entry.d_un.d_ptr;
            } else if (entry.d_tag == DT_NEEDED) {
                needed.push_back(entry.d_un.d_val);
            } else if (entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH) {
                (entry.d_tag == DT_RUNPATH ? run_path : old_run_path) = entry.d_un.d_val;  // the loader takes the last, too
            }
        }
        for (const auto &segment : segments_) {
            if (segment.p_type == PT_LOAD && table >= segment.p_vaddr && table < segment.p_vaddr + segment.p_filesz) {
                table = table - segment.p_vaddr + segment.p_offset;
                break;
            }
        }
        for (const uint64_t name : needed) {
            d.needed.push_back(string_at(table + name));
        }
        if (const uint64_t list = run_path != 0 ? run_path : old_run_path; list != 0) {
            d.run_path = string_at(table + list);
        }
    }

    std::ifstream in_;
    std::vector<Elf64_Phdr> segments_;
};

bool of_system(const std::string &folder) {
    return starts_with(folder, "/usr/") || starts_with(folder, "/lib");
}

// The folders of a list with colons, in which $ORIGIN is the folder of the file that has it.
std::vector<std::string> folders_of(const std::string &list, const std::string &file) {
    std::vector<std::string> folders;
    for (std::string folder : split(list, ':')) {
        for (const char *origin : {"$ORIGIN", "${ORIGIN}"}) {
            const size_t begin = folder.find(origin);
            if (begin != std::string::npos) {
                folder.replace(begin, std::strlen(origin), fs::absolute(file).parent_path().string());
            }
        }
        std::error_code error;
        const fs::path real = fs::canonical(folder, error);
        if (!error && !of_system(real.string() + "/")) {
            folders.push_back(real.string());
        }
    }
    return folders;
}

bool is_library(const fs::path &file) {
    const std::string name = file.filename().string();
    return (ends_with(name, ".so") || name.find(".so.") != std::string::npos) && is_elf(file.string());
}

class Search {
public:
    Search() {
        const char *path = std::getenv("LD_LIBRARY_PATH");
        add_folders(folders_of(path ? path : "", "."));
    }

    Dynamic follow(const std::string &file) {
        std::error_code error;
        const fs::path real = fs::canonical(file, error);
        if (error || !seen_.insert(real.string()).second) {
            return {};
        }
        const Dynamic d = ElfFile().read(real.string());
        add_folders(folders_of(d.run_path, real.string()));
        for (const auto &name : d.needed) {
            check_signals();
            if (names_.size() == kMostNames || !names_.insert(name).second) {
                continue;
            }
            for (size_t i = 0; i < folders_.size(); i++) {
                const std::string library = folders_[i] + "/" + name;
                if (fs::exists(library, error)) {
                    follow(library);
                    break;
                }
            }
        }
        return d;
    }

    std::vector<std::string> libraries() const {
        std::vector<std::string> files;
        for (const auto &folder : folders_) {
            const auto more = libraries_in(folder);
            files.insert(files.end(), more.begin(), more.end());
        }
        return files;
    }

private:
    void add_folders(const std::vector<std::string> &folders) {
        for (const auto &f : folders) {
            if (folders_.size() < kMostFolders && known_.insert(f).second) {
                folders_.push_back(f);
            }
        }
    }

    std::set<std::string> seen_, names_, known_;
    std::vector<std::string> folders_;
};

}  // namespace

std::vector<std::string> libraries_in(const std::string &folder) {
    std::vector<std::string> files;
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(folder, error)) {
        check_signals();
        if (is_library(entry.path())) {
            files.push_back(entry.path().string());
        }
    }
    return files;
}

ProgramFiles program_files(const std::string &program) {
    Search search;
    const Dynamic d = search.follow(program);
    return {is_elf(d.interpreter) ? d.interpreter : "", d.is_script, search.libraries()};
}

}  // namespace halyard
