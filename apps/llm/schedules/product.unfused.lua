-- Products with interleaved blocks without fusion, as a chain of library calls has them: all weights are unpacked to memory, then the sums,
-- then the bias, then the residual, each a pass of its own. The sums run in the register tiles of gemm_q.interleaved.lua, so the
-- difference between the two is the traffic between the passes.

local gemm_q = require "lib.gemm_q"
local rows = require "lib.rows"

return schedule "gemm_q" {
  target = "cpu",

  generator = { sums = "columns", interleaved = tune { 8, 16, 32, default = 16 } },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local wide = target.vector_registers >= 32
    local sums = k.acc:in_():compute_root()
    local rounds = k:has "a_q"
    local tile = {
      m = k.y:dim(1):extent(),
      lanes = lanes,
      panel = p.interleaved,
      columns = math.min(lanes, p.interleaved),
      rows = rounds and (wide and 8 or 4) or wide and 4 or 2,
      few = 64,
      task = 64,
      unpacked_first = true,
    }
    k.y:dim(0):set_min(0)
    if rounds then
      gemm_q.quantised_rows(k, { task = 8 })
      gemm_q.interleaved_integers(sums, k, tile)
    else
      gemm_q.interleaved_floats(sums, k, tile)
    end
    rows.materialise({ k.linear, k.activated }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
