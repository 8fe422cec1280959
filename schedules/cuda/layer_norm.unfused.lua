-- LayerNorm without fusion: x + residual, sums, means, sums of squares, scales and the result, each a kernel of its
-- own over all rows, as a chain of library calls would be. What it costs against layer_norm.lua is the traffic between
-- them.

local elementwise = require "lib.gpu_elementwise"
local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"
local rows = require "lib.gpu_rows"

return schedule "layer_norm" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  apply = function(k, p)
    local o = { rows = { "row" }, threads = p.threads, vector = grid.vector_of(k.x), unroll = p.unroll }
    if k:has "residual" then
      elementwise.vectors(k.h:compute_root(), o)
      elementwise.vectors(k.residual_out, o)
    end
    if k:has "first" then
      elementwise.elements(k.first:compute_root(), o)
      elementwise.elements(k.first:update(0), o)
    end
    reduce.rows(k.sum, "col", o)
    elementwise.elements(k.mean:compute_root(), o)
    reduce.rows(k.sum_sq, "col", o)
    elementwise.elements(k.inv_std:compute_root(), o)
    rows.own_scales_in_passes(k, o)
    elementwise.vectors(k.y, o)
  end,
}
