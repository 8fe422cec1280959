-- A chain of elementwise steps in one pass: everything between reading x and writing y stays in
-- registers. Out of cache it runs at the speed of a copy, whatever the activation.

return schedule "bias_activation" {
  target = "cpu",

  params = {
    task    = tune { 4, 16, 64, default = 16 }, -- rows a task
    vectors = tune { 1, 2, 4, default = 2 },    -- in flight, for the latency of an exponential
  },

  apply = function(k, p, target)
    k.y:parallel("row", p.task, "guard"):vectorize("col", target:lanes "f32", "guard")
    if p.vectors > 1 then k.y:unroll("col", p.vectors, "guard") end
  end,
}
