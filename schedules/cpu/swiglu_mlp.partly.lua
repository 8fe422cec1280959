-- The feed-forward block with one product stored, as by a library whose product has an epilogue but takes
-- one weight: up goes to memory, gate is activated and multiplied with it in registers.

local gemm = require "lib.gemm"
local mlp = require "lib.mlp"
local norm = require "lib.norm"

return schedule "swiglu_mlp" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    local m = k.y:dim(1):extent()
    local up = norm.tiles(k, target, { shared = true, m = m, panel = p.panel })
    local down = mlp.down(k, target, { m = m, panel = p.panel })
    k.y:dim(0):set_min(0)
    norm.statistics(k, up.lanes)
    gemm.register_tiles(k.up:in_():compute_root(), k.up, up)
    mlp.hidden(k, function(h) gemm.register_tiles(h:compute_root(), k.gate, up) end, mlp.row_of(up))
    gemm.register_tiles(k.y, k.acc, down)
  end,
}
