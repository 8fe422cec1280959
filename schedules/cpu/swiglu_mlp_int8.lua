-- The feed-forward block in 8 bits, weights packed into panels: rows of x are rounded once, h is made in registers from the
-- sums of both products, its rows are rounded where they are complete, and the product back scales its sums and adds the
-- residual in registers. Where there is AMX, its tiles multiply.

local gemm = require "lib.gemm"
local rows = require "lib.rows"

return schedule "swiglu_mlp_int8" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, default = 48 }, -- not 64: of groups in four vectors Halide gathers the last
  },

  params = {
    rows = tune { 4, 6, 8, 12, default = 8 },   -- of the register tile, with 32 registers
    task = tune { 4, 8, 16, 32, default = 16 }, -- register tiles a task
  },

  where = gemm.tile_fits,

  apply = function(k, p, target)
    local function tiles()
      return gemm.packed_int8(target, false, { m = k.y:dim(1):extent(), panel = p.panel, rows = p.rows, task = p.task })
    end
    local lanes = target:lanes "f32"
    k.y:dim(0):set_min(0)
    rows.quantise(k.x_q, k.x_scale, { lanes = lanes, sums = { k.sum_sq, k.x_peak }, values = { k.x_inv } })
    gemm.register_tiles(k.h:compute_root(), { k.gate, k.up }, tiles())
    rows.quantise(k.h_q, k.h_scale, { lanes = lanes, sums = { k.h_peak }, values = { k.h_inv } })
    gemm.register_tiles(k.y, k.acc, tiles())
  end,
}
