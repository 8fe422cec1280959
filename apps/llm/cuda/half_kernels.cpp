#include "half_kernels.h"

#include "views.h"

#include "llm_cuda_half_added_norm.h"
#include "llm_cuda_half_biased.h"
#include "llm_cuda_half_norm.h"
#include "llm_cuda_half_product.h"
#include "llm_cuda_half_swiglu.h"
#include "llm_cuda_narrow.h"

namespace halyard_llm {

using halyard_apps::check_cuda;

void narrow_on_device(uint64_t x, int columns, int rows, uint64_t y) {
    check_cuda(llm_cuda_narrow(Rows(kFloat, x, columns, rows), Rows(kHalf, y, columns, rows)), "rows as f16");
}

void half_product_on_device(uint64_t a, uint64_t w, uint64_t bias, int k, int n, int rows, uint64_t y) {
    Rows a_rows(kHalf, a, k, rows), weights(kHalf, w, k, n), y_rows(kFloat, y, n, rows);
    check_cuda(bias ? llm_cuda_half_biased(a_rows, weights, Vector(kHalf, bias, n), y_rows)
                    : llm_cuda_half_product(a_rows, weights, y_rows),
               "product of many rows");
}

void half_swiglu_on_device(uint64_t a, uint64_t w_gate, uint64_t w_up, int k, int n, int rows, uint64_t y) {
    Rows gate(kHalf, w_gate, k, n), up(kHalf, w_up, k, n);
    check_cuda(llm_cuda_half_swiglu(Rows(kHalf, a, k, rows), gate, up, Rows(kHalf, y, n, rows)), "gate and up of many rows");
}

void half_norm_on_device(uint64_t x, uint64_t more, uint64_t weight, int columns, int rows, float eps, uint64_t y, uint64_t sum) {
    Rows x_rows(kFloat, x, columns, rows), y_rows(kHalf, y, columns, rows);
    Vector w(kFloat, weight, columns);
    check_cuda(more ? llm_cuda_half_added_norm(x_rows, w, eps, Rows(kFloat, more, columns, rows), y_rows, Rows(kFloat, sum, columns, rows))
                    : llm_cuda_half_norm(x_rows, w, eps, y_rows),
               "norm of many rows");
}

}  // namespace halyard_llm
