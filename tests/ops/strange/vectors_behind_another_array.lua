-- Two arrays in one allocation of shared memory, the second of which begins at a place that vectors may not.
return schedule "softmax" {
  target = "cuda",
  apply = function(k)
    k.y:split("row", 8, "guard", "tile", "lane")
    k.y:vectorize("lane")
    k.y:gpu_tile({ "tile" }, { 8 }, "guard")
    for _, sum in ipairs { k.row_max, k.row_sum } do
      sum:compute_at(k.y, "tile_block"):gpu_threads "row"
      sum:update(0):gpu_threads "row"
    end
  end,
}
