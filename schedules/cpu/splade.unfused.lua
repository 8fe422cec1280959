-- The SPLADE head without fusion: the logits of all positions go to memory, then a pass takes their maximum.

local gemm = require "lib.gemm"

return schedule "splade" {
  target = "cpu",

  generator = { weights = "packed", panel = 48, block = 8 },

  apply = function(k, p, target)
    local tiles = gemm.packed(target, k.x, k.x_f, { panel = p.panel })
    if target.vector_registers < 32 then tiles.columns, tiles.rows = p.panel // 2, 4 end -- rows that divide a block
    k.y:dim(0):set_min(0)

    local logits = k.acc:in_():compute_root()
    local panel, column = logits:split("col", p.panel, "guard", "panel", "column")
    local part, col = logits:split(column, tiles.columns, "guard", "part", "col_in_part")
    local strip, row = logits:split("i", tiles.rows, "guard", "strip", "row")
    logits:reorder(col, row, part, strip, "s", panel, "n"):fuse(panel, "n", "job"):parallel()
    logits:vectorize(col, tiles.lanes, "guard"):unroll(col)
    gemm.in_registers(k.acc, logits, "part", {
      columns = tiles.columns, lanes = tiles.lanes, row = "i", group = tiles.group, dot = tiles.dot,
    })

    local task, word = k.y:split("col", 8 * tiles.lanes, "guard", "task", "word")
    k.y:fuse(task, "n", "job"):parallel()
    k.y:vectorize(word, tiles.lanes, "guard")
    k.top:compute_at(k.y, "job"):vectorize("col", tiles.lanes, "guard")
    k.top:update(0):reorder("col", "r_x", "r_y"):vectorize("col", tiles.lanes, "guard")
  end,
}
