-- Sampling without fusion: the keys of all rows, then the largest of their panels, then those of the rows, each its own pass over memory;
-- then a row at a time, without lanes.

local sampling = require "lib.sampling"

return schedule "sample" {
  target = "cpu",

  generator = sampling.generator,

  apply = function(k, p, target)
    k.chosen:compute_root():parallel("row", 8, "guard")
    for _, stage in ipairs(sampling.stages(k, p.digit)) do
      if stage.kind == "order" or stage.name == "panel_max" or stage.kind == "maxima" then
        stage.func:compute_root():parallel("row", 8, "guard")
        if stage.kind ~= "order" then stage.func:update(0):parallel("row", 8, "guard") end
      else
        stage.func:compute_at(k.chosen, "row")
      end
    end
    k.order:vectorize("c", target:lanes "f32", "guard")
  end,
}
