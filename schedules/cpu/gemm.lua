-- GEMM with its epilogue for AVX2 and AVX-512, weights packed into panels.
-- A register tile of rows x panel accumulators runs over all of k; the panel of
-- weights that it reads stays in L2 while the rows of a go by. The epilogue works on
-- the accumulators in registers: y is written once and nothing else is.

return schedule "gemm" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, 64, default = 48 },
  },

  params = {
    rows = tune { 4, 6, 8, 12, default = 8 },     -- of the register tile, with 32 registers
    task = tune { 4, 8, 16, 32, default = 16 },    -- register tiles a task
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local wide = target.vector_registers >= 32
    local columns = wide and p.panel or p.panel // 2
    local m = k.y:dim(1):extent()

    -- The same loops over tiles of another height. Fewer rows than a tile has are done in
    -- smaller tiles; where a tile sticks out, it is moved up and some rows are done twice.
    local function tile(y, rows)
      local panel, column = y:split("col", p.panel, "guard", "panel", "column")
      local tiles, row = y:split("row", rows, rows > 1 and "shift_inwards" or "auto", "tile", "row_in_tile")
      local part, col = y:split(column, columns, "guard", "part", "col_in_part")
      local task, step = y:split(tiles, p.task, "guard", "task", "step")
      y:reorder(col, row, part, step, task, panel)
      y:fuse(task, panel, "job")
      y:parallel "job"
      y:vectorize(col, lanes, "guard")
      y:unroll(col)
    end

    local full = wide and p.rows or 4
    tile(k.y:specialize(m:at_least(full)), full)
    if full > 4 then tile(k.y:specialize(m:at_least(4)), 4) end
    tile(k.y, 1)

    k.y:dim(0):set_min(0)
    k.acc:compute_at(k.y, "part"):store_in("stack"):bound_extent("col", columns)
    k.acc:vectorize("col", lanes):unroll("col"):unroll("row")
    k.acc:update(0):reorder("col", "row", "k"):vectorize("col", lanes):unroll("col"):unroll("row")
  end,
}
