-- The largest of each row without fusion: the product goes to memory, then a pass searches it.

local gemm = require "lib.gemm"

return schedule "gemm_top_k" {
  target = "cpu",

  generator = {
    weights = "packed", panel = 48, chunk = 32,
    top_k = tune { 1, 3, 8, 16, 64, default = 8 }, -- what is wanted
  },

  apply = function(k, p, target)
    local tiles = gemm.packed(target, k.x, k.x_f, { m = k.values:dim(1):extent(), panel = p.panel, whole = true })
    gemm.reduced_tiles(k.kept:compute_root(), k.acc, tiles)
    k.kept:vectorize("j", tiles.lanes, "guard")
    k.listed:compute_root():reorder("i", "c", "row"):parallel "row"
    k.panel_best:compute_at(k.listed, "c"):update(0):atomic():vectorize("j", p.panel)
    k.chunk_top:compute_at(k.listed, "c")
    k.top:compute_root():update(0):parallel("row", 4, "guard")
  end,
}
