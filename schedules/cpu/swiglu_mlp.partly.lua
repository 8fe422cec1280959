-- The feed-forward block with one product stored, as by a library whose product has an epilogue but takes
-- one weight: up goes to memory, gate is activated and multiplied with it in registers.

local gemm = require "lib.gemm"
local norm = require "lib.norm"

return schedule "swiglu_mlp" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    local m = k.y:dim(1):extent()
    local up = norm.tiles(k, target, { shared = true, m = m, panel = p.panel })
    local down = gemm.packed(target, k.x, k.h_f, { m = m, panel = p.panel })
    k.y:dim(0):set_min(0)
    norm.statistics(k, up.lanes)
    gemm.register_tiles(k.up:in_():compute_root(), k.up, up)
    gemm.register_tiles(k.h:compute_root(), k.gate, up)
    gemm.register_tiles(k.y, k.acc, down)
  end,
}
