-- Products of experts without tensor cores, for any type, with sums in full f32: a block has the sums of a slot's rows by a tile of columns
-- in registers, and its operands, the rows by their index, in shared memory. Blocks of slots without rows end at once.

local experts = require "lib.gpu_experts"

return schedule "grouped_gemm" {
  target = "cuda",

  generator = {
    weights = "nk",
    tile = 64,                                      -- rows of a slot
  },

  params = {
    columns = tune { 64, 128, default = 64 },
    depth   = tune { 16, 32, default = 16 }, -- k of a step
    threads = tune { 64, 128, 256, default = 128 }, -- of a block that clears or sums rows
  },

  apply = function(k, p)
    experts.thread_tiles(k, { rows = p.tile, columns = p.columns, depth = p.depth, threads = p.threads })
  end,
}
