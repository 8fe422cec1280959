-- recursive_blur as Halide's iir_blur has it on processors: a strip of columns runs down and up where it is turned, in tiles.

return schedule "recursive_blur" {
  target = "cpu",

  apply = function(k, _, target)
    local lanes = target:lanes "f32"
    local function turned(turn, scan)
      turn:tile({ "x", "y" }, { lanes, 4 * lanes }, "auto", { "x_tile", "y_tile" }, { "x", "y" })
      turn:split("y", lanes, "auto", "y", "y_in")
      turn:vectorize "x"
      turn:reorder("x", "y_in", "y", "x_tile", "y_tile"):vectorize "y_in":fuse("y_tile", "c", "task"):parallel()
      scan:compute_at(turn, "task")
      scan:update(0):unscheduled()
      scan:update(1):reorder("x", "r"):vectorize "x"
      scan:update(2):reorder("x", "r"):vectorize "x"
    end
    k.down_turned:compute_root()
    turned(k.down_turned, k.down)
    turned(k.smooth, k.across)
  end,
}
