-- Products of experts without fusion: the products of all slots go to memory, with the rows that fill them up, then what follows
-- them, then the rows of y. Each is over slots and panels of columns, so that there are as many tasks as there are tiles.

local experts = require "lib.experts"

return schedule "grouped_gemm" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = 64,
    tile = tune { 1, 2, 4, 6, 8, 12, default = 6 }, -- rows of a slot
  },

  apply = function(k, p, target)
    k.y:dim(0):set_min(0)
    experts.slots(k, target)
    experts.in_memory(k, p, target)
  end,
}
