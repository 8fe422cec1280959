// The driver's streams and events. Everything happens at once, so an event is the time at which it was recorded.

#include <chrono>
#include <utility>

#include "world.h"

using namespace halyard::emulator::driver;

struct Event {
    std::chrono::steady_clock::time_point at;
};

extern "C" {

int cuStreamCreate(Stream **stream, unsigned) {
    ENTER_CONTEXT;
    *stream = new Stream{current()};
    w.streams.insert(*stream);
    return kSuccess;
}

int cuStreamDestroy_v2(Stream *stream) {
    ENTER;
    if (!w.streams.erase(stream)) {
        return kInvalidHandle;
    }
    delete stream;
    return kSuccess;
}

int cuStreamSynchronize(void *handle) {
    ENTER_CONTEXT;
    w.counts["synchronisations"]++;
    Stream *s = as_stream(handle);
    if (!s) {
        const int unsafe = unsafe_now();
        return unsafe ? unsafe : current()->sticky;
    }
    if (!w.streams.count(s)) {
        return kInvalidHandle;
    }
    if (s->capturing) {
        s->invalid = true;
        return kCaptureUnsupported;
    }
    return s->context->sticky;
}

int cuStreamBeginCapture_v2(Stream *stream, int mode) {
    ENTER;
    if (!w.streams.count(stream) || stream->capturing) {
        return kInvalidValue;
    }
    stream->capturing = true;
    stream->invalid = false;
    stream->mode = mode;
    stream->nodes = 0;
    return kSuccess;
}

/** The graph is null; what was captured is counted. */
int cuStreamEndCapture(Stream *stream, void **graph) {
    ENTER;
    *graph = nullptr;
    if (!w.streams.count(stream) || !stream->capturing) {
        return kInvalidValue;
    }
    stream->capturing = false;
    return stream->invalid ? kCaptureInvalidated : kSuccess;
}

int cuStreamIsCapturing(Stream *stream, int *status) {
    ENTER;
    *status = w.streams.count(stream) && stream->capturing;
    return kSuccess;
}

int cuThreadExchangeStreamCaptureMode(int *mode) {
    std::swap(*mode, capture_mode);
    return kSuccess;
}

int cuEventCreate(Event **event, unsigned) {
    ENTER_CONTEXT;
    *event = new Event;
    return kSuccess;
}

int cuEventDestroy_v2(Event *event) {
    delete event;
    return kSuccess;
}

int cuEventRecord(Event *event, void *) {
    event->at = std::chrono::steady_clock::now();
    return kSuccess;
}

int cuEventSynchronize(Event *) {
    ENTER_CONTEXT;
    return current()->sticky;
}

int cuEventElapsedTime(float *milliseconds, Event *begin, Event *end) {
    *milliseconds = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
    return kSuccess;
}

}  // extern "C"
