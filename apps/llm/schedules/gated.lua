-- An elementwise pass for any host SIMD width. A row, or a part of it, is a task, so that a single row is shared among threads too.

return schedule "gated" {
  target = "cpu",

  params = {
    strip   = tune { 256, 512, 1024, default = 512 }, -- columns a task
    vectors = tune { 1, 2, 4, default = 2 },          -- in flight, for the latency of an exponential
  },

  apply = function(k, p, target)
    local strip, col = k.y:split("col", p.strip, "guard")
    k.y:reorder(col, strip, "row"):fuse(strip, "row", "task"):parallel()
    k.y:vectorize(col, target:lanes "f32", "guard")
    if p.vectors > 1 then k.y:unroll(col, p.vectors, "guard") end
  end,
}
