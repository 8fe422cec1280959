-- The largest of each row of a product for AVX2 and AVX-512, weights packed into panels. A task takes a chunk
-- of panels and some tiles of rows: the product of the two stays in L2 for the search, which takes the
-- columns of the best panels into a sorted list. The lists of the chunks are merged. Few
-- rows run at the speed at which the weights come from memory.

local draw = require "lib.draw"
local gemm = require "lib.gemm"

return schedule "gemm_top_k" {
  target = "cpu",

  generator = {
    weights = "packed", search = "chunks",
    panel = tune { 32, 48, 64, default = 48 },
    chunk = tune { 32, 64, 128, default = 64 }, -- panels
    top_k = tune { 1, 3, 8, 16, 64, default = 8 }, -- what is wanted
  },

  params = {
    rows  = tune { 0, 4, 6, 8, 12, default = 0 }, -- of the register tile, with 32 registers; 0: what suits the panel
    strip = tune { 16, 32, 64, default = 32 },  -- rows of a task
  },

  where = gemm.tile_fits,

  apply = function(k, p, target)
    local tiles = gemm.packed(target, k.x, k.x_f, {
      m = k.values:dim(1):extent(), panel = p.panel, rows = p.rows, whole = true, serial = true,
    })
    local strip, row = k.listed:compute_root():split("row", p.strip, "guard", "strip", "row_in_strip")
    k.listed:reorder("i", row, strip, "c"):fuse(strip, "c", "job"):parallel()

    tiles.over = "j"
    k.kept:compute_at(k.listed, "job")
    gemm.reduced_tiles(k.kept, k.acc, tiles)
    k.panel_best:compute_at(row):update(0):atomic():vectorize("j", p.panel)
    for _, list in ipairs { k.best_panels, k.floor, k.chunk_top } do list:compute_at(row) end
    k.top:compute_root():update(0):parallel("row", 4, "guard")
    draw.rows(k)
  end,
}
