-- What the CUDA schedules of moe_router share.

local gpu = require "lib.gpu"

local router = {}

-- Has a thread compute a list for each token.
function router.a_thread_each(func, o)
  gpu.elements(func:compute_root(), { rows = { "row" }, threads = o.threads })
end

-- Searches the experts of a token and weighs them, a thread a token.
--
--   for token: top; for token: weight; for token: sum; for token: chosen
--     ->
--   threads token: top; weight; sum; chosen          -- in registers
function router.choose(k, o)
  router.a_thread_each(k.chosen, o)
  for _, list in ipairs { k.top, k.weight, k.sum } do
    list:compute_at(k.chosen, "thread"):store_in "register"
  end
  router.store(k)
end

function router.store(k)
  for _, out in ipairs { k.scores, k.indices } do gpu.elements(out, { rows = { "i", "row" }, threads = 128 }) end
end

return router
