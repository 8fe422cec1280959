// Put before libHalide in a confined process: Halide makes no machine code of a module that the finishing step makes it of, once more
// and of other bitcode. The plugin, which sees the schedule, says of which. Halide has by then been told to write an object or a
// library: what it writes is empty, and finish.cpp fills it.
#define _GNU_SOURCE
#include <dlfcn.h>

// Of the next module alone: with several targets others follow that are not finished, as the one that chooses between them.
int halyard_object_comes_later = 0;

// Halide::compile_llvm_module_to_object(llvm::Module &, llvm::raw_pwrite_stream &)
void _ZN6Halide29compile_llvm_module_to_objectERN4llvm6ModuleERNS0_17raw_pwrite_streamE(void *module, void *stream) {
    if (halyard_object_comes_later) {
        halyard_object_comes_later = 0;
        return;
    }
    void (*next)(void *, void *);
    *(void **)&next = dlsym(RTLD_NEXT, "_ZN6Halide29compile_llvm_module_to_objectERN4llvm6ModuleERNS0_17raw_pwrite_streamE");
    next(module, stream);
}
