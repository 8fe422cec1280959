-- A matrix product in 8 bits without fusion: sums of 32 bits, their value as f32 with the bias, the activation and
-- the result, each a kernel of its own. The product itself is as in gemm_int8.lua.

local gpu = require "lib.gpu"
local tiles = require "lib.gpu_tiles"

return schedule "gemm_int8" {
  target = "cuda",

  generator = { panel = 64 },

  params = {
    rows    = tune { 64, 128, default = 128 },
    columns = tune { 64, 128, default = 128 },
    depth   = tune { 16, 32, default = 16 },
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  apply = function(k, p)
    local o = { rows = { "row" }, threads = p.threads, unroll = p.unroll }
    tiles.product(k.acc:in_():compute_root(), k.acc, {
      a = { func = k.a_groups, loop = "row", k = "k", together = "k" },
      b = { func = k.b_groups, loop = "col", k = "k", together = "col" },
      rows = p.rows, columns = p.columns, depth = p.depth, group = 4, rest = "k_rest",
    })
    for _, step in ipairs { k.linear, k.activated } do gpu.vectors(step:compute_root(), o) end
    gpu.vectors(k.y, o)
  end,
}
