-- Pieces before the first of a row, and the steps before the first, have the columns before it, or no memory.
return schedule "cross_entropy" {
  target = "cuda",
  generator = { parts = 4, piece = 2 },
  apply = function(k)
    k.loss:gpu_tile({ "row" }, { 8 }, "guard")
    for _, f in ipairs { k.row_max, k.row_sum } do
      f:compute_root():gpu_tile({ "row" }, { 8 }, "guard")
      f:update(0):gpu_tile({ "row" }, { 8 }, "guard")
    end
    k.running:compute_root():gpu_tile({ "part", "row" }, { 4, 8 }, "guard")
    k.running:update(0):gpu_tile({ "part", "row" }, { 4, 8 }, "guard")
    for _, f in ipairs { k.piece_max, k.piece_sum } do
      f:compute_root():align_bounds("part", 8, 3):align_bounds("step", 8, 3)
      f:reorder("part", "row", "step") f:gpu_tile({ "part", "row" }, { 8, 1 }, "guard") f:gpu_blocks "step"
      f:update(0):reorder("part", "row", "step"):gpu_tile({ "part", "row" }, { 8, 1 }, "guard") f:update(0):gpu_blocks "step"
    end
  end,
}
