// Put before libHalide in a confined process: LLVM's passes leave a module as Halide wrote it, where the plugin says that it is host code
// which starts kernels in the emulator. It runs a few times, and the passes take longer than all of these.
#define _GNU_SOURCE
#include <dlfcn.h>

// Of all modules of this process.
int halyard_host_code_is_quick = 0;

// Halide::Internal::CodeGen_LLVM::optimize_module()
void _ZN6Halide8Internal12CodeGen_LLVM15optimize_moduleEv(void *self) {
    if (halyard_host_code_is_quick) {
        return;
    }
    void (*next)(void *);
    *(void **)&next = dlsym(RTLD_NEXT, "_ZN6Halide8Internal12CodeGen_LLVM15optimize_moduleEv");
    next(self);
}
