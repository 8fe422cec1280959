#include "lowering/host/llvm.h"

#include <stdexcept>

#include <dlfcn.h>

namespace halyard {

// llvmlite's C interface, as its ffi declares it.
struct Llvm::Functions {
    using Context = void *;
    using Module = void *;
    using Machine = void *;
    using Buffer = void *;

    Context (*ContextCreate)();
    void (*ContextDispose)(Context);
    Module (*ParseBitcode)(Context, const char *, size_t, const char **);
    Module (*ParseAssembly)(Context, const char *, const char **);
    void (*DisposeModule)(Module);
    void (*PrintModuleToString)(Module, const char **);
    void (*WriteBitcodeToString)(Module, const char **, size_t *);
    bool (*VerifyModule)(Module, const char **);
    void (*DisposeString)(const char *);
    void (*GetTarget)(Module, const char **);
    void *(*GetTargetFromTriple)(const char *, const char **);
    Machine (*CreateTargetMachine)(void *, const char *, const char *, const char *, int, const char *, const char *, int, int,
                                   const char *);
    void (*DisposeTargetMachine)(Machine);
    Buffer (*TargetMachineEmitToMemory)(Machine, Module, int, const char **);
    const char *(*GetBufferStart)(Buffer);
    size_t (*GetBufferSize)(Buffer);
    void (*DisposeMemoryBuffer)(Buffer);
    void *(*CreatePipelineTuningOptions)();
    void (*DisposePipelineTuningOptions)(void *);
    void *(*CreatePassBuilder)(Machine, void *);
    void (*DisposePassBuilder)(void *);
    void *(*CreateNewModulePassManager)();
    void (*module_AddAlwaysInlinerPass)(void *);
    void (*module_AddInstCombinePass)(void *);
    void (*module_AddSimplifyCFGPass)(void *);
    void (*RunNewModulePassManager)(void *, Module, void *);
    void (*DisposeNewModulePassManger)(void *);  // llvmlite's spelling

    std::string take(const char *text) const {
        const std::string s = text ? text : "";
        DisposeString(text);
        return s;
    }
};

namespace {

// A thing of LLVM's, disposed of at the end of its scope.
class Owned {
public:
    Owned(void *thing, void (*dispose)(void *)) : thing_(thing), dispose_(dispose) {}
    ~Owned() {
        if (thing_) {
            dispose_(thing_);
        }
    }
    Owned(const Owned &) = delete;
    Owned &operator=(const Owned &) = delete;
    operator void *() const {
        return thing_;
    }

private:
    void *thing_;
    void (*dispose_)(void *);
};

[[noreturn]] void fail(const std::string &what, const std::string &detail) {
    throw std::runtime_error("LLVM " + what + ": " + detail);
}

// Halide's `!{i32 2, !"halide_mcpu_target", !"znver4"}`.
std::string module_flag(const std::string &ir, const std::string &name) {
    const std::string opening = "!\"" + name + "\", !\"";
    const size_t at = ir.find(opening);
    if (at == std::string::npos) {
        return "";
    }
    const size_t begin = at + opening.size();
    return ir.substr(begin, ir.find('"', begin) - begin);
}

}  // namespace

Llvm::Llvm(const std::string &library) {
    // Its own symbols first, and unloaded never: LLVM keeps global state.
    void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        throw std::runtime_error(dlerror());
    }
    auto f = std::make_shared<Functions>();
    const auto get = [&](auto &member, const char *name) {
        void *symbol = dlsym(handle, name);
        if (!symbol) {
            throw std::runtime_error(library + " lacks " + name + "; Halyard is made for llvmlite 0.50");
        }
        member = reinterpret_cast<std::decay_t<decltype(member)>>(symbol);
    };
#define GET(name) get(f->name, "LLVMPY_" #name)
    GET(ContextCreate);
    GET(ContextDispose);
    GET(ParseBitcode);
    GET(ParseAssembly);
    GET(DisposeModule);
    GET(PrintModuleToString);
    GET(WriteBitcodeToString);
    GET(VerifyModule);
    GET(DisposeString);
    GET(GetTarget);
    GET(GetTargetFromTriple);
    GET(CreateTargetMachine);
    GET(DisposeTargetMachine);
    GET(TargetMachineEmitToMemory);
    GET(GetBufferStart);
    GET(GetBufferSize);
    GET(DisposeMemoryBuffer);
    GET(CreatePipelineTuningOptions);
    GET(DisposePipelineTuningOptions);
    GET(CreatePassBuilder);
    GET(DisposePassBuilder);
    GET(CreateNewModulePassManager);
    GET(module_AddAlwaysInlinerPass);
    GET(module_AddInstCombinePass);
    GET(module_AddSimplifyCFGPass);
    GET(RunNewModulePassManager);
    GET(DisposeNewModulePassManger);
#undef GET
    void (*initialize)() = nullptr;
    for (const char *name : {"LLVMPY_InitializeAllTargetInfos", "LLVMPY_InitializeAllTargets", "LLVMPY_InitializeAllTargetMCs",
                             "LLVMPY_InitializeAllAsmPrinters"}) {
        get(initialize, name);
        initialize();
    }
    f_ = f;
}

