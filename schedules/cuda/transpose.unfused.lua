-- Transposition without fusion: the transposed matrix, scale and bias, the activation and the result go through memory
-- one after the other, each by a kernel of its own, as in a chain of library calls.

local gpu = require "lib.gpu"

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
    gpu.transposed(copy, k.transposed, p)
    for _, step in ipairs { k.linear, k.activated } do
      gpu.vectors(step:compute_root(), o)
    end
    gpu.vectors(k.y, o)
  end,
}
