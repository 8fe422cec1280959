-- Products of experts for few rows of each, weights transposed as torch.nn.Linear stores them: dot products in the SIMD lanes. A task takes
-- some columns of all experts, and reads those of an expert once for a slot.

local experts = require "lib.experts"

return schedule "grouped_gemm" {
  target = "cpu",

  generator = {
    weights = "nk",
    tile = tune { 1, 2, 4, default = 2 }, -- rows of a slot
  },

  params = {
    columns = tune { 2, 4, 8, default = 4 },  -- of a tile of dot products
    task    = tune { 1, 4, 16, default = 4 }, -- tiles of columns a task
  },

  where = function(p, target)
    return p.columns * p.tile <= (target.vector_registers >= 32 and 16 or 8)
  end,

  apply = function(k, p, target)
    experts.slots(k, target)
    experts.dots(k, p, target)
  end,
}
