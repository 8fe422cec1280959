-- Cross-entropy for any host SIMD width: two passes over a row, maximum and sum of exponentials. A row of
-- a vocabulary (128256 columns of bf16 are 250 KB) stays in L2 between them, so memory is read once.

local reduce = require "lib.reduce"

return schedule "cross_entropy" {
  target = "cpu",

  params = {
    rows  = tune { 1, 4, 8, default = 1 },  -- rows a task
    accum = tune { 2, 4, 8, default = 4 },  -- vectors a step
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"

    local task, row = k.loss:split("row", p.rows, "guard", "task", "row_in_task")
    task:parallel()
    k.log_sum:compute_at(row)
    for _, name in ipairs { "row_max", "row_sum", "sum" } do
      if k:has(name) then
        reduce.in_lanes(k[name], "col", { at = row, lanes = lanes, accum = p.accum })
      end
    end
  end,
}
