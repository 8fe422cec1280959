-- RMSNorm and product without fusion: x times the norm's weight goes to memory, then the product, then
-- the sums with 1 / rms and bias, then the activation, each its own pass.

local gemm = require "lib.gemm"
local norm = require "lib.norm"
local rows = require "lib.rows"

return schedule "rms_norm_gemm" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local tiles = norm.unfused_tiles(k, target, { m = k.y:dim(1):extent(), panel = p.panel })
    k.y:dim(0):set_min(0)
    norm.statistics(k, lanes)
    gemm.register_tiles(k.acc:in_():compute_root(), k.acc, tiles)
    rows.materialise({ k.linear }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
