-- SwiGLU with one product stored: up goes to memory, then gate is computed in registers, activated and
-- multiplied with it, as a product with an epilogue is in a library that cannot take two weights.

local gemm = require "lib.gemm"
local rows = require "lib.rows"

return schedule "swiglu" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    local tiles = gemm.packed(target, k.x, k.x_f, { shared = true, m = k.y:dim(1):extent(), panel = p.panel })
    k.y:dim(0):set_min(0)
    gemm.register_tiles(k.up:in_():compute_root(), k.up, tiles)
    gemm.register_tiles(rows.quantised_after(k, target), k.gate, tiles)
  end,
}
