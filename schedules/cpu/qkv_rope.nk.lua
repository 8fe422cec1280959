-- The front of attention for a few tokens, weights transposed as torch.nn.Linear stores them: the product by dot products in the SIMD
-- lanes, then all as in qkv_rope.lua. Weights are read once and never packed; from some tens of tokens on qkv_rope.lua wins, as it adds
-- up no lanes.

local front = require "lib.qkv_rope"

return schedule "qkv_rope" {
  target = "cpu",

  generator = { weights = "nk" },

  params = {
    columns = tune { 2, 4, 8, default = 4 },      -- of a tile of dot products
    rows    = tune { 1, 2, 4, default = 4 },      -- of a tile, with 32 registers; otherwise at most 2
    tokens  = tune { 8, 16, 32, default = 16 },   -- of a task
  },

  where = function(p, target)
    return p.columns * p.rows <= 16
  end,

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    front.angles(k, lanes)
    for _, to in ipairs(front.projections(k)) do
      local linear = k["linear_" .. to.name]
      front.jobs(to, { tokens = p.tokens, lanes = lanes })
      linear:compute_at(to.out, "job")
      front.dots(linear, k["acc_" .. to.name], k.x:dim(1):extent(), {
        lanes = lanes, columns = p.columns, rows = target.vector_registers >= 32 and p.rows or math.min(p.rows, 2),
      })
      front.heads(k, to, lanes)
    end
    front.together(k)
  end,
}
