#ifndef HALYARD_OF_THREAD_H
#define HALYARD_OF_THREAD_H

#include <pthread.h>
#include <stdlib.h>

#include <new>

namespace halyard {

/** A T for each thread that asks for one, until the thread ends: then release() gives back what it holds. One for each T, which
 * belongs in an anonymous namespace: of others, what is static becomes a unique symbol, and a shared library with one of those is
 * never unloaded. Nor is one with a thread_local that has a destructor. */
template<typename T>
class OfThread {
public:
    /** Null where the thread has not made one. */
    static T *get() {
        pthread_once(&once_, [] { has_key_ = pthread_key_create(&key_, dispose) == 0; });
        return has_key_ ? static_cast<T *>(pthread_getspecific(key_)) : nullptr;
    }

    /** Null where memory is short, and after end(). */
    static T *make() {
        if (T *value = get()) {
            return value;
        }
        void *memory = has_key_ ? malloc(sizeof(T)) : nullptr;
        if (memory && pthread_setspecific(key_, memory) != 0) {
            free(memory);
            memory = nullptr;
        }
        return memory ? new (memory) T() : nullptr;
    }

    /** For a destructor of the library, after that of the thread pool. Threads that outlive the library keep what they have. */
    static void end() {
        if (T *value = get()) {
            dispose(value);
        }
        if (has_key_) {
            has_key_ = false;
            pthread_key_delete(key_);
        }
    }

private:
    static void dispose(void *value) {
        static_cast<T *>(value)->release();
        free(value);
    }

    inline static pthread_once_t once_ = PTHREAD_ONCE_INIT;
    inline static pthread_key_t key_;
    inline static bool has_key_ = false;
};

/** Priority of destructors that call end(): the last to run. */
constexpr int kLastDestructor = 101;

}  // namespace halyard

#endif
