-- Parts before the first of a group have the channels before its own, or no memory.
-- params: type=float16
return schedule "group_norm" {
  target = "cuda",
  generator = { parts = 4 },
  apply = function(k)
    k.y:gpu_tile({ "w", "h" }, { 8, 8 }, "guard") k.y:gpu_blocks "c"
    for _, f in ipairs { k.sum, k.sum_sq, k.mean } do
      f:compute_root():gpu_tile({ "g" }, { 8 }, "guard") f:gpu_blocks "n"
    end
    for _, f in ipairs { k.sum, k.sum_sq } do f:update(0):gpu_tile({ "g" }, { 8 }, "guard") f:update(0):gpu_blocks "n" end
    for _, f in ipairs { k.part_sum, k.part_mean, k.part_sq, k.of_parts } do
      f:compute_root():align_bounds("part", 8, 3)
      f:gpu_tile({ "part", "g" }, { 8, 1 }, "guard") f:gpu_blocks "n"
    end
    for _, f in ipairs { k.part_sum, k.part_sq } do f:update(0):gpu_tile({ "part", "g" }, { 8, 1 }, "guard") f:update(0):gpu_blocks "n" end
  end,
}
