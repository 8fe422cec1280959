-- What the schedules of moe_router share.

local router = {}

-- Searches the experts of one token and weighs them.
--
--   for token: top; for token: weight; for token: sum; for token: chosen
--     ->
--   for token: top; weight; sum; chosen
--
-- at       the loop of k.chosen over tokens
function router.choose(k, at)
  for _, stage in ipairs { k.top, k.weight, k.sum } do
    stage:compute_at(k.chosen, at)
  end
end

return router
