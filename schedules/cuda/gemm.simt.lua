-- A matrix product without tensor cores, for any type, with sums in full f32: a block of 256 threads keeps a tile
-- of 128 x 128 sums in registers, 8 x 8 a thread, and applies scale, bias, activation and residual to it there. Its
-- operands go by in shared memory, 16 k at a time; two blocks on a multiprocessor take turns to load and to
-- multiply.

local tiles = require "lib.gpu_tiles"

return schedule "gemm" {
  target = "cuda",

  generator = {
    weights = tune { "kn", "nk", default = "kn" },
  },

  params = {
    rows    = tune { 64, 128, default = 128 },
    columns = tune { 64, 128, default = 128 },
    depth   = tune { 16, 32, default = 16 }, -- k of a step
    ahead   = tune { 0, 1, 2, 3, default = 2 }, -- steps that are fetched ahead, of float32
  },

  apply = function(k, p)
    tiles.product(k.y, k.acc, {
      a = { func = k.a_f, loop = "row", k = "k", together = "k" },
      b = { func = k.b_f, loop = "col", k = "k", together = p.weights == "kn" and "col" or "k" },
      rows = p.rows, columns = p.columns, depth = p.depth, ahead = k.a:type() == "f32" and p.ahead or 0,
    })
  end,
}
