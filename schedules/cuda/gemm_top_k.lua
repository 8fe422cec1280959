-- The largest of each row of a product, on the tensor cores. The product goes to memory as keys in the order of
-- the ranking, with the best of each panel; then threads rank the panels of a row, and look into the best.

local draw = require "lib.draw"
local logits = require "lib.gpu_logits"

return schedule "gemm_top_k" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk", search = "panels",
    panel = tune { 64, 128, 192, 256, default = 128 }, -- columns of a tile
    chunk = tune { 16, 32, 64, default = 32 }, -- panels
    top_k = tune { 1, 3, 8, 16, 64, default = 8 }, -- what is wanted
  },

  params = logits.tensor_params,
  where = logits.tiles_fit,
  versions = logits.versions,

  apply = function(k, p)
    logits.stored_by_tensor_cores(k.kept, k.panel_best, k, p)
    logits.search_panels(k, p)
    draw.blocks(k, p.top_k)
  end,
}
