// The thread pool of the runtime, called as a library calls it.
#include <catch2/catch.hpp>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <string>
#include <thread>
#include <vector>

#include <HalideRuntime.h>
#include <halyard/runtime.h>

namespace {

// How often each iteration ran, and which one fails with which code.
struct Counts {
    explicit Counts(int size) : ran(size) {}
    std::vector<std::atomic<int>> ran;
    int first = 0, failing = 1 << 30;
};

int count(void *, int i, uint8_t *closure) {
    auto *c = reinterpret_cast<Counts *>(closure);
    c->ran[i - c->first]++;
    return i == c->failing ? -7 : 0;
}

int run(Counts &c) {
    return halide_do_par_for(nullptr, count, c.first, int(c.ran.size()), reinterpret_cast<uint8_t *>(&c));
}

bool each_once(const Counts &c) {
    for (const auto &n : c.ran) {
        if (n != 1) {
            return false;
        }
    }
    return true;
}

}  // namespace

TEST_CASE("an error of a worker: the caller gets its code and its message") {
    struct Closure {
        std::thread::id caller;
        std::atomic<int> started;
    };
    halide_set_num_threads(2);
    for (int round = 0; round < 20; round++) {
        Closure c = {std::this_thread::get_id(), {0}};
        const auto task = [](void *, int, uint8_t *closure) {
            auto *c = reinterpret_cast<Closure *>(closure);
            c->started++;
            while (c->started < 2) {  // until both threads have one
                std::this_thread::yield();
            }
            if (std::this_thread::get_id() == c->caller) {
                return 0;
            }
            halide_error(nullptr, "a worker's error");
            return -9;
        };
        halide_error(nullptr, "an older one");
        REQUIRE(halide_do_par_for(nullptr, task, 0, 2, reinterpret_cast<uint8_t *>(&c)) == -9);
        REQUIRE(std::string(halyard_last_error()) == "a worker's error");
    }
    halide_set_num_threads(0);
}

TEST_CASE("every iteration runs once, whatever the number of threads") {
    for (const int spin : {0, 50}) {
        halyard_set_spin_microseconds(spin);
        for (const int threads : {1, 2, 3, 16, 2, 1, 0}) {
            halide_set_num_threads(threads);
            for (const int size : {0, 1, 2, 7, 1000}) {
                Counts c(size);
                c.first = -3;
                REQUIRE(run(c) == 0);
                REQUIRE(each_once(c));
            }
        }
    }
    halyard_set_spin_microseconds(50);
}

TEST_CASE("many short loops in a row") {
    halide_set_num_threads(2);
    for (int n = 0; n < 20000; n++) {
        Counts c(3);
        REQUIRE(run(c) == 0);
        REQUIRE(each_once(c));
    }
}

TEST_CASE("the code of a failing iteration is the code of the loop") {
    for (const int threads : {1, 2, 4}) {
        halide_set_num_threads(threads);
        Counts c(500);
        c.failing = 123;
        REQUIRE(run(c) == -7);
        Counts next(500);
        REQUIRE(run(next) == 0);
        REQUIRE(each_once(next));
    }
}

TEST_CASE("no iteration beyond the last, at the end of the numbers too") {
    struct Closure {
        std::atomic<int> ran{0}, least{INT_MAX};
    };
    const auto task = [](void *, int i, uint8_t *closure) {
        auto *c = reinterpret_cast<Closure *>(closure);
        for (int least = c->least; i < least && !c->least.compare_exchange_weak(least, i);) {
        }
        const int ran = ++c->ran;
        return ran == 100 || ran > 1000 ? -7 : 0;  // an error skips to the last one, for which nobody waits
    };
    for (const int threads : {1, 2, 8}) {
        halide_set_num_threads(threads);
        Closure all, last;
        CHECK(halide_do_par_for(nullptr, task, 0, INT_MAX, reinterpret_cast<uint8_t *>(&all)) == -7);
        CHECK(all.least == 0);
        CHECK(halide_do_par_for(nullptr, task, INT_MAX - 9, 10, reinterpret_cast<uint8_t *>(&last)) == 0);
        CHECK(last.ran == 10);
        CHECK(last.least == INT_MAX - 9);
    }
    halide_set_num_threads(0);
}

