-- The front of attention for AVX2 and AVX-512, weights packed into panels. A task takes a head of some tokens: its columns of the
-- product in register tiles, as in gemm.lua, then norm, rotation and scale of each token in L1, from which it is stored where it
-- belongs. Of the projections nothing goes to memory.

local front = require "lib.qkv_rope"
local gemm = require "lib.gemm"

return schedule "qkv_rope" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 16, 32, 48, 64, default = 64 }, -- heads that it divides have no column computed in vain
  },

  params = {
    rows   = tune { 0, 4, 6, 8, 12, default = 0 }, -- of the register tile, with 32 registers; 0: what suits the panel
    tokens = tune { 24, 48, 96, 192, default = 96 }, -- of a task
  },

  where = gemm.tile_fits,

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    front.angles(k, lanes)
    for _, to in ipairs(front.projections(k)) do
      local linear = k["linear_" .. to.name]
      front.jobs(to, { tokens = p.tokens, lanes = lanes })
      linear:compute_at(to.out, "job")
      front.panels(linear, k["acc_" .. to.name], k.x:dim(1):extent(), gemm.packed(target, k.x, k.x_f, {
        shared = true, panel = p.panel, rows = p.rows, tiles = "never",
      }))
      front.heads(k, to, lanes)
    end
    front.together(k)
  end,
}
