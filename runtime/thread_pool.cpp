// The thread pool under every parallel loop: replaces the weak default of Halide's runtime.
//
// One parallel loop runs at a time; its iterations are claimed one by one from a shared counter by
// the caller and by the workers that come to help. Nothing waits for a worker that did not come,
// so a worker that the system runs late (or that a fork lost) delays nobody. A loop inside a loop,
// or one begun while another thread's loop runs, runs on its own thread alone.
//
// Halide's pool takes a lock for every iteration and sleeps between loops. This one spins for a
// while first, since in a chain of short calls it takes longer to wake a thread than to do its part.
//
// No libstdc++ symbol is used, so C programs can link the runtime.

#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "HalideRuntime.h"
#include "cuda_choice.h"
#include "errors.h"
#include "halyard/runtime.h"

namespace {

constexpr int kMaxThreads = 256;

struct Pool {
    // The loop that runs now. The fields are written while `open` is 0 and no worker is inside.
    void *user_context;
    halide_task_t task;
    uint8_t *closure;
    halyard::CudaChoice cuda;  // of the caller
    int min, size, helpers;
    alignas(64) std::atomic<int64_t> next;    // iterations claimed; each thread goes one beyond the last
    alignas(64) std::atomic<int> inside;      // workers that may read the fields
    alignas(64) std::atomic<uint32_t> epoch;  // counts loops; workers sleep on it
    std::atomic<int> open, result, busy, sleepers, quit;
    char message[halyard::kMaxMessage];  // of the iteration whose code is the result

