-- The largest of each row of a product with weights of 4 to 8 bits, as they lie in a file, for many rows: a panel of columns is laid out in
-- L2, as f32 or for rows in 8 bits as integers, for the rows of a task. Their product stays in L2 for the search, as in gemm_top_k.lua.

local blocks = require "lib.blocks"
local draw = require "lib.draw"

return schedule "gemm_top_k" {
  target = "cpu",

  generator = {
    weights = "blocks", search = "chunks",
    sums = "columns",
    panel = tune { 16, 32, default = 32 },
    chunk = tune { 32, 64, 128, default = 32 }, -- panels
    top_k = tune { 1, 3, 8, 16, 64, default = 8 }, -- what is wanted
  },

  params = {
    rows  = tune { 0, 2, 4, 6, 8, default = 0 }, -- of the register tile; 0: what suits the panel
    strip = tune { 16, 32, 64, default = 64 }, -- rows of a task
  },

  apply = function(k, p, target)
    local multiply = blocks.logits_by_panels(k, p, k.values:dim(1):extent(), target)
    local strip, row = k.listed:compute_root():split("row", p.strip, "guard", "strip", "row_in_strip")
    k.listed:reorder("i", row, strip, "c"):fuse(strip, "c", "job"):parallel()

    k.acc:bound_extent("p", 1)
    multiply(k.kept:compute_at(k.listed, "job"):bound_extent("j", p.panel), { col = "j", serial = true })
    k.panel_best:compute_at(row):update(0):atomic():vectorize("j", p.panel)
    for _, list in ipairs { k.best_panels, k.floor, k.chunk_top } do list:compute_at(row) end
    k.top:compute_root():update(0):parallel("row", 4, "guard")
    draw.rows(k)
  end,
}
