-- Reductions over SIMD lanes.

local reduce = {}

-- Reduces a loop in many independent lanes, then the lanes among themselves.
--
--   for col: sum += x(col)
--     ->
--   for col_outer: vectorized lane: partial(lane) += x(col_outer * lanes + lane)
--   sum = partial(0) + partial(1) + ...
--
-- func    a Func with one update, which reduces `loop`
-- at      where the reduction happens: a loop of the consumer
-- lanes   SIMD lanes of the accumulator's type
-- accum   vectors in flight, to hide the latency of an addition
function reduce.in_lanes(func, loop, options)
  local update = func:update(0)
  local _, lane = update:split(loop, options.lanes * options.accum, "guard")
  local partial = update:rfactor(lane, { "lane" })
  func:compute_at(options.at)
  update:atomic():vectorize(lane)
  partial:compute_at(options.at):vectorize("lane")
  partial:update(0):reorder("lane", loop .. "_outer"):vectorize("lane")
  return partial
end

return reduce
