-- Rotary position embedding on the host.

local rope = {}

-- Has a Func over [i, head, token] go through the elements of a head by vectors, of which all elements are turned or none.
--
--   for token: for head: for i: y
--     ->
--   for token: for head: for i: vectorized y       -- interleaved: vectors of pairs, both elements of a pair one after the other
--
-- y        the Func        cut    what is done to its other loops first, if anything: a function of a stage
function rope.by_vectors(k, y, cut)
  local angles = k:has "cos_table" and k.cos_table or k.frequencies
  local half = angles:dim(0):extent()
  local function vectors(stage, vector)
    if cut then cut(stage) end
    if k:has "swapped_neighbours" then
      local pairs, member = stage:split("i", 2, "guard", "pairs", "member")
      stage:reorder(member, pairs):unroll(member)
      stage:vectorize(pairs, vector, "guard")
    else
      stage:vectorize("i", vector, "guard")
    end
  end
  vectors(y:specialize(half:multiple_of(16)), 16)
  vectors(y:specialize(half:multiple_of(8)), 8)
  vectors(y, 1)
end

-- The same with tasks of some tokens.
--
--   for token: for head: for i: y
--     ->
--   parallel task: for token_in_task: for head: for i: vectorized y
--
-- y        a Func over [i, head, token]
-- task     tokens of a task                     lanes    SIMD lanes of f32
-- angles   the Func of the cosines and sines, if they are to be made for each token, before its heads
function rope.tokens(k, y, o)
  rope.by_vectors(k, y, function(stage)
    local task = stage:split("token", o.task, "guard", "task", "token_in_task")
    stage:parallel(task)
  end)
  if o.angles then o.angles:compute_at(y, "token_in_task"):vectorize("member", o.lanes, "guard") end
end

return rope