    int workers;                   // started
    std::atomic<int> threads;      // wanted, the caller included; 0: not decided yet. Set by any thread, while loops run
    std::atomic<int> spin_us{50};  // likewise
    pthread_t handles[kMaxThreads];
};

Pool pool;
pthread_mutex_t start_mutex = PTHREAD_MUTEX_INITIALIZER;
thread_local bool in_loop = false;
bool forked = false;  // this process is a child of one that had the runtime

long futex(std::atomic<uint32_t> *word, int op, uint32_t value) {
    return syscall(SYS_futex, reinterpret_cast<uint32_t *>(word), op | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

void pause_cpu() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

int64_t now_us() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t(t.tv_sec) * 1000000 + t.tv_nsec / 1000;
}

int default_threads() {
    for (const char *name : {"HL_NUM_THREADS", "HL_NUMTHREADS"}) {
        if (const char *value = getenv(name)) {
            const int n = atoi(value);
            if (n > 0) {
                return n < kMaxThreads ? n : kMaxThreads;
            }
        }
    }
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > kMaxThreads ? kMaxThreads : int(n);
}

void run_iterations() {
    const auto claim = [] { return pool.next.fetch_add(1, std::memory_order_relaxed); };
    for (int64_t i = claim(); i < pool.size; i = claim()) {
        const int r = halide_do_task(pool.user_context, pool.task, int(pool.min + i), pool.closure);
        if (r != 0) {
            int none = 0;
            if (pool.result.compare_exchange_strong(none, r)) {
                strncpy(pool.message, halyard_last_error(), sizeof(pool.message) - 1);
            }
            pool.next.store(pool.size);  // the rest need not run
        }
    }
}

// Waits until `epoch` leaves `seen`: by looking for a while, then asleep.
void wait_for_work(uint32_t seen) {
    const int64_t until = now_us() + pool.spin_us.load(std::memory_order_relaxed);
    do {
        for (int i = 0; i < 64; i++) {
            if (pool.epoch.load(std::memory_order_acquire) != seen) {
                return;
            }
            pause_cpu();
        }
    } while (now_us() < until);
    pool.sleepers.fetch_add(1);
    while (pool.epoch.load() == seen) {
        futex(&pool.epoch, FUTEX_WAIT, seen);
    }
    pool.sleepers.fetch_sub(1);
}

void *worker(void *arg) {
    const int index = int(reinterpret_cast<intptr_t>(arg));
    in_loop = true;
    uint32_t seen = pool.epoch.load();
    if (pool.open.load()) {
        seen--;  // started for a loop that is running already
    }
    while (!pool.quit.load()) {
        wait_for_work(seen);
        seen = pool.epoch.load(std::memory_order_acquire);
        // Either this thread sees the loop closed, or the caller sees this thread inside.
        pool.inside.fetch_add(1);
        if (pool.open.load() && index < pool.helpers) {
            halyard::choose_cuda(pool.cuda);
            run_iterations();
        }
        pool.inside.fetch_sub(1);
    }
    return nullptr;
}

int serial(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
    for (int i = 0; i < size; i++) {
        const int r = halide_do_task(user_context, task, min + i, closure);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

// A child process has no workers: only the thread that forked lives on in it.
void forget_workers() {
    pool.workers = 0;
    pool.inside.store(0);
    pool.sleepers.store(0);
    pool.open.store(0);
    pool.busy.store(0);
    pool.quit.store(0);
    pthread_mutex_init(&start_mutex, nullptr);
    forked = true;
}

// When the library is loaded: a fork at any later moment, in the middle of the first loop too, finds the handler.
__attribute__((constructor)) void watch_fork() {
    pthread_atfork(nullptr, nullptr, forget_workers);
}

// The threads that are wanted now.
int wanted_threads() {
    const int threads = pool.threads.load(std::memory_order_relaxed);
    return threads == 0 ? default_threads() : threads;
}

// Starts workers up to this number. Where the system gives fewer, fewer help.
void start_workers(int workers) {
    pthread_mutex_lock(&start_mutex);
    while (pool.workers < workers) {
        void *index = reinterpret_cast<void *>(intptr_t(pool.workers));
        if (pthread_create(&pool.handles[pool.workers], nullptr, worker, index) != 0) {
            break;
        }
        pool.workers++;
    }
    pthread_mutex_unlock(&start_mutex);
}

}  // namespace

extern "C" {

int halide_do_par_for(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
    int threads = pool.threads.load(std::memory_order_relaxed);  // one number for all of this loop
    if (threads == 0) {
        int undecided = 0;
        threads = default_threads();
        if (!pool.threads.compare_exchange_strong(undecided, threads)) {
            threads = undecided;
        }
    }
    int idle = 0;
    if (size <= 1 || threads == 1 || in_loop || !pool.busy.compare_exchange_strong(idle, 1)) {
        return serial(user_context, task, min, size, closure);
    }
    if (pool.workers < threads - 1) {
        start_workers(threads - 1);
    }
    pool.user_context = user_context;
    pool.task = task;
    pool.closure = closure;
    pool.cuda = halyard::cuda_choice();
    pool.min = min;
    pool.size = size;
    pool.helpers = threads - 1;
    pool.result.store(0);
    pool.next.store(0);
    pool.open.store(1);
    pool.epoch.fetch_add(1);
    if (pool.sleepers.load() > 0) {
        futex(&pool.epoch, FUTEX_WAKE, uint32_t(pool.helpers < size - 1 ? pool.helpers : size - 1));
    }
    in_loop = true;
    run_iterations();
    in_loop = false;
    pool.open.store(0);
    for (int spins = 0; pool.inside.load() != 0; spins++) {
        pause_cpu();
        if (spins > 20000) {
            sched_yield();  // a worker was interrupted in the middle of its last iteration
        }
    }
    const int result = pool.result.load();
    if (result != 0) {
        halyard::set_last_error(pool.message);  // another thread may have had the error
    }
    pool.busy.store(0);
    return result;
}

int halide_set_num_threads(int n) {
    const int old = wanted_threads();
    if (n < 0) {
        halide_error(nullptr, "halide_set_num_threads: the number of threads must be 0 (the default) or more");
        return old;
    }
    pool.threads = n == 0 ? default_threads() : n > kMaxThreads ? kMaxThreads : n;
    return old;
}

int halide_get_num_threads() {
    return wanted_threads();
}

void halyard_set_spin_microseconds(int microseconds) {
    pool.spin_us = microseconds;
}

// Halide's, of the threads that compute async Funcs (CMakeLists.txt gives it this name).
void halyard_shutdown_task_pool() __attribute__((weak));

// Halide's destructor of its threads: ours below ends them too, and knows whether this process has them.
void halide_thread_pool_cleanup() {}

// Also runs when a shared object that holds the runtime is unloaded: no worker may stay in it.
__attribute__((destructor)) void halide_shutdown_thread_pool() {
    if (halyard_shutdown_task_pool && !forked) {  // a child would wait for threads that only its parent has
        halyard_shutdown_task_pool();
    }
    pthread_mutex_lock(&start_mutex);
    pool.quit.store(1);
    pool.epoch.fetch_add(1);
    futex(&pool.epoch, FUTEX_WAKE, kMaxThreads);
    for (int i = 0; i < pool.workers; i++) {
        pthread_join(pool.handles[i], nullptr);
    }
    pool.workers = 0;
    pool.quit.store(0);
    pthread_mutex_unlock(&start_mutex);
}

}  // extern "C"
