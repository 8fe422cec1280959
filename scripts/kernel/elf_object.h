#ifndef HALYARD_COMMAND_ELF_OBJECT_H
#define HALYARD_COMMAND_ELF_OBJECT_H

/** \file
 * What a compiler left for a linker: the parts of an ELF object for x86-64 that stay in memory.
 */

#include <elf.h>

#include <string>
#include <vector>

namespace halyard {

struct ElfObject {
    struct Section {
        std::string name, contents;
        Elf64_Shdr header = {};
        std::vector<Elf64_Rela> relocations;
        std::string comdat;  // of sections with one such name the first counts; "" for all others

        bool is_allocated() const {
            return (header.sh_flags & SHF_ALLOC) != 0;
        }
    };
    struct Symbol {
        std::string name;
        Elf64_Sym entry = {};
    };
    std::vector<Section> sections;  // by their numbers
    std::vector<Symbol> symbols;    // likewise

    /** Throws std::runtime_error where the bytes are no such object; they may be anything. */
    static ElfObject read(const std::string &bytes);
};

}  // namespace halyard

#endif
