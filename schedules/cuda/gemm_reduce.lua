-- Each row of a product reduced to a number, on the tensor cores: a block sums a panel of columns for a tile of rows in
-- registers, and only what the panel comes to is stored for each row. A second kernel reduces that.

local logits = require "lib.gpu_logits"

return schedule "gemm_reduce" {
  target = "cuda",

  generator = logits.tensor_generator(256),
  params = logits.tensor_params_of_sums,
  where = logits.tiles_fit,
  versions = logits.versions_of_sums,

  apply = function(k, p)
    logits.on_tensor_cores(k, p, { "panel_max", "panel_sum" })
    logits.reduced_rows(k)
  end,
}
