-- SwiGLU of many rows with weights of 4 to 8 bits, as they lie in a file: a task lays a panel of gate and the same one of up out in L2, as
-- f32 or for rows in 8 bits as integers, and then has both products of its rows in registers, one after the other. Fewer than about 12
-- rows are quicker as dot products (swiglu.blocks.lua).

local blocks = require "lib.blocks"
local rows = require "lib.rows"

return schedule "swiglu" {
  target = "cpu",

  generator = { weights = "blocks", sums = "columns" },

  params = {
    columns = tune { 16, 32, 48, 64, default = 16 }, -- of a panel
    rows    = tune { 0, 2, 4, 6, 8, 12, default = 0 }, -- of the register tile; 0: what suits the panel
    task    = tune { 4, 16, 64, 128, default = 64 }, -- register tiles a task
  },

  where = blocks.panel_fits,

  apply = function(k, p, target)
    blocks.quantised_rows(k, "x", { task = 8 })
    blocks.panels(rows.quantised_after(k, target), { blocks.product(k, k.gate, "w_gate", "x"), blocks.product(k, k.up, "w_up", "x") }, {
      m = k.y:dim(1):extent(),
      target = target,
      columns = p.columns,
      rows = p.rows,
      task = p.task,
      stage_a = k.x:type() ~= "f32" and k.x_f,
    })
  end,
}