TEST_CASE("a loop inside a loop") {
    halide_set_num_threads(4);
    static std::atomic<int> total;
    total = 0;
    const auto outer = [](void *, int, uint8_t *) {
        Counts inner(50);
        const int result = run(inner);
        total += each_once(inner) ? 1 : 0;
        return result;
    };
    REQUIRE(halide_do_par_for(nullptr, outer, 0, 40, nullptr) == 0);
    REQUIRE(total == 40);
}

TEST_CASE("loops begun by several threads at once") {
    halide_set_num_threads(3);
    std::atomic<int> right(0);
    std::vector<std::thread> callers;
    for (int t = 0; t < 4; t++) {
        callers.emplace_back([&right] {
            for (int n = 0; n < 500; n++) {
                Counts c(20);
                right += run(c) == 0 && each_once(c);
            }
        });
    }
    for (auto &t : callers) {
        t.join();
    }
    REQUIRE(right == 2000);
}

TEST_CASE("a pool that was shut down starts again") {
    halide_set_num_threads(3);
    for (int n = 0; n < 20; n++) {
        Counts c(100);
        REQUIRE(run(c) == 0);
        REQUIRE(each_once(c));
        halide_shutdown_thread_pool();
    }
}

namespace {

std::atomic<int> helped;

// Counts the iterations that did not run on the thread of the caller.
int note_thread(void *, int, uint8_t *closure) {
    usleep(5000);
    helped += *reinterpret_cast<std::thread::id *>(closure) != std::this_thread::get_id();
    return 0;
}

bool gets_help() {
    helped = 0;
    std::thread::id caller = std::this_thread::get_id();
    return halide_do_par_for(nullptr, note_thread, 0, 20, reinterpret_cast<uint8_t *>(&caller)) == 0 && helped > 0;
}

}  // namespace

TEST_CASE("a child process has workers of its own, and ends") {
    halide_set_num_threads(3);
    REQUIRE(gets_help());
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);  // a child that hangs is killed, and its status says so
        Counts c(100);
        const bool good = run(c) == 0 && each_once(c) && gets_help();
        exit(good ? 0 : 1);  // runs the destructor that shuts the pool down
    }
    int status = -1;
    waitpid(child, &status, 0);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);
    Counts after(100);
    REQUIRE(run(after) == 0);
    REQUIRE(each_once(after));
}

namespace {

std::atomic<bool> begin_in_fork;

// While the process forks, another thread begins the program's first loop, whose workers the child does not have.
void begin_first_loop() {
    if (begin_in_fork.exchange(false)) {
        std::thread([] { gets_help(); }).join();
    }
}

bool ends_well(pid_t process) {
    int status = -1;
    waitpid(process, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

// In a program that has called nothing of the runtime yet.
TEST_CASE("a fork during the first loop", "[.first_loop]") {
    halide_set_num_threads(3);
    REQUIRE(pthread_atfork(begin_first_loop, nullptr, nullptr) == 0);
    begin_in_fork = true;
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        exit(gets_help() ? 0 : 1);
    }
    REQUIRE(ends_well(child));
}

TEST_CASE("a child of a fork in the middle of a program's first loop has workers of its own, and ends") {
    const pid_t program = fork();
    if (program == 0) {
        execl("/proc/self/exe", "runtime_test", "[.first_loop]", nullptr);
        _exit(2);
    }
    REQUIRE(ends_well(program));
}

TEST_CASE("a child of a program that computes async Funcs ends") {
    const auto nothing = [](void *, int, int, uint8_t *, void *) { return 0; };
    std::atomic<bool> stop = false;
    std::thread computes([&] {
        halide_parallel_task_t tasks[2] = {};
        for (auto &t : tasks) {
            t.fn = nothing;
            t.extent = 1;
            t.min_threads = 1;
            t.serial = true;
        }
        while (!stop) {
            halide_do_parallel_tasks(nullptr, 2, tasks, nullptr);
        }
    });
    bool well = true;
    for (int i = 0; i < 200 && well; i++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(10);
            exit(0);
        }
        well = ends_well(child);
    }
    stop = true;
    computes.join();
    REQUIRE(well);
}

TEST_CASE("an error is kept for the thread that made it") {
    halide_error(nullptr, "first\n");
    REQUIRE(std::string(halyard_last_error()) == "first");
    std::thread([] { REQUIRE(std::string(halyard_last_error()).empty()); }).join();
    halide_error(nullptr, std::string(5000, 'x').c_str());
    REQUIRE(std::string(halyard_last_error()).size() == 1023);
}
