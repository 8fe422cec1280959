#ifndef HALYARD_LLM_CUDA_STREAM_H
#define HALYARD_LLM_CUDA_STREAM_H

/** \file
 * A stream of a GPU, and graphs of what was queued on it, which are launched at once. By the driver's interface, as NVIDIA's headers need
 * not be there.
 */

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <halyard/cuda.h>

namespace halyard_llm {

/** Bytes of the GPU's memory that nobody has, of any process. */
uint64_t free_memory();

/** Bytes a second that the memory takes and gives where so many are copied, the best of some. */
double copy_rate(uint64_t from, uint64_t to, size_t bytes);

/** Queues a copy on the stream of the thread. */
void copy_on_device(uint64_t to, uint64_t from, size_t bytes);

/** Waits for all that was queued on it, and copies. */
void download(void *to, uint64_t from, size_t bytes);

/** Throws std::runtime_error where the driver makes none. */
class Stream {
public:
    Stream();
    ~Stream();
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    /** Kernels of this thread are queued on it while this lives, and find their context current. */
    class Used {
    public:
        explicit Used(const Stream &stream);
        ~Used();
        Used(const Used &) = delete;
        Used &operator=(const Used &) = delete;

    private:
        CUstream_st *before_;
        int pushed_ = 0;
    };

    CUstream_st *handle() const {
        return stream_;
    }

private:
    CUstream_st *stream_ = nullptr;
};

/** What calls of this thread allocate on the GPU for themselves is in this memory while it lives. */
class Scratch {
public:
    Scratch(uint64_t address, size_t bytes) {
        halyard_cuda_set_scratch(reinterpret_cast<void *>(address), bytes);
    }
    ~Scratch() {
        halyard_cuda_set_scratch(nullptr, 0);
    }
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;
};

/** What a function queues on a stream that is used. */
class Graph {
public:
    /** Null where the driver has no graphs, as that of the emulator. */
    static std::unique_ptr<Graph> of(const Stream &stream, const std::function<void()> &queue);
    ~Graph();
    Graph(const Graph &) = delete;
    Graph &operator=(const Graph &) = delete;

    void launch(const Stream &stream) const;

private:
    explicit Graph(void *executable) : executable_(executable) {}
    void *executable_;
};

}  // namespace halyard_llm

#endif
