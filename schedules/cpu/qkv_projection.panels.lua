-- The three projections of many rows with weights of 4 to 8 bits, as they lie in a file: a task lays a panel of columns out in L2, as f32
-- or for rows in 8 bits as integers, and then has the product of its rows in registers. Fewer than about 12 rows are quicker as dot
-- products (qkv_projection.blocks.lua).

local blocks = require "lib.blocks"

return schedule "qkv_projection" {
  target = "cpu",

  generator = { weights = "blocks", sums = "columns" },

  params = {
    columns = tune { 16, 32, 48, 64, default = 32 }, -- of a panel
    rows    = tune { 0, 2, 4, 6, 8, 12, default = 0 }, -- of the register tile; 0: what suits the panel
    task    = tune { 4, 16, 64, 128, default = 64 }, -- register tiles a task
  },

  where = blocks.panel_fits,

  apply = function(k, p, target)
    blocks.quantised_rows(k, "x", { task = 8 })
    for name, acc in pairs { q = k.acc_q, k = k.acc_k, v = k.acc_v } do
      local out = k[name]
      blocks.panels(out, { blocks.product(k, acc, "w_" .. name, "x") }, {
        m = out:dim(1):extent(),
        target = target,
        columns = p.columns,
        rows = p.rows,
        task = p.task,
        stage_a = k.x:type() ~= "f32" and k.x_f,
        shared = true,
      })
    end
  end,
}
