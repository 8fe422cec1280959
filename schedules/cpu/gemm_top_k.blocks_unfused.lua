-- The largest of each row without fusion, of weights of 4 to 8 bits: the product goes to memory, then a pass searches it.

local blocks = require "lib.blocks"
local draw = require "lib.draw"

return schedule "gemm_top_k" {
  target = "cpu",

  generator = {
    weights = "blocks", panel = 64, chunk = 64, search = "chunks",
    top_k = tune { 1, 3, 8, 16, 64, default = 8 }, -- what is wanted
  },

  params = { columns = 1, rows = 4, ahead = 4096 }, -- of the dot products

  apply = function(k, p, target)
    local multiply = blocks.logits_by_dots(k, p, k.values:dim(1):extent())
    k.acc:bound_extent("p", 1)
    multiply(k.kept:compute_root():bound_extent("j", p.panel):parallel "p", { col = "j", serial = true })
    k.listed:compute_root():reorder("i", "c", "row"):parallel "row"
    k.panel_best:compute_at(k.listed, "c"):update(0):atomic():vectorize("j", p.panel)
    for _, list in ipairs { k.best_panels, k.floor, k.chunk_top } do list:compute_at(k.listed, "c") end
    k.top:compute_root():update(0):parallel("row", 4, "guard")
    draw.rows(k)
  end,
}
