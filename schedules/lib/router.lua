-- What the schedules of moe_router share.

local router = {}

-- What there is between the logits and the weights besides, as the parameters of the algorithm have it.
function router.stages(k)
  local stages = {}
  for _, name in ipairs {
    "row_max", "largest", "sum_of_all", "choice", "first", "second", "group_key", "better", "logit_key", "sum", "lost",
  } do
    if k:has(name) then table.insert(stages, k[name]) end
  end
  return stages
end

-- Searches the experts of one token and weighs them.
--
--   for token: top; for token: weight; for token: sum; for token: chosen
--     ->
--   for token: top; weight; sum; chosen
--
-- at       the loop of k.chosen over tokens        lanes    SIMD lanes, for what is made of all logits of a token
function router.choose(k, at, lanes)
  for _, stage in ipairs { k.top, k.weight } do stage:compute_at(k.chosen, at) end
  for _, stage in ipairs(router.stages(k)) do stage:compute_at(k.chosen, at) end
  if k:has "choice" then k.choice:vectorize("e", lanes, "guard") end
  for _, name in ipairs { "row_max", "sum_of_all", "first", "second" } do
    if k:has(name) then k[name]:update(0):atomic():vectorize("e", lanes, "guard") end
  end
end

return router
