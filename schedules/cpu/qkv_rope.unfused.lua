-- The front of attention without fusion: the angles, each projection, what its norm sums up, its heads and their scales go to memory,
-- each by a pass of its own, and then the rows that the slots name.

local front = require "lib.qkv_rope"
local gemm = require "lib.gemm"
local rope = require "lib.rope"
local rows = require "lib.rows"

return schedule "qkv_rope" {
  target = "cpu",

  generator = { weights = "packed", panel = 64 },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    rows.materialise({ k.angle_turn }, { row = "token", inner = "member", lanes = lanes, task = 4 })
    for _, to in ipairs(front.projections(k)) do
      local linear = k["linear_" .. to.name]:compute_root():align_bounds("col", p.panel)
      gemm.register_tiles(linear, k["acc_" .. to.name], gemm.packed(target, k.x, k.x_f, {
        shared = true, m = k.x:dim(1):extent(), panel = p.panel, tiles = "never",
      }))
      for _, sum in ipairs { "sum_sq_", "peak_" } do
        if k:has(sum .. to.name) then
          local of_head = k[sum .. to.name]
          rows.materialise({ of_head, k[(sum == "peak_" and "inv_scale_" or "inv_rms_") .. to.name] }, { row = "token", task = 4 })
          of_head:update(0):atomic():vectorize("i", 2 * lanes, "guard"):parallel("token", 4, "guard")
        end
      end
      local head = k["head_" .. to.name]
      if to.name == "v" then
        rows.materialise({ head }, { row = "token", inner = "i", lanes = lanes, task = 4 })
      else
        rope.tokens(k, head:compute_root(), { task = 4 })
      end
      to.stage:reorder("i", "head", "token"):vectorize("i", lanes, "guard"):parallel("token", 4, "guard")
      if to.scales then to.scales:update(0):reorder("head", "token"):parallel("token", 4, "guard") end
    end
  end,
}
