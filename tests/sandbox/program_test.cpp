// What a program says that it needs, which is what its process may read: loaders and libraries, not whatever has their place or name.

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
