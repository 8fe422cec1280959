-- BatchNorm for any host SIMD width: one pass over memory, with the scale and the shift of the channels
-- computed first. A task is some planes, or a row of pixels where channels are innermost.

return schedule "batch_norm" {
  target = "cpu",

  params = {
    unroll   = tune { 1, 2, 4, default = 2 },    -- vectors a step
    channels = tune { 1, 4, 16, default = 4 },   -- planes a task, as tasks of one plane cost more
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"

    k.channel_scale:compute_root():vectorize("c", lanes, "guard")
    k.channel_shift:compute_root():vectorize("c", lanes, "guard")

    if k:has "y" then
      local function rows(stage, width)
        local task, plane = stage:split("c", p.channels, "guard", "channels", "plane")
        stage:reorder("w", "h", plane, task, "n"):fuse(task, "n", "task"):parallel()
        stage:vectorize("w", width, "guard")
      end
      -- Rows of 56, 28 or 24 pixels are whole half vectors, which is quicker than a masked rest in every row.
      local whole = k.y:dim(0):extent():multiple_of(lanes)
      rows(k.y:specialize(k.y:dim(0):extent():multiple_of(lanes // 2):and_(whole:not_())), lanes // 2)
      rows(k.y, p.unroll * lanes)
      -- Rows are not streamed: where they are no whole vectors, plain stores and streamed ones meet in a line, which then
      -- goes to memory by pieces and takes far longer.
    else
      k.y_nhwc:vectorize("c", p.unroll * lanes, "guard"):fuse("h", "n", "task"):parallel()
      k.y_nhwc:stream()
    end
  end,
}
