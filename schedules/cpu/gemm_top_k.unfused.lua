-- The largest of each row without fusion: the product goes to memory, then a pass searches it.

local draw = require "lib.draw"
local gemm = require "lib.gemm"

return schedule "gemm_top_k" {
  target = "cpu",

  generator = {
    weights = "packed", panel = 48, chunk = 64, search = "chunks",
    top_k = tune { 1, 3, 8, 16, 64, default = 8 }, -- what is wanted
  },

  apply = function(k, p, target)
    local tiles = gemm.packed(target, k.x, k.x_f, { m = k.values:dim(1):extent(), panel = p.panel, whole = true })
    tiles.over = "j"
    gemm.reduced_tiles(k.kept:compute_root(), k.acc, tiles)
    k.listed:compute_root():reorder("i", "c", "row"):parallel "row"
    k.panel_best:compute_at(k.listed, "c"):update(0):atomic():vectorize("j", p.panel)
    for _, list in ipairs { k.best_panels, k.floor, k.chunk_top } do list:compute_at(k.listed, "c") end
    k.top:compute_root():update(0):parallel("row", 4, "guard")
    draw.rows(k)
  end,
}
