-- stencil_chain as Halide's app has it on processors: eleven stages in one loop over tiles, whose windows move along the rows.

return schedule "stencil_chain" {
  target = "cpu",

  apply = function(k, _, target)
    local lanes, last, group = target:lanes "i16", 0, 11
    while k:has("stage_" .. (last + 1)) do
      last = last + 1
    end
    for j = last, 0, -group do
      local out = j == last and k.smooth or k["stage_" .. j]
      local wider = 4 * (last - j)
      out:compute_root()
      out:tile({ "x", "y" }, { (1536 + wider) // 4, (2560 + wider) // 4 }, "auto", { "x_tile", "y_tile" }, { "x", "y" })
      out:fuse("x_tile", "y_tile", "tile"):parallel()
      out:vectorize("x", lanes)
      for i = math.max(0, j - group + 1), j - 1 do
        k["stage_" .. i]:store_at(out, "tile"):compute_at(out, "y"):vectorize("x", lanes)
      end
    end
  end,
}
