-- GEMM for a long k and many rows, for AVX-512 (AVX2 gains nothing), weights packed into panels: k goes by in blocks, and four panels
-- meet the rows of a task before the next rows come. From k = 4096 on a panel of the weights fills L2, and without blocks both
-- operands come from beyond it. Zen 5, L2 of 1 MiB, 4096 cubed: 727 ms without blocks; with blocks of 1024, and 1, 4, 8, 16
-- panels, 643, 600, 606, 626; blocks of 512 with one panel 637, of 2048 671. At 2048 cubed 79.4 ms without, 76.6; at 1024 9.1
-- and 9.6, as sums are stored once more. Rows of a copied to where they are dense: 30 % slower; prefetched: no faster.

local gemm = require "lib.gemm"

return schedule "gemm" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, 64, default = 64 },
  },

  params = {
    depth  = tune { 512, 1024, 2048, default = 1024 }, -- of a block of k
    panels = tune { 1, 4, 8, default = 4 },            -- that meet the rows of a task one after the other
    task   = tune { 8, 16, 32, default = 16 },         -- register tiles a task
  },

  apply = function(k, p, target)
    k.y:dim(0):set_min(0)
    local tiles = gemm.packed(target, k.a, k.a_f, { panel = p.panel, task = p.task })
    tiles.m, tiles.depth, tiles.panels = k.y:dim(1):extent(), p.depth, p.panels
    gemm.deep_tiles(k.y, k.acc, tiles)
  end,
}