const Llvm &Llvm::load(const std::string &library) {
    static const Llvm llvm(library);
    return llvm;
}

std::string Llvm::disassemble(const std::string &bitcode) const {
    const Functions &f = *f_;
    const Owned context(f.ContextCreate(), f.ContextDispose);
    const char *text = nullptr;
    const Owned module(f.ParseBitcode(context, bitcode.data(), bitcode.size(), &text), f.DisposeModule);
    if (!module) {
        fail("cannot read the bitcode", f.take(text));
    }
    f.PrintModuleToString(module, &text);
    return f.take(text);
}

Llvm::Code Llvm::compile(const std::string &ir, const Outputs &outputs) const {
    const Functions &f = *f_;
    const Owned context(f.ContextCreate(), f.ContextDispose);
    const char *text = nullptr;
    const Owned module(f.ParseAssembly(context, ir.c_str(), &text), f.DisposeModule);
    if (!module) {
        fail("cannot read the finished module", f.take(text));
    }
    if (f.VerifyModule(module, &text)) {
        fail("finds the finished module wrong", f.take(text));
    }
    f.GetTarget(module, &text);
    const std::string triple = text;  // the module's own
    void *target = f.GetTargetFromTriple(triple.c_str(), &text);
    if (!target) {
        fail("has no target " + triple, f.take(text));
    }
    const Owned machine(f.CreateTargetMachine(target, triple.c_str(), module_flag(ir, "halide_mcpu_target").c_str(),
                                              module_flag(ir, "halide_mattrs").c_str(), 3, "pic", "small", 0, 0, ""),
                        f.DisposeTargetMachine);
    {
        // Halide has simplified all but what the edit wrote. Its whole pipeline once more would take time, and gave the
        // same code.
        const Owned tuning(f.CreatePipelineTuningOptions(), f.DisposePipelineTuningOptions);
        const Owned builder(f.CreatePassBuilder(machine, tuning), f.DisposePassBuilder);
        const Owned passes(f.CreateNewModulePassManager(), f.DisposeNewModulePassManger);
        f.module_AddAlwaysInlinerPass(passes);
        f.module_AddInstCombinePass(passes);
        f.module_AddSimplifyCFGPass(passes);
        f.RunNewModulePassManager(passes, module, builder);
    }
    Code code;
    if (outputs.ir) {
        f.PrintModuleToString(module, &text);
        code.ir = f.take(text);
    }
    if (outputs.bitcode) {
        size_t size = 0;
        f.WriteBitcodeToString(module, &text, &size);
        code.bitcode.assign(text, size);
        f.DisposeString(text);
    }
    const auto emit = [&](bool object) {
        const Owned buffer(f.TargetMachineEmitToMemory(machine, module, object, &text), f.DisposeMemoryBuffer);
        if (!buffer) {
            fail("cannot make machine code", f.take(text));
        }
        return std::string(f.GetBufferStart(buffer), f.GetBufferSize(buffer));
    };
    // Making code changes the module a little, and twice the same way.
    if (outputs.assembly) {
        code.assembly = emit(false);
    }
    if (outputs.object) {
        code.object = emit(true);
    }
    return code;
}

}  // namespace halyard
