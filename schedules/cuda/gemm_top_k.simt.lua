-- The largest of each row of a product, without tensor cores. The product goes to memory as keys in the order of
-- the ranking; a warp finds the best of a panel, and a thread searches the chunks of a row, of which it looks into
-- few panels.

local gpu = require "lib.gpu"
local logits = require "lib.gpu_logits"

return schedule "gemm_top_k" {
  target = "cuda",

  generator = {
    weights = "nk", panel = 128,
    chunk = tune { 8, 16, 32, default = 16 }, -- panels
    top_k = tune { 1, 3, 8, 16, 64, default = 8 }, -- what is wanted
  },

  params = {
    rows  = tune { 64, 128, default = 128 },
    depth = tune { 16, 32, default = 16 }, -- k of a step
  },

  apply = function(k, p)
    logits.stored(k.kept, k, p)
    gpu.reduce_rows(k.panel_best, "j", { rows = { "row", "p" }, threads = 32, vector = 4, unroll = 1 })
    local function a_thread_each(func, rows, lists)
      gpu.elements(func:compute_root(), { rows = rows, threads = 32 })
      for _, list in ipairs(lists) do list:compute_at(func, "thread"):store_in "register":bound_extent("row", 1) end
    end
    for _, list in ipairs { k.best_panels, k.chunk_top, k.top } do list:bound("i", 0, p.top_k) end
    for _, list in ipairs { k.best_panels, k.floor, k.chunk_top } do list:bound_extent("c", 1) end
    a_thread_each(k.listed, { "row", "c" }, { k.best_panels, k.floor, k.chunk_top })
    a_thread_each(k.top:in_(), { "row" }, { k.top })
    for _, out in ipairs { k.values, k.indices } do gpu.elements(out, { rows = { "i", "row" }, threads = 128 }) end
  end,
}
