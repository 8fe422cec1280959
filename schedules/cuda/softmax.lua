-- Softmax with a block a row: maximum, sum, output. The row comes from memory once and from L1 after that; the
-- exponentials are computed twice, which costs less than to keep them.

local gpu = require "lib.gpu"

return schedule "softmax" {
  target = "cuda",

  params = gpu.row_params,
  where = gpu.row_params_fit,

  versions = function(k, p) return gpu.row_versions(k.x, p) end,

  apply = function(k, p)
    local o = gpu.row_options(k.y, p)
    gpu.row_blocks(k.y, o)
    k.y:stream()
    gpu.hold_rows(k.x, o)
    gpu.reduce(k.row_max, "col", o)
    gpu.reduce(k.row_sum, "col", o)
    gpu.each_thread(k:has "log_sum" and k.log_sum or k.inv_sum, o)
  end,
}
