#include "explain/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernel/failure.h"

namespace halyard {

namespace {

// The containers of nvFatbin and what ptxas writes into .nv.info (EIATTR), as their headers and cuobjdump name them.
constexpr uint32_t kFatbin = 0xBA55ED50;
constexpr uint16_t kMachineCode = 2;
constexpr uint8_t kWithSize = 4, kRegisters = 0x2f, kFrame = 0x11;

struct FatbinHeader {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;  // of what follows
};
struct PieceHeader {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes;
    uint32_t compressed_bytes, unknown, toolkit, architecture;
};

template<typename T>
T at(const uint8_t *data, size_t size, size_t offset) {
    if (offset > size || size - offset < sizeof(T)) {
        throw Failure("the machine code of the kernels is damaged");
    }
    T value;
    std::memcpy(&value, data + offset, sizeof(T));
    return value;
}

struct Section {
    std::string name;
    Elf64_Shdr header;
};

class Elf {
public:
    Elf(const uint8_t *data, size_t size) : data_(data), size_(size), header_(at<Elf64_Ehdr>(data, size, 0)) {
        for (int i = 0; i < header_.e_shnum; i++) {
            sections.push_back({"", at<Elf64_Shdr>(data_, size_, header_.e_shoff + size_t(i) * header_.e_shentsize)});
        }
        if (header_.e_shstrndx < sections.size()) {
            const Elf64_Shdr names = sections[header_.e_shstrndx].header;
            for (auto &s : sections) {
                s.name = text(names.sh_offset + s.header.sh_name);
            }
        }
    }

    std::string symbol(uint32_t number) const {
        for (const auto &s : sections) {
            if (s.header.sh_type == SHT_SYMTAB) {
                const auto symbol = at<Elf64_Sym>(data_, size_, s.header.sh_offset + number * sizeof(Elf64_Sym));
                return text(sections.at(s.header.sh_link).header.sh_offset + symbol.st_name);
            }
        }
        return "";
    }

    template<typename T>
    T read(size_t offset) const {
        return at<T>(data_, size_, offset);
    }

    std::vector<Section> sections;

private:
    std::string text(size_t offset) const {
        std::string s;
        for (char c; (c = read<char>(offset)) != 0; offset++) {
            s += c;
        }
        return s;
    }

    const uint8_t *const data_;
    const size_t size_;
    const Elf64_Ehdr header_;
};

std::map<std::string, KernelResources> read_elf(const uint8_t *data, size_t size) {
    const Elf elf(data, size);
    std::map<std::string, KernelResources> kernels;
    const std::string text = ".text.", shared = ".nv.shared.", reserved = ".nv.shared.reserved.0";
    constexpr int kReserved = 1024;  // of a block, for the system: from sm_90 on it is in the kernel's section too
    int of_system = 0;
    for (const auto &s : elf.sections) {
        of_system = s.name == reserved ? kReserved : of_system;
    }
    for (const auto &s : elf.sections) {
        if (s.name.compare(0, text.size(), text) == 0) {
            kernels[s.name.substr(text.size())].code_bytes = int(s.header.sh_size);
        } else if (s.name.compare(0, shared.size(), shared) == 0 && s.name != reserved) {
            kernels[s.name.substr(shared.size())].shared_bytes = std::max(int(s.header.sh_size) - of_system, 0);
        }
    }
    // Entries of four bytes, format, attribute and a value of 16 bits; kWithSize: that is the size of what follows, here
    // the symbol of a kernel and a number.
    for (const auto &s : elf.sections) {
        const size_t end = s.name == ".nv.info" ? s.header.sh_offset + s.header.sh_size : 0;
        for (size_t i = s.header.sh_offset; i + 4 <= end;) {
            const auto format = elf.read<uint8_t>(i), attribute = elf.read<uint8_t>(i + 1);
            const auto bytes = elf.read<uint16_t>(i + 2);
            if (format == kWithSize && bytes == 8 && (attribute == kRegisters || attribute == kFrame)) {
                const auto kernel = kernels.find(elf.symbol(elf.read<uint32_t>(i + 4)));
                const int value = int(elf.read<uint32_t>(i + 8));
                if (kernel != kernels.end()) {
                    (attribute == kRegisters ? kernel->second.registers : kernel->second.stack_bytes) = value;
                }
            }
            i += 4 + (format == kWithSize ? bytes : 0);
        }
    }
    return kernels;
}

}  // namespace

std::map<std::string, KernelResources> resources_of(const void *image, int architecture) {
    const auto *data = static_cast<const uint8_t *>(image);
    const auto header = at<FatbinHeader>(data, sizeof(FatbinHeader), 0);
    if (header.magic != kFatbin) {
        return {};
    }
    const size_t size = header.header_bytes + header.bytes;
    for (size_t i = header.header_bytes; i + sizeof(PieceHeader) <= size;) {
        const auto piece = at<PieceHeader>(data, size, i);
        if (piece.header_bytes == 0) {
            break;
        }
        const size_t begin = i + piece.header_bytes;
        if (piece.kind == kMachineCode && int(piece.architecture) == architecture && piece.compressed_bytes == 0 &&
            begin + piece.bytes <= size) {
            return read_elf(data + begin, piece.bytes);
        }
        i = begin + piece.bytes;
    }
    return {};
}

}  // namespace halyard
