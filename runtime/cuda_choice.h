#ifndef HALYARD_CUDA_CHOICE_H
#define HALYARD_CUDA_CHOICE_H

/** \file
 * What a thread has chosen with halyard/cuda.h. The thread pool hands it on to the workers that help. */

struct CUctx_st;
struct CUstream_st;

namespace halyard {

struct CudaChoice {
    CUctx_st *context;
    CUstream_st *stream;
    int device_and_one;  // 0: not set
};

const CudaChoice &cuda_choice();
void choose_cuda(const CudaChoice &choice);

}  // namespace halyard

#endif
