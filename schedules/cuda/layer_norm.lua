-- LayerNorm with a block a row, read from memory once and twice more from L1.

local gpu = require "lib.gpu"

return schedule "layer_norm" {
  target = "cuda",

  generator = {
    statistics = tune { "two_pass", "one_pass", default = "two_pass" },
  },

  params = gpu.row_params,
  where = gpu.row_params_fit,

  versions = function(k, p) return gpu.row_versions(k.x, p, k:has "residual_out") end,

  apply = function(k, p)
    local o = gpu.row_options(k.y, p)
    -- 40 registers, for 6 blocks of 256 threads; with 44 there are 5.
    if p.resident == 0 and p.held == "registers" and p.unroll <= 2 and not k:has "residual_out" then
      o.resident = math.min(1536 // p.threads, 16)
    end
    gpu.row_blocks(k.y, o)
    k.y:stream()
    if not k:has "residual_out" then
      gpu.hold_rows(k.x, o)
    else
      if p.held == "shared" then gpu.rows_in_shared(k.added, "col", "row", o) end
      gpu.row_blocks(k.residual_out, o)
      k.residual_out:compute_with(k.y, o.at[2])
      k.residual_out:stream()
    end
    gpu.reduce(k.sum, "col", o)
    gpu.reduce(k.sum_sq, "col", o)
    gpu.each_thread(k.mean, o)
    gpu.each_thread(k.inv_std, o)
  end,
}
