-- The SPLADE head for AVX2 and AVX-512, weights packed into panels. A task takes a panel of the vocabulary and a
-- sequence: blocks of positions are accumulated in registers one after the other, and only the
-- maximum of each word is kept. The panel stays in L2 while the positions go by.

local gemm = require "lib.gemm"

return schedule "splade" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, 64, default = 48 },
    block = tune { 4, 8, default = 8 }, -- positions of a register tile, with 32 registers
  },

  where = function(p, target)
    return gemm.tile_fits({ rows = p.block, panel = p.panel }, target)
  end,

  apply = function(k, p, target)
    local tiles = gemm.packed(target, k.x, k.x_f, { panel = p.panel, rows = p.block })
    if target.vector_registers < 32 then tiles.columns, tiles.rows = p.panel // 2, 4 end -- rows that divide a block
    k.y:dim(0):set_min(0)
    local panel, col = k.y:split("col", p.panel, "guard", "panel", "col_in_panel")
    k.y:reorder(col, "n", panel):parallel(panel):parallel "n"
    k.y:vectorize(col, tiles.lanes, "guard")

    k.top:compute_at(k.y, "n"):store_in "stack":bound_extent("col", p.panel):vectorize("col", tiles.lanes)
    local update = k.top:update(0)
    local part, column = update:split("col", tiles.columns, "guard", "part", "column")
    local positions, position = update:split("r_x", tiles.rows, "auto", "positions", "position")
    update:reorder(column, position, part, positions, "r_y")
      :vectorize(column, tiles.lanes):unroll(column):unroll(position)

    gemm.in_registers(k.acc, k.top, "part", {
      columns = tiles.columns, lanes = tiles.lanes, row = "i", group = tiles.group, dot = tiles.dot,
    })
    if tiles.stage_a then
      k.x_f:compute_at(k.top, "positions"):vectorize("k", tiles.lanes, "guard")
    end
  end,
}
