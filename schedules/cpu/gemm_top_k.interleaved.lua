-- The largest of each row of a product with weights in interleaved blocks (halyard_interleave_blocks), of any number of rows: SIMD lanes
-- are columns. A task takes a chunk of panels: the product stays in L2 for the search, as in gemm_top_k.lua. Rows in 8 bits are rounded
-- once.

local blocks = require "lib.blocks"
local draw = require "lib.draw"

return schedule "gemm_top_k" {
  target = "cpu",

  generator = {
    weights = "blocks", search = "chunks",
    sums = "columns", interleaved = tune { 8, 16, 32, default = 16 },
    panel = tune { 32, 64, default = 32 },
    chunk = tune { 32, 64, 128, default = 32 }, -- panels
    top_k = tune { 1, 3, 8, 16, 64, default = 8 }, -- what is wanted
  },

  params = {
    rows  = tune { 0, 2, 4, 6, 8, default = 4 }, -- of a register tile; 0: what registers hold
    strip = tune { 16, 32, 64, default = 32 }, -- rows of a task
  },

  apply = function(k, p, target)
    local multiply = blocks.logits_interleaved(k, p, k.values:dim(1):extent(), target)
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
