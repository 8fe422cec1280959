-- Transposition without fusion: the transposed matrix, scale and bias, the activation and the result go through memory
-- one after the other, each by a kernel of its own, as in a chain of library calls.

local elementwise = require "lib.gpu_elementwise"
local transpose = require "lib.gpu_transpose"

return schedule "transpose" {
  target = "cuda",

  params = {
    tile    = tune { 32, 64, 128, default = 64 },
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  apply = function(k, p)
    local o = { col = "row", rows = { "col", "n" }, threads = p.threads, unroll = p.unroll }
    local copy = k.transposed:in_():compute_root()
    transpose.tiles(copy, k.transposed, { tile = p.tile, threads = p.threads })
    for _, step in ipairs { k.linear, k.activated } do
      elementwise.vectors(step:compute_root(), o)
    end
    elementwise.vectors(k.y, o)
  end,
}
