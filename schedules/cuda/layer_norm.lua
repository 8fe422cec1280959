-- LayerNorm with a block a row, read from memory once and twice more from L1.

local gpu = require "lib.gpu"

return schedule "layer_norm" {
  target = "cuda",

  generator = {
    statistics = tune { "two_pass", "one_pass", default = "two_pass" },
  },

  params = {
    threads = tune { 32, 64, 128, 256, 512, 1024, default = 128 },
    vector  = tune { 2, 4, 8, default = 8 },
    unroll  = tune { 1, 2, 4, 8, default = 4 }, -- of which so many are in flight
  },

  apply = function(k, p)
    local o = { at = { k.y, "row" }, threads = p.threads, vector = p.vector, unroll = p.unroll }
    gpu.row_blocks(k.y, o)
    k.y:stream()
    if k:has "residual_out" then
      gpu.row_blocks(k.residual_out, o)
      k.residual_out:compute_with(k.y, "row")
      k.residual_out:stream()
    end
    gpu.reduce(k.sum, "col", o)
    gpu.reduce(k.sum_sq, "col", o)
    gpu.each_thread(k.mean, o)
    gpu.each_thread(k.inv_std, o)
  end,
}
