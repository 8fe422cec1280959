-- The largest of each row of a product for AVX2 and AVX-512, weights packed into panels. A task takes a chunk
-- of panels and a few tiles of rows: the product of the two stays in L2 for the search, which takes
-- the columns that are among the best so far into a sorted list. The lists of the chunks are merged.
-- Few rows run at the speed at which the weights come from memory.

local gemm = require "lib.gemm"

return schedule "gemm_top_k" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, 64, default = 48 },
    chunk = tune { 16, 32, 64, default = 32 }, -- panels
    top_k = tune { 1, 3, 8, 16, 64, default = 8 }, -- what is wanted
  },

  params = {
    rows  = tune { 4, 6, 8, 12, default = 8 },  -- of the register tile, with 32 registers; otherwise 2
    strip = tune { 8, 16, 32, default = 16 },   -- rows of a task
  },

  where = function(p, target)
    local lanes = target:lanes "f32"
    return target.vector_registers < 32 or p.rows * p.panel // lanes < 30
  end,

  apply = function(k, p, target)
    local tiles = gemm.packed(target, k.x, k.x_f, {
      m = k.values:dim(1):extent(), panel = p.panel, rows = p.rows, whole = true, serial = true,
    })
    local strip, row = k.listed:compute_root():split("row", p.strip, "guard", "strip", "row_in_strip")
    k.listed:reorder("i", row, strip, "c"):fuse(strip, "c", "job"):parallel()

    k.kept:compute_at(k.listed, "job")
    gemm.reduced_tiles(k.kept, k.acc, tiles)
    k.kept:vectorize("j", tiles.lanes, "guard")
    k.panel_best:compute_at(row):update(0):atomic():vectorize("j", p.panel)
    k.chunk_top:compute_at(row)
    k.top:compute_root():update(0):parallel("row", 4, "guard")
  end,
}
