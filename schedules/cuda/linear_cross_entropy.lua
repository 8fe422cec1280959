-- Cross-entropy from the hidden states on the tensor cores: a block sums a panel of the vocabulary for a tile of rows in
-- registers, and only its maximum, the sum of its exponentials and the logit of the label if it is there are stored
-- for each row. A second kernel puts the panels together.

local logits = require "lib.gpu_logits"

return schedule "linear_cross_entropy" {
  target = "cuda",

  generator = logits.tensor_generator(192),
  params = logits.tensor_params_of_sums,
  where = logits.tiles_fit,
  versions = logits.versions_of_sums,

  apply = function(k, p)
    logits.on_tensor_cores(k, p, { "panel_max", "panel_sum", "panel_label" })
    logits.losses_of_rows(k)
  end,
}
