-- GroupNorm without fusion: sums, means, sums of squares, scales, x scaled and shifted, the activation and the result,
-- each a kernel of its own over the whole tensor, as a chain of library calls would be.

local elementwise = require "lib.gpu_elementwise"
local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"

return schedule "group_norm" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, 1024, default = 512 },
    unroll  = tune { 1, 2, 4, 8, default = 4 },
  },

  apply = function(k, p)
    local o = {
      rows = { "g", "n" }, around = { "pixel_y", "pixel_z" },
      threads = p.threads, unroll = p.unroll, vector = grid.vector_of(k.x),
    }
    reduce.rows(k.sum, "pixel_x", o)
    elementwise.elements(k.mean:compute_root(), o)
    reduce.rows(k.sum_sq, "pixel_x", o)
    elementwise.elements(k.inv_std:compute_root(), o)
    local pass = { col = "w", rows = { "h", "c", "n" }, threads = p.threads, unroll = p.unroll }
    for _, step in ipairs { "normalised", "activated" } do
      if k:has(step) then elementwise.vectors(k[step]:compute_root(), pass) end
    end
    elementwise.vectors(k.y, pass)
  end,
}
