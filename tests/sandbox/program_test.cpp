// What a program says that it needs, which is what its process may read: loaders and libraries, not whatever has their place or name.

#include <chrono>
#include <cstring>
#include <filesystem>

#include <elf.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "tests/command/support.h"
#include "kernel/program_files.h"

namespace {

namespace fs = std::filesystem;

// The hostile generator, in which the first segment of a kind (its loader's, or the note behind it) names this loader.
void write_program(const std::string &path, Elf64_Word kind, const std::string &loader) {
    std::string program = read_file(HALYARD_ESCAPE);
    Elf64_Ehdr header = {};
    std::memcpy(&header, program.data(), sizeof(header));
    Elf64_Phdr segment = {};
    size_t at = header.e_phoff;
    for (; segment.p_type != kind; at += sizeof(segment)) {
        std::memcpy(&segment, &program[at], sizeof(segment));
    }
    segment.p_type = PT_INTERP;
    segment.p_offset = program.size();
    segment.p_filesz = loader.size() + 1;
    std::memcpy(&program[at - sizeof(segment)], &segment, sizeof(segment));
    write_file(path, program + loader + std::string(1, 0));
    chmod(path.c_str(), 0755);
}

// A library with these entries for the loader, all of the same text.
void write_library(const std::string &path, Elf64_Sxword tag, size_t entries, const std::string &text) {
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phoff = sizeof(header);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 2;
    std::vector<Elf64_Dyn> dynamic(entries + 1, Elf64_Dyn{tag, {1}});
    const size_t at = sizeof(header) + 2 * sizeof(Elf64_Phdr), strings = at + dynamic.size() * sizeof(Elf64_Dyn);
    dynamic[0] = {DT_STRTAB, {strings}};
    Elf64_Phdr segments[2] = {};
    segments[0].p_type = PT_LOAD;
    segments[0].p_filesz = strings + text.size() + 2;
    segments[1].p_type = PT_DYNAMIC;
    segments[1].p_offset = at;
    segments[1].p_filesz = strings - at;
    std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
    bytes.append(reinterpret_cast<const char *>(segments), sizeof(segments));
    bytes.append(reinterpret_cast<const char *>(dynamic.data()), strings - at);
    write_file(path, bytes + '\0' + text + '\0');
}

}  // namespace

TEST_CASE("The loader of a program is the one that the kernel takes", "[sandbox]") {
    const Folder folder;
    write_program(folder / "program", PT_NOTE, HALYARD_ESCAPE);
    CHECK(halyard::program_files(folder / "program").interpreter == halyard::program_files(HALYARD_ESCAPE).interpreter);
    CHECK_FALSE(halyard::program_files(HALYARD_ESCAPE).interpreter.empty());
}

TEST_CASE("What has the name of a library is one only where it is an ELF file", "[sandbox]") {
    const Folder folder;
    fs::copy_file(HALYARD_ESCAPE, folder / "program");
    const std::string libraries = folder / "libraries";
    fs::create_directory(libraries);
    fs::create_symlink(HALYARD_ESCAPE, libraries + "/right.so");
    write_file(folder / "secret", "of the user");
    write_file(libraries + "/text.so.1", "of the user");
    fs::create_symlink(folder / "secret", libraries + "/file.so");
    fs::create_directory_symlink("/", libraries + "/folder.so");
    fs::create_symlink("/proc/kmsg", libraries + "/endless.so");
    REQUIRE(mkfifo((libraries + "/pipe.so").c_str(), 0600) == 0);
    CHECK(halyard::program_files(folder / "program").libraries == Arguments{fs::canonical(libraries).string() + "/right.so"});
    CHECK(halyard::libraries_in(libraries) == Arguments{libraries + "/right.so"});
}

TEST_CASE("The loader of a program is an ELF file", "[sandbox]") {
    const Folder folder;
    write_file(folder / "secret", "of the user");
    for (const std::string &loader : {std::string("/"), folder / "secret", std::string("/proc/kmsg")}) {
        INFO(loader);
        write_program(folder / "program", PT_INTERP, loader);
        CHECK(halyard::program_files(folder / "program").interpreter.empty());
    }
    write_program(folder / "program", PT_INTERP, HALYARD_ESCAPE);
    CHECK(halyard::program_files(folder / "program").interpreter == HALYARD_ESCAPE);
}

TEST_CASE("No program is looked at for long", "[sandbox]") {
    const Folder folder;
    std::string many;
    for (int i = 0; i < 30000; i++) {
        many += (many.empty() ? "" : ":") + std::string(1 + i % 3, '/') + "etc";
    }
    write_library(folder / "one", DT_RUNPATH, 1, folder.path());
    fs::copy_file(HALYARD_ESCAPE, folder / "right.so");
    CHECK(halyard::program_files(folder / "one").libraries.size() == 1);
    const auto begin = std::chrono::steady_clock::now();
    for (const Elf64_Sxword tag : {DT_RUNPATH, DT_RPATH, DT_NEEDED}) {
        write_library(folder / "library", tag, 4090, many);
        CHECK(halyard::program_files(folder / "library").libraries.empty());
    }
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(3));
}
