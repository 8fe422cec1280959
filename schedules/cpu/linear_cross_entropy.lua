-- Cross-entropy from the hidden states for AVX2 and AVX-512, weights packed into panels. A panel of the
-- vocabulary for a tile of rows is accumulated in registers, and only its maximum, the sum of its
-- exponentials, and the logit of the label if it is there are kept: 12 bytes in place of 192. Few
-- rows run at the speed at which the weights come from memory.

local gemm = require "lib.gemm"
local logits = require "lib.logits"

return schedule "linear_cross_entropy" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, 64, default = 48 },
  },

  params = {
    rows = tune { 4, 6, 8, 12, default = 8 },   -- of the register tile, with 32 registers; otherwise 2
    task = tune { 4, 8, 16, 32, default = 16 }, -- register tiles a task
  },

  where = function(p, target)
    local lanes = target:lanes "f32"
    return target.vector_registers < 32 or p.rows * p.panel // lanes < 30
  end,

  apply = function(k, p, target)
    local tiles = gemm.packed(target, k.x, k.x_f, {
      m = k.loss:dim(0):extent(), panel = p.panel, rows = p.rows, task = p.task, whole = true,
    })
    k.part:compute_root()
    gemm.reduced_tiles(k.part, k.acc, tiles)
    logits.reduce_panels(k, { "panel_max", "panel_sum" }, "row_in_tile", p.panel)
    logits.reduce_rows(k, { "row_max", "row_sum", "label_logit" }, tiles.lanes)
    k.row_lse:compute_root()
  end,
}
