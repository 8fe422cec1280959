-- GEMM with its epilogue for a few rows, weights transposed: n x k, as torch.nn.Linear stores them.
-- Every element of y is a dot product along k in the SIMD lanes; a tile of them shares the vectors
-- that it loads. Weights are read once, in order, and never packed. From some tens of rows
-- on the packed schedules win, as they add up no lanes.

return schedule "gemm" {
  target = "cpu",

  generator = { weights = "nk" },

  params = {
    columns = tune { 2, 4, 8, default = 4 },   -- of a tile of dot products
    rows    = tune { 1, 2, 4, default = 4 },   -- of a tile, with 32 registers; otherwise at most 2
    task    = tune { 1, 4, 16, default = 4 },  -- tiles of columns a task
  },

  where = function(p, target)
    return p.columns * p.rows <= 16
  end,

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local most = target.vector_registers >= 32 and p.rows or math.min(p.rows, 2)

    local function tile(stage, rows)
      local tiles, column = stage:split("col", p.columns, "guard", "tile", "column")
      local strip, row = stage:split("row", rows, rows > 1 and "shift_inwards" or "auto", "strip", "row_in_strip")
      local task, step = stage:split(tiles, p.task, "guard", "task", "step")
      stage:reorder(column, row, strip, step, task)
      task:parallel()
      stage:vectorize(column):unroll(row)
    end

    if most > 1 then tile(k.y:specialize(k.y:dim(1):extent():at_least(most)), most) end
    tile(k.y, 1)

    local sum = k.acc:update(0)
    local _, lane = sum:split("k", lanes, "guard", "step", "part")
    local partial = sum:rfactor(lane, { "lane" })
    for _, dots in ipairs { k.acc, partial } do
      dots:compute_at(k.y, "strip"):store_in "stack":bound_extent("col", p.columns)
      for _, stage in ipairs { dots, dots:update(0) } do
        stage:unroll "col":unroll "row"
      end
    end
    sum:atomic():vectorize(lane)
    partial:reorder_storage("lane", "col", "row"):vectorize "lane"
    partial:update(0):reorder("lane", "col", "row", "step"):vectorize "lane"
  end,
}
