-- The largest of each row of a product, without tensor cores. The product goes to memory as keys in the order of
-- the ranking; a warp finds the best of a panel; then threads rank the panels of a row, and look into the best.

local draw = require "lib.draw"
local logits = require "lib.gpu_logits"
local reduce = require "lib.gpu_reduce"

return schedule "gemm_top_k" {
  target = "cuda",

  generator = {
    weights = "nk", panel = 128, search = "panels",
    chunk = tune { 16, 32, 64, default = 32 }, -- panels
    top_k = tune { 1, 3, 8, 16, 64, default = 8 }, -- what is wanted
  },

  params = {
    rows  = tune { 64, 128, default = 128 },
    depth = tune { 16, 32, default = 16 }, -- k of a step
  },

  apply = function(k, p)
    logits.stored(k.kept, k, p)
    reduce.rows(k.panel_best, "j", { rows = { "row", "p" }, threads = 32, vector = 4, unroll = 1 })
    logits.search_panels(k, p)
    draw.blocks(k, p.top_k)
  end,
}
