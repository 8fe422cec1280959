-- tone_laplacian as Halide's local_laplacian has it on processors: pyramids are stored whole, the result's are in strips of its rows.

return schedule "tone_laplacian" {
  target = "cpu",

  apply = function(k)
    local x, y, c, tone = "var_0", "var_1", "var_2", "var_3" -- Vars without names
    local levels = 1
    while k:has("tone_" .. levels) do
      levels = levels + 1
    end
    k.detail:compute_root()
    k.toned:reorder(c, x, y):split(y, 64, "auto", "strip", y)
    k.toned:parallel "strip":vectorize(x, 8)
    k.gray:compute_root():never_partition(y):parallel(y, 32):vectorize(x, 8)
    for l = 1, math.min(4, levels - 1) do
      k["plain_" .. l]:compute_root():parallel(y, 32):vectorize(x, 8)
      local deep = k["tone_" .. l]:compute_root():reorder_storage(x, tone, y):reorder(tone, y)
      deep:split(y, 8, "auto", "strip", y)
      deep:parallel "strip":vectorize(x, 8)
      k["out_" .. l]:store_at(k.toned, "strip"):compute_at(k.toned, y):fold_storage(y, 4):vectorize(x, 8, "round_up")
    end
    k.tone_0:clone_in(k.tone_1_across):store_at(k.tone_1, "strip"):compute_at(k.tone_1, y):vectorize(x, 8)
    k.out_0:compute_at(k.toned, y):hoist_storage(k.toned, "strip"):vectorize(x, 8, "round_up")
    for l = 5, levels - 1 do
      k["plain_" .. l]:compute_root()
      k["tone_" .. l]:compute_root():parallel(tone)
      k["out_" .. l]:compute_root()
    end
  end,
}
