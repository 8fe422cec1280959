#include "kernel/timed_threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace halyard {

double timed_threads(int threads, const std::function<void(int)> &body, const std::function<void(int)> &prepare) {
    using Clock = std::chrono::steady_clock;
    std::atomic<int> waiting{threads};
    std::vector<Clock::time_point> begin(threads), end(threads);
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++) {
        pool.emplace_back([&, t] {
            prepare(t);
            for (waiting--; waiting > 0;) {
            }
            begin[t] = Clock::now();
            body(t);
            end[t] = Clock::now();
        });
    }
    for (auto &thread : pool) {
        thread.join();
    }
    const std::chrono::duration<double> seconds = *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
    return seconds.count();
}

}  // namespace halyard
