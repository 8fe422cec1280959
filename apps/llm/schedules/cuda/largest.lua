-- The largest of a row: some blocks have a part of it each, and one puts together what they found.

local elementwise = require "lib.gpu_elementwise"
local reduce = require "lib.gpu_reduce"

return schedule "largest" {
  target = "cuda",

  params = { tile = tune { 512, 1024, 2048, default = 1024 } }, -- of a block

  apply = function(k, p)
    reduce.tiles(k.best, "col", { tile = p.tile, threads = 256, vector = 1, unroll = 4 })
    reduce.rows(k.best, "tile", { rows = { "row" }, threads = 64, vector = 1, unroll = 1 })
    elementwise.elements(k.token, { rows = { "row" }, threads = 32 })
  end,
}
