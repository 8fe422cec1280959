#include "explain/sampler.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <sstream>

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "kernel/failure.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/text.h"

namespace halyard {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostSamples = 1 << 16;
constexpr long kNanoseconds = 97'000;  // no multiple of what a kernel may take

uintptr_t taken[kMostSamples];
volatile size_t count;

void take(int, siginfo_t *, void *context) {
#if defined(__x86_64__)
    if (count < kMostSamples) {
        taken[count] = uintptr_t(static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP]);
        count = count + 1;
    }
#else
    (void)context;
#endif
}

// Signals of a timer to this thread while the object lives.
class Timer {
public:
    Timer() {
        struct sigaction action = {};
        action.sa_sigaction = take;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        sigaction(SIGPROF, &action, &before_);
        sigevent event = {};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGPROF;
        event._sigev_un._tid = int(syscall(SYS_gettid));
        running_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
        itimerspec every = {};
        every.it_interval.tv_nsec = every.it_value.tv_nsec = kNanoseconds;
        running_ = running_ && timer_settime(timer_, 0, &every, nullptr) == 0;
    }
    ~Timer() {
        if (running_) {
            timer_delete(timer_);
        }
        // One that is still under way must not end the program.
        signal(SIGPROF, SIG_IGN);
    }
    bool running() const {
        return running_;
    }

private:
    timer_t timer_ = {};
    struct sigaction before_ = {};
    bool running_ = false;
};

struct Symbol {
    uintptr_t address;
    int block;  // of Assembly::blocks; -1 elsewhere
};

}  // namespace

Samples sample_kernel(const Assembly &assembly, const std::string &function, std::vector<void *> addresses, double seconds) {
    Samples s;
    s.by_loop.resize(assembly.loops.size());
#if !defined(__x86_64__)
    s.error = "the program counter is read on x86-64 only";
    return s;
#endif
    const TemporaryDirectory work(temporary_root());
    const std::string text = work.path() + "/kernel.s", library = work.path() + "/kernel.so";
    write_file(text, assembly.labelled);
    const std::string runtime = require_piece(paths().runtime, "the runtime library");
    ProcessResult names;
    try {
        names = run_process({system_compiler(), "-shared", "-o", library, "-Wl,-Bsymbolic", text, "-Wl,--whole-archive", runtime,
                             "-Wl,--no-whole-archive", "-lpthread", "-ldl", "-lm"});
        names = names.ok() ? run_process({"nm", "-n", library}) : names;
    } catch (const Failure &e) {  // there is no compiler, which only this needs
        s.error = e.what();
        return s;
    }
    if (!names.ok()) {
        s.error = "the assembly could not be assembled: " + trim(names.err.substr(0, names.err.find('\n')));
        return s;
    }
    std::map<std::string, int> block_of;
    for (size_t i = 0; i < assembly.blocks.size(); i++) {
        block_of[assembly.blocks[i].label] = int(i);
    }
    std::vector<Symbol> symbols;
    uintptr_t function_at = 0;
    std::istringstream in(names.out);
    for (std::string line; std::getline(in, line);) {
        const auto words = split(line, ' ');
        if (words.size() != 3 || (words[1] != "t" && words[1] != "T")) {
            continue;
        }
        const uintptr_t at = std::stoull(words[0], nullptr, 16);
        if (words[2] == function) {
            function_at = at;
        }
        const auto block = block_of.find(words[2]);
        symbols.push_back({at, block == block_of.end() ? -1 : block->second});
    }
    const CompiledKernel kernel = CompiledKernel::load(library, function);
    kernel.set_threads(1);
    void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    const uintptr_t base = reinterpret_cast<uintptr_t>(dlsym(handle, function.c_str())) - function_at;
    kernel.call(addresses.data());
    count = 0;
    {
        const Timer timer;
        if (!timer.running()) {
            s.error = "the kernel gives no timer";
        }
        const auto begin = Clock::now();
        while (timer.running() && std::chrono::duration<double>(Clock::now() - begin).count() < seconds) {
            check_signals();
            kernel.call(addresses.data());
        }
    }
    dlclose(handle);
    for (size_t i = 0; i < count; i++) {
        const uintptr_t at = taken[i] - base;
        auto next = std::upper_bound(symbols.begin(), symbols.end(), at, [](uintptr_t a, const Symbol &b) { return a < b.address; });
        s.total++;
        if (next == symbols.begin() || next == symbols.end() || std::prev(next)->block < 0) {
            s.outside++;
        } else if (const int loop = assembly.blocks[size_t(std::prev(next)->block)].loop; loop >= 0) {
            s.by_loop[size_t(loop)]++;
        } else {
            s.kernel++;
        }
    }
    return s;
}

}  // namespace halyard
