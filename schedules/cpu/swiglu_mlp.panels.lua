-- The feed-forward block of many rows with weights of 4 to 8 bits, as they lie in a file: a task lays panels of columns out in L2, as f32
-- or for rows in 8 bits as integers, and then has the products of its rows in registers. h is made there from both products and written
-- once. Fewer than about 12 rows are quicker as dot products (swiglu_mlp.blocks.lua).

local blocks = require "lib.blocks"
local norm = require "lib.norm"

return schedule "swiglu_mlp" {
  target = "cpu",

  generator = { weights = "blocks", sums = "columns" },

  params = {
    columns = tune { 16, 32, 48, 64, default = 16 }, -- of a panel
    rows    = tune { 0, 2, 4, 6, 8, 12, default = 0 }, -- of the register tile; 0: what suits the panel
    task    = tune { 4, 16, 64, 128, default = 64 }, -- register tiles a task
  },

  where = blocks.panel_fits,

  apply = function(k, p, target)
    local function tiles(stage_a)
      return {
        m = k.y:dim(1):extent(), target = target, columns = p.columns, rows = p.rows, task = p.task, stage_a = stage_a,
      }
    end
    local copied = k.x:type() ~= "f32" or k:has "weight"
    norm.statistics(k, target:lanes "f32")
    blocks.quantised_rows(k, "x", { task = 8 })
    local into_h = { blocks.product(k, k.gate, "w_gate", "x"), blocks.product(k, k.up, "w_up", "x") }
    blocks.panels(k.h:compute_root(), into_h, tiles(copied and k.weighted))
    blocks.quantised_rows(k, "h", { task = 8 })
    blocks.panels(k.y, { blocks.product(k, k.acc, "w_down", "h") }, tiles(k.h:type() ~= "f32" and k.h_f))
  end,
}
