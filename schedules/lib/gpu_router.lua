-- What the CUDA schedules of moe_router share.

local elementwise = require "lib.gpu_elementwise"
local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"

local router = {}

-- The versions of the tensor cores' schedule. Many tokens have tiles of 128 by all experts, up to 256; few have tiles of 16 by 32, whose
-- warps share the depth; between them tiles are 64 by 64, so that more multiprocessors have one. A warp searches the experts of
-- a token; where tokens are many and experts few a thread does, as 32 threads would have little to do. The sizes at which a version takes
-- over were measured (docs/notes/2026-11-schedule-figures.md).
function router.versions(k, p)
  if p.rows > 0 then return { {} } end
  local tokens, experts = k.x:dim(1):extent(), k.w_nk:dim(1):extent()
  local many, narrow, wide = tokens:at_least(8192), experts:at_most(64), experts:at_least(129)
  local versions = {
    { when = many:and_(narrow), rows = 128, columns = 64, lanes = 1 },
    { when = many:and_(wide), rows = 128, columns = 256, lanes = 32 },
    { when = many, rows = 128, columns = 128, lanes = 32 },
    { when = (tokens * experts):at_most(256 * 1024), rows = 16, columns = 32, stages = 8, lanes = 32 },
    { rows = 64, columns = 64, lanes = 32 },
  }
  if p.invariant then table.remove(versions, 4) end -- the warps that share the depth add up in another order
  return versions
end

-- Has a thread compute a list for each token.
function router.a_thread_each(func, o)
  elementwise.elements(func:compute_root(), { rows = { "row" }, threads = o.threads })
end

function router.store(k)
  for _, out in ipairs { k.scores, k.indices } do elementwise.elements(out, { rows = { "i", "row" }, threads = 128 }) end
end

-- What experts are chosen by, where it is not the logits: kernels of a thread for each expert, group or token.
function router.choices(k, o)
  local function stored(func, loops)
    local all = func:in_():compute_root()
    elementwise.elements(all, { rows = loops, threads = o.threads })
    func:compute_at(all, "thread"):store_in "register"
    for _, loop in ipairs(loops) do func:bound_extent(loop, 1) end
  end
  if k:has "row_max" then
    stored(k.row_max, { "row" })
    if k:has "sum_of_all" then stored(k.sum_of_all, { "row" }) end
  end
  if k:has "choice" then elementwise.elements(k.choice:compute_root(), { rows = { "e", "row" }, threads = o.threads }) end
  if k:has "group_key" then elementwise.elements(k.group_key:compute_root(), { rows = { "g", "row" }, threads = o.threads }) end
  for _, name in ipairs { "first", "second", "better" } do
    if k:has(name) then stored(k[name], { "g", "row" }) end
  end
end

-- Searches the experts of a token and weighs them, a warp a token.
--
--   for token: largest_0 = max over experts; largest_1 = max of those below it; ..; for token: sum; for token: scores, indices
--     ->
--   blocks token: largest_0; largest_1; .. = maxima of all threads; threads i: sum; scores; indices
local function choose_by_maxima(k, o)
  for _, out in ipairs { k.scores, k.indices } do
    out:reorder("i", "row"):gpu_blocks "row":gpu_threads "i":never_partition_all()
  end
  k.indices:compute_with(k.scores, "i")
  local at = { k.scores, "row" }
  grid.each_thread(k.chosen, { at = { k.scores, "i" } })
  local each = { at = at, threads = 32, vector = 4, unroll = 2 }
  for n = 0, o.top_k - 1 do reduce.in_block(k["largest_" .. n], "e", each) end
  router.choices(k, { threads = 128 })
  if k:has "sum_of_all" and not k:has "row_max" then
    reduce.in_block(k.sum_of_all, "e", each)
  else
    for _, name in ipairs { "sum", "lost" } do
      if k:has(name) then
        grid.each_thread(k[name], each)
        k[name]:update(0):unroll "i"
      end
    end
  end
end

-- The same by a thread a token, unless lanes is 32.
--
--   for token: top; for token: weight; for token: sum; for token: scores; for token: indices
--     ->
--   threads token: top; weight; sum; scores; indices          -- but for the last two, in registers
function router.choose(k, o, lanes)
  if lanes == 32 then
    choose_by_maxima(k, o)
    return
  end
  for _, out in ipairs { k.scores, k.indices } do elementwise.elements(out, { rows = { "row" }, threads = o.threads }) end
  k.indices:compute_with(k.scores, "thread")
  router.choices(k, o)
  for _, name in ipairs { "top", "weight", "sum", "sum_of_all", "lost" } do
    local is_stored = name == "sum_of_all" and k:has "row_max"
    if k:has(name) and not is_stored then k[name]:compute_at(k.scores, "thread"):store_in "register":bound_extent("row", 1) end
  end
end

return router
