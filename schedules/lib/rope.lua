-- Rotary position embedding on the host.

local rope = {}

-- Has tasks of some tokens go through the elements of a Func by vectors, of which all elements are turned or none.
--
--   for token: for head: for i: y
--     ->
--   parallel task
--     for token_in_task
--       for head: for i: vectorized y            -- interleaved: vectors of pairs, both elements of a pair one after the other
--
-- y        a Func over [i, head, token]
-- task     tokens of a task                     lanes    SIMD lanes of f32
-- angles   the Func of the cosines and sines, if they are to be made for each token, before its heads
function rope.tokens(k, y, o)
  local angles = k:has "cos_table" and k.cos_table or k.frequencies
  local half = angles:dim(0):extent()
  local function tokens(stage, vector)
    local task = stage:split("token", o.task, "guard", "task", "token_in_task")
    stage:parallel(task)
    if k:has "swapped_neighbours" then
      local pairs, member = stage:split("i", 2, "guard", "pairs", "member")
      stage:reorder(member, pairs):unroll(member)
      stage:vectorize(pairs, vector, "guard")
    else
      stage:vectorize("i", vector, "guard")
    end
  end
  tokens(y:specialize(half:multiple_of(16)), 16)
  tokens(y:specialize(half:multiple_of(8)), 8)
  tokens(y, 1)
  if o.angles then o.angles:compute_at(y, "token_in_task"):vectorize("member", o.lanes, "guard") end
end

return rope
