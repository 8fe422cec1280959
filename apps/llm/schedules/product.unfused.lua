-- Products with interleaved blocks without fusion, as a chain of library calls has them: all weights are unpacked to memory, then the sums,
-- then the bias, then the residual, each a pass of its own. The sums run in the register tiles of gemm_q.interleaved.lua, so the
-- difference between the two is the traffic between the passes.

local blocks = require "lib.blocks"
local rows = require "lib.rows"

return schedule "gemm_q" {
  target = "cpu",

  generator = { sums = "columns", interleaved = tune { 8, 16, 32, default = 16 } },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local sums = k.acc:in_():compute_root()
    k.y:dim(0):set_min(0)
    blocks.quantised_rows(k, "a", { task = 8 })
    blocks.interleaved(sums, { blocks.product(k, k.acc, "w", "a") }, blocks.interleaved_tiles_of(target, k:has "a_q", {
      m = k.y:dim(1):extent(),
      panel = p.interleaved,
      columns = math.min(lanes, p.interleaved),
      rows = 0,
      few = 64,
      task = 64,
      unpacked_first = true,
    }))
    rows.materialise({ k.linear, k.activated }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
