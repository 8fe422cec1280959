-- Loops that cannot be one, in the first of two versions: the line is that of the word.
-- refused: loops_of_a_version.lua:12: error: compute_with: row_max and row_sum need each other's values
return schedule "softmax" {
  target = "cuda",
  params = { v = tune { 1, 2, default = 1 } },
  versions = function(k) return { { when = k.x:dim(0):extent():eq(16), v = 1 }, { v = 2 } } end,
  apply = function(k, p)
    k.y:gpu_tile({ "col" }, { 8 }, "guard")
    if p.v == 1 then
      k.row_max:compute_root():gpu_tile({ "row" }, { 8 }, "guard")
      k.row_sum:compute_root():gpu_tile({ "row" }, { 8 }, "guard")
      k.row_sum:compute_with(k.row_max, "row_block")
    end
  end,
}
