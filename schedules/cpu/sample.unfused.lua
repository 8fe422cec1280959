-- Sampling without fusion: keys, maxima, each pass of each search, and what is drawn, each its own pass over all rows, SIMD and
-- parallel as a library call would be.

local sampling = require "lib.sampling"

return schedule "sample" {
  target = "cpu",

  generator = { panel = 64, digit = 4, listed = true },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    k.chosen:compute_root():parallel("row", 8, "guard")
    for _, stage in ipairs(sampling.stages(k, p.digit)) do
      local func = stage.func:compute_root():parallel("row", 8, "guard")
      if stage.kind == "order" then
        func:vectorize("c", lanes, "guard")
      elseif stage.kind ~= "live" and stage.kind ~= "row" then
        func:update(0):parallel("row", 8, "guard")
      end
    end
  end,
}
