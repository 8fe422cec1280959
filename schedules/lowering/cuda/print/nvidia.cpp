#include "lowering/cuda/print/nvidia.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace halyard {

namespace {

// A library of the toolkit: where the set-up found it, or where the system has it.
void *open_library(const char *variable, const char *path, const char *soname) {
    const char *given = std::getenv(variable);
    for (const char *p : {given, path, soname}) {
        if (p && *p) {
            if (void *library = dlopen(p, RTLD_NOW | RTLD_LOCAL)) {
                return library;
            }
        }
    }
    throw std::runtime_error(std::string("CUDA kernels need ") + soname + ", which was not found (" + dlerror() +
                             "); run scripts/setup, pip install \"halyard[cuda]\", or name it in " + variable);
}

template<typename F>
F function(void *library, const char *name) {
    void *f = dlsym(library, name);
    if (!f) {
        throw std::runtime_error(std::string("the CUDA library has no ") + name + "; it is too old");
    }
    return reinterpret_cast<F>(f);
}

// The C interfaces, as their documentation has them: 0 is success, handles are pointers.
struct Nvrtc {
    using Program = struct OpaqueProgram *;
    void *library = open_library("HALYARD_NVRTC", HALYARD_NVRTC, "libnvrtc.so.13");
    int (*create)(Program *, const char *, const char *, int, const char *const *,
                  const char *const *) = function<decltype(create)>(library, "nvrtcCreateProgram");
    int (*compile)(Program, int, const char *const *) = function<decltype(compile)>(library, "nvrtcCompileProgram");
    int (*destroy)(Program *) = function<decltype(destroy)>(library, "nvrtcDestroyProgram");
    int (*log_size)(Program, size_t *) = function<decltype(log_size)>(library, "nvrtcGetProgramLogSize");
    int (*log)(Program, char *) = function<decltype(log)>(library, "nvrtcGetProgramLog");
    int (*cubin_size)(Program, size_t *) = function<decltype(cubin_size)>(library, "nvrtcGetCUBINSize");
    int (*cubin)(Program, char *) = function<decltype(cubin)>(library, "nvrtcGetCUBIN");
    int (*ptx_size)(Program, size_t *) = function<decltype(ptx_size)>(library, "nvrtcGetPTXSize");
    int (*ptx)(Program, char *) = function<decltype(ptx)>(library, "nvrtcGetPTX");
    const char *(*error_text)(int) = function<decltype(error_text)>(library, "nvrtcGetErrorString");
};

struct NvFatbin {
    using Handle = struct OpaqueFatbin *;
    void *library = open_library("HALYARD_NVFATBIN", HALYARD_NVFATBIN, "libnvfatbin.so.13");
    int (*create)(Handle *, const char **, size_t) = function<decltype(create)>(library, "nvFatbinCreate");
    int (*destroy)(Handle *) = function<decltype(destroy)>(library, "nvFatbinDestroy");
    int (*add_cubin)(Handle, const void *, size_t, const char *, const char *) = function<decltype(add_cubin)>(library, "nvFatbinAddCubin");
    int (*add_ptx)(Handle, const char *, size_t, const char *, const char *, const char *) = function<decltype(add_ptx)>(library,
                                                                                                                         "nvFatbinAddPTX");
    int (*size)(Handle, size_t *) = function<decltype(size)>(library, "nvFatbinSize");
    int (*get)(Handle, void *) = function<decltype(get)>(library, "nvFatbinGet");
};

// What line tables call the source. NVRTC puts the working directory before a name that does not begin at the root, and
// equal kernels would differ from folder to folder.
const char *const kSourceName = "/halyard/kernels.cu";

// "sm_90a" -> "90a"
std::string number_of(const std::string &architecture) {
    return architecture.substr(architecture.find('_') + 1);
}

std::string fetch(int (*size_of)(Nvrtc::Program, size_t *), int (*get)(Nvrtc::Program, char *), Nvrtc::Program program) {
    size_t size = 0;
    std::string text;
    if (size_of(program, &size) == 0 && size > 0) {
        text.resize(size);
        get(program, &text[0]);
    }
    return text;
}

}  // namespace

MachineCode compile_with_nvrtc(const std::string &source, const std::string &architecture) {
    static const Nvrtc nvrtc;
    const std::string target = "--gpu-architecture=" + architecture;
    const std::array<const char *, 5> options = {target.c_str(), "--std=c++17", "--generate-line-info", "--ptxas-options=-v",
                                                 "--diag-suppress=177,550"};
    Nvrtc::Program program = nullptr;
    int code = nvrtc.create(&program, source.c_str(), kSourceName, 0, nullptr, nullptr);
    MachineCode result;
    if (code == 0) {
        code = nvrtc.compile(program, int(options.size()), options.data());
        result.log = fetch(nvrtc.log_size, nvrtc.log, program).c_str();
    }
    if (code == 0) {
        result.cubin = fetch(nvrtc.cubin_size, nvrtc.cubin, program);
        result.ptx = fetch(nvrtc.ptx_size, nvrtc.ptx, program);
    }
    nvrtc.destroy(&program);
    if (code != 0) {
        throw std::runtime_error("NVRTC for " + architecture + ": " + nvrtc.error_text(code) + "\n" + result.log);
    }
    return result;
}

std::string pack_fatbin(const std::vector<Piece> &pieces) {
    static const NvFatbin packer;
    NvFatbin::Handle handle = nullptr;
    std::array<const char *, 2> options = {"-64", "-host=linux"};
    const auto check = [](int code, const char *step) {
        if (code != 0) {
            throw std::runtime_error(std::string("nvFatbin: ") + step + " failed with code " + std::to_string(code));
        }
    };
    check(packer.create(&handle, options.data(), options.size()), "create");
    for (const auto &p : pieces) {
        const std::string number = number_of(p.architecture);
        check(packer.add_cubin(handle, p.cubin.data(), p.cubin.size(), number.c_str(), "halyard"), "adding machine code");
        if (!p.ptx.empty()) {
            check(packer.add_ptx(handle, p.ptx.data(), p.ptx.size(), number.c_str(), "halyard", nullptr), "adding PTX");
        }
    }
    size_t size = 0;
    check(packer.size(handle, &size), "size");
    std::string image(size, '\0');
    check(packer.get(handle, &image[0]), "packing");
    packer.destroy(&handle);
    return image;
}

}  // namespace halyard
