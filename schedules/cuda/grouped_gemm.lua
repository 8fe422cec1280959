-- Products of experts without tensor cores: a block has the sums of a slot's rows by a tile of columns in registers, and its operands,
-- the rows by their index, in shared memory. The results of slots go to memory, from which threads store the rows of y, or the sums of
-- those of a token. Blocks of slots without rows end at once.

local experts = require "lib.gpu_experts"

return schedule "grouped_gemm" {
  target = "cuda",

  generator = {
    weights = "nk",
    tile = tune { 64, 128, default = 64 },          -- rows of a slot
  },

  params = {
    columns = tune { 64, 128, default = 64 },
    depth   = tune { 16, 32, default = 16 }, -- k of a step
    threads = tune { 64, 128, 256, default = 128 }, -- of a block that stores rows
  },

  apply = function(k, p)
    experts.slots(k)
    experts.tiles(k, p)
    experts.rows(k, p)
  end,
}
