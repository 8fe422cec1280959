-- Softmax with a block a row, or several short ones: maximum, sum, output. The row comes from memory once and from L1 after that; the
-- exponentials are computed twice, which costs less than to keep them.

local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"
local rows = require "lib.gpu_rows"

return schedule "softmax" {
  target = "cuda",

  params = rows.params,
  where = rows.params_fit,

  versions = function(k, p) return rows.versions(k.x, k.y, p, {}) end,

  apply = function(k, p)
    local o = rows.options(k.y, p)
    rows.blocks(k.y, o)
    k.y:stream()
    rows.hold(k.x, o)
    reduce.in_block(k.row_max, "col", o)
    reduce.in_block(k.row_sum, "col", o)
    grid.each_thread(k:has "log_sum" and k.log_sum or k.inv_sum, o)
  end,
}
