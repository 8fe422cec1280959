-- Products of experts for AVX2 and AVX-512, weights packed into panels. A task takes a panel of columns of all experts, and goes
-- over the slots of rows: an expert's panel stays in L2 while its slots meet it, and that of an expert without rows is not
-- read. Sums are in registers, both of a gated product, and so is what follows them; of rows that are summed by token a panel of all
-- tokens stays in cache.

local gemm = require "lib.gemm"
local experts = require "lib.experts"

return schedule "grouped_gemm" {
  target = "cpu",

  generator = {
    weights = "packed",
    ones = true,
    panel = tune { 16, 32, 48, 64, default = 64 },
    tile = tune { 1, 2, 4, 6, 8, 12, default = 6 }, -- rows of a slot
  },

  where = function(p, target)
    return gemm.tile_fits({ panel = p.panel, rows = p.tile }, target)
  end,

  apply = function(k, p, target)
    k.y:dim(0):set_min(0)
    experts.slots(k, target)
    experts.panels(k, p, target)
  end,
}
