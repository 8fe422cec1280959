// The thread pool with ThreadSanitizer, which ends the program with a report where two threads use a number without order: threads that
// run loops, while others say how many threads there shall be.

#include <pthread.h>
#include <stdio.h>

#include <atomic>

#include "HalideRuntime.h"
#include "cuda_choice.h"
#include "errors.h"
#include "halyard/runtime.h"

namespace halyard {

const CudaChoice &cuda_choice() {
    static const CudaChoice none = {};
    return none;
}
void choose_cuda(const CudaChoice &) {}
void set_last_error(const char *) {}

}  // namespace halyard

extern "C" {

void halide_error(void *, const char *message) {
    puts(message);
}
const char *halyard_last_error() {
    return "";
}
int halide_do_task(void *user_context, halide_task_t task, int i, uint8_t *closure) {
    return task(user_context, i, closure);
}
}

namespace {

std::atomic<long> ran{0};
constexpr int kRounds = 300, kSize = 7, kThreads = 3;

int count(void *, int, uint8_t *) {
    ran++;
    return 0;
}

void *run_loops(void *) {
    for (int i = 0; i < kRounds; i++) {
        halide_do_par_for(nullptr, count, 0, kSize, nullptr);
    }
    return nullptr;
}

void *say_how_many(void *) {
    for (int i = 0; i < kRounds; i++) {
        halide_set_num_threads(1 + (i + halide_get_num_threads()) % 4);
        halyard_set_spin_microseconds(i % 60);
    }
    return nullptr;
}

}  // namespace

int main() {
    pthread_t threads[kThreads + 1];
    for (int i = 0; i <= kThreads; i++) {
        if (pthread_create(&threads[i], nullptr, i < kThreads ? run_loops : say_how_many, nullptr) != 0) {
            return 2;
        }
    }
    for (pthread_t thread : threads) {
        pthread_join(thread, nullptr);
    }
    printf("%ld iterations\n", ran.load());
    return ran == long(kThreads) * kRounds * kSize ? 0 : 1;
}
