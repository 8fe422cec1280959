-- Reductions over SIMD lanes.

local reduce = {}

-- Reduces a loop in many independent lanes, then the lanes among themselves.
--
--   for col: sum += x(col)
--     ->
--   for col_outer: vectorized: lane(i) += x(col_outer * lanes * accum + i)
--   sum = lane(0) + lane(1) + ...
--
-- func    a Func with one update, which reduces `loop`
-- at      where the reduction happens: a loop of the consumer, or { consumer, its name }
-- lanes   SIMD lanes of the accumulator's type
-- accum   vectors in flight, to hide the latency of an addition
-- cols    the extent of the loop, where known: what is whole steps of 8 vectors is then reduced in these
--
-- Each step adds `accum` vectors in a tree, then across its lanes to the sum; the loads hide most of that.
-- What is left over at the end of a row is added lane by lane: more vectors gain a little on long rows, and lose much on short
-- ones. With "predicate" for "guard" the assembly is the same. What is slower (docs/notes/2026-11-schedule-figures.md):
--   in_partials, with `accum` vectors as a Func, which is as fast on long rows alone
--   the same with a guard for each vector (split by lanes, then by accum, rfactor of both)
--   a guard for each vector, unrolled without rfactor, as LLVM does not merge the steps' shuffles
-- Where a pipeline has a strict_float anywhere, in_partials is the way: LLVM may not reorder a sum then, and adds
-- one lane after the other in each step.
function reduce.in_lanes(func, loop, options)
  local at = options.at
  local update = (type(at) == "table" and func:compute_at(table.unpack(at)) or func:compute_at(at)):update(0)
  if options.cols then
    local step = options.lanes * 8
    update:specialize((options.cols % step):eq(0)):atomic():vectorize(loop, step)
  end
  update:atomic():vectorize(loop, options.lanes * options.accum, "guard")
end

-- The same with the lanes as a Func of their own.
--
--   for col: top = max(top, x(col))
--     ->
--   for col_outer: vectorized lane: partial(lane) = max(partial(lane), x(...))
--   top = max(partial(0), partial(1), ...)
--
-- For pipelines with a strict_float (no generator of ours has one), where in_lanes keeps the order of the lanes.
function reduce.in_partials(func, loop, options)
  local update = func:update(0)
  local _, lane = update:split(loop, options.lanes * options.accum, "guard")
  local partial = update:rfactor(lane, { "lane" })
  func:compute_at(options.at)
  update:atomic():vectorize(lane)
  partial:compute_at(options.at):vectorize "lane"
  partial:update(0):reorder("lane", loop .. "_outer"):vectorize "lane"
  return partial
end

return reduce
