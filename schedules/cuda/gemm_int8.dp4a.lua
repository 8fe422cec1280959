-- A matrix product in 8 bits without tensor cores, weights packed in groups of four k: a block of 256 threads keeps a
-- tile of sums of 32 bits in registers, 8 x 8 a thread, and an instruction adds the products of four neighbours along k
-- (dp4a). Operands go by in shared memory as 32-bit words of such four; where a is signed, its sign bits flip on the way.

local tiles = require "lib.gpu_tiles"

return schedule "gemm_int8" {
  target = "cuda",

  generator = { weights = "packed", panel = 64 },

  params = {
    rows    = tune { 64, 128, default = 128 },
    columns = tune { 64, 128, default = 128 },
    depth   = tune { 16, 32, default = 16 }, -- groups of 4 k of a step
  },

  apply = function(k, p)
    tiles.product(k.y, k.acc, {
      a = { func = k.a_groups, loop = "row", k = "k", together = "k" },
      b = { func = k.b_groups, loop = "col", k = "k", together = "col" },
      rows = p.rows, columns = p.columns, depth = p.depth, group = 4, rest = "k_rest",
    })
  end,
}
