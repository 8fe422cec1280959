-- Products with weights in interleaved blocks (halyard_interleave_blocks), of any number of rows: SIMD lanes are columns, so that no sum
-- is added up across lanes, and a weight is unpacked where it is multiplied.

local gemm_q = require "lib.gemm_q"

return schedule "gemm_q" {
  target = "cpu",

  generator = { sums = "columns", interleaved = tune { 8, 16, 32, default = 16 } },

  params = {
    columns = tune { 0, 8, 16, 32, 64, default = 0 }, -- of a register tile of many rows; 0: a vector
    rows    = tune { 0, 2, 4, 6, 8, 12, default = 0 }, -- of it; 0: what registers hold
    few     = tune { 16, 32, 64, 128, default = 64 }, -- columns of a task where there are few rows
    task    = tune { 4, 16, 64, default = 64 }, -- register tiles a task where there are many
    ahead   = tune { 0, 2048, 4096, default = 0 }, -- bytes that weights are prefetched
  },

  apply = function(k, p, target)
    local columns = p.columns > 0 and p.columns or target:lanes "f32"
    local wide = target.vector_registers >= 32
    local tile = {
      m = k.y:dim(1):extent(),
      lanes = math.min(target:lanes "f32", columns), -- a tile of 8 columns has no vectors of 16
      panel = p.interleaved,
      columns = columns,
      rows = p.rows > 0 and p.rows or k:has "a_q" and (wide and 8 or 4) or wide and 4 or 2,
      few = p.few,
      task = p.task,
      ahead = p.ahead > 0 and p.ahead,
    }
    k.y:dim(0):set_min(0)
    if k:has "a_q" then
      gemm_q.quantised_rows(k, { task = 8 })
      gemm_q.interleaved_integers(k.y, k, tile)
    else
      gemm_q.interleaved_floats(k.y, k, tile)
    end
  end,
}
