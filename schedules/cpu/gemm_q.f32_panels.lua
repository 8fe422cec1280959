-- Products of many rows as they are with weights of 4 to 8 bits, as they lie in a file: a task makes a panel of columns f32 in L2, and then
-- runs the register tiles of a GEMM on it, for all of its rows. Fewer than about 12 rows are quicker as dot products (gemm_q.lua).

local blocks = require "lib.blocks"
local gemm = require "lib.gemm"

return schedule "gemm_q" {
  target = "cpu",

  generator = { activations = "exact", sums = "columns" },

  params = {
    panel = tune { 16, 32, 48, 64, default = 32 },
    rows  = tune { 0, 4, 6, 8, 12, default = 0 },      -- of the register tile, with 32 registers; 0: what suits the panel
    task  = tune { 16, 32, 64, 128, 256, default = 128 }, -- register tiles a task
  },

  where = gemm.tile_fits,

  apply = function(k, p, target)
    local columns, rows = gemm.tile(target, p.panel, p.rows)
    blocks.f32_panels(k.y, { blocks.product(k, k.acc, "w", "a") }, {
      m = k.y:dim(1):extent(), panel = p.panel, columns = columns, rows = rows, task = p.task, lanes = target:lanes "f32",
      stage_a = k.a:type() ~= "f32" and k.a_f,
    })
  end,
}
