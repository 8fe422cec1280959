-- The three projections for a few rows, weights transposed as torch.nn.Linear stores them: dot products
-- in the SIMD lanes. Weights are read once and never packed; from some tens of rows on
-- qkv_projection.lua wins, as it adds up no lanes. Jobs are small, so that one parallel loop over all three, as there, gains nothing.

local gemm = require "lib.gemm"

return schedule "qkv_projection" {
  target = "cpu",

  generator = { weights = "nk" },

  params = {
    columns = tune { 2, 4, 8, default = 4 },  -- of a tile of dot products
    rows    = tune { 1, 2, 4, default = 4 },  -- of a tile, with 32 registers; otherwise at most 2
    task    = tune { 1, 4, 16, default = 4 }, -- tiles of columns a task
  },

  where = function(p, target)
    return p.columns * p.rows <= 16
  end,

  apply = function(k, p, target)
    for _, projection in ipairs { { k.q, k.acc_q }, { k.k, k.acc_k }, { k.v, k.acc_v } } do
      local out, acc = projection[1], projection[2]
      gemm.dot_products(out, { acc }, {
        m = out:dim(1):extent(),
        lanes = target:lanes "f32",
        columns = p.columns,
        rows = target.vector_registers >= 32 and p.rows or math.min(p.rows, 2),
        task = p.task,
      })
    end
  end,
}
