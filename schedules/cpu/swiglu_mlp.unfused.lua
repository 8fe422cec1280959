-- The feed-forward block without fusion: x times the norm's weight, both products, the activation, h, and
-- the product back go to memory, each its own pass over all rows.

local gemm = require "lib.gemm"
local mlp = require "lib.mlp"
local norm = require "lib.norm"
local rows = require "lib.rows"

return schedule "swiglu_mlp" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local m = k.y:dim(1):extent()
    local up = norm.unfused_tiles(k, target, { m = m, panel = p.panel })
    local down = mlp.down(k, target, { m = m, panel = p.panel })
    k.y:dim(0):set_min(0)
    norm.statistics(k, lanes)
    for _, acc in ipairs { k.gate, k.up } do
      gemm.register_tiles(acc:in_():compute_root(), acc, up)
    end
    local pass = { row = "row", inner = "col", lanes = lanes, task = 8 }
    rows.materialise({ k.activated }, pass)
    mlp.hidden(k, function(h) rows.materialise({ h }, pass) end, { row = "row", lanes = lanes })
    gemm.register_tiles(k.acc:in_():compute_root(), k.acc, down)
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
