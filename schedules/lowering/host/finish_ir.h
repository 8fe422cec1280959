#ifndef HALYARD_FINISH_IR_H
#define HALYARD_FINISH_IR_H

/** \file
 * What Halide cannot say to LLVM, written into the module that it made: an edit of textual IR.
 */

#include <string>

namespace halyard {

/** The end of the name of a buffer whose vector stores become non-temporal. */
inline const char *const kStreamedSuffix = ".streamed";

/** Called, as Halide sees it, where the non-temporal stores of a task must be done. */
inline const char *const kStreamFence = "halyard_stream_fence";

/** Called, as Halide sees it, with a pointer and a number of bytes behind it: that line is prefetched into L1. */
inline const char *const kPrefetchRead = "halyard_prefetch_read", *const kPrefetchWrite = "halyard_prefetch_write";

struct FinishedIr {
    std::string text;
    int streamed = 0;   // stores that became non-temporal
    int converted = 0;  // conversions to bf16 that became LLVM's own
};

/** Textual IR in, textual IR out. Calls of helpers in it want to be inlined. */
FinishedIr finish_ir(const std::string &ir);

}  // namespace halyard

#endif
