-- Sampling for any host SIMD width, a row a task. Logits become keys in the order of a ranking, which stay in the caches for all that
-- follows: passes over the largest of each panel of tokens find the few panels that count, and passes over these the cuts.

local sampling = require "lib.sampling"

return schedule "sample" {
  target = "cpu",

  generator = sampling.generator,

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    k.chosen:compute_root():parallel "row"
    for _, stage in ipairs(sampling.stages(k, p.digit)) do
      local func = stage.func
      func:compute_at(k.chosen, "row")
      if stage.kind == "order" then
        func:vectorize("c", lanes * 4, "guard")
      elseif stage.kind == "live" then
        func:vectorize("p", lanes, "guard")
      elseif stage.kind == "panel" then
        func:update(0):atomic():vectorize("j", p.panel)
      elseif stage.kind == "maxima" or stage.kind == "panels" then
        if stage.digits then func:update(0):reorder("p", "d") end
        func:update(0):atomic():vectorize("p", lanes * 4, "guard")
      elseif stage.kind == "weights" then
        func:update(0):vectorize("j", lanes, "auto")
      elseif stage.kind == "elements" then
        if stage.digits then func:update(0):reorder("r_x", "d", "r_y") end
        func:update(0):atomic():vectorize("r_x", p.panel)
      elseif stage.kind == "all" then
        func:update(0):atomic():vectorize("c", lanes * 4, "guard")
      end
    end
  end,
}
