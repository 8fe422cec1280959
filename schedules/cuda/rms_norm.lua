-- RMSNorm with a block a row. The row is read twice, the second time from L1, so that rows of any length will do and
-- many blocks are on a multiprocessor to hide the latency of memory.

local gpu = require "lib.gpu"

return schedule "rms_norm" {
  target = "cuda",

  params = {
    threads = tune { 32, 64, 128, 256, 512, 1024, default = 128 },
    vector  = tune { 2, 4, 8, default = 8 }, -- columns a thread handles at once
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
    if k:has "row_scale" then
      k.row_scale:gpu_blocks("row"):compute_with(k.y, "row")
      gpu.each_thread(k.inv_scale, o)
      gpu.reduce(k.peak, "col", o)
    end
    gpu.reduce(k.sum_sq, "col", o)
    gpu.each_thread(k.inv_rms, o)
  end,
}
