-- What the CUDA schedules of moe_router share.

local gpu = require "lib.gpu"

local router = {}

-- Has the tensor cores compute a tile of tokens by experts. Where none is given, there are kernels of which a call takes one: for
-- many tokens tiles of 128 by all experts, up to 256; for fewer tiles of 64 by 64, so that more multiprocessors have one.
--
-- H200, us, tiles of 64x64, 128x64, 128x128, 128x256 (rows, columns): 16384 tokens of 4096 by 256 experts 141, 136, 105, 90; by 64
-- 53, 53, 65, 94; by 8 75, 53, 78, 90; 4096 tokens by 256 61, 60, 62, 78; 256 tokens of 7168 by 256 58, 61, 67, 99.
function router.tensor_tiles(k, o)
  local order = k.order:compute_root()
  if o.rows > 0 then
    gpu.tensor_tiles(order, k.acc, o, { col = "e" })
    return
  end
  local tokens, experts = k.x:dim(1):extent(), k.w_nk:dim(1):extent()
  local many, narrow, wide = tokens:at_least(8192), experts:at_most(64), experts:at_least(129)
  local function tiles(stage, rows, columns)
    gpu.blocks_of_tiles(stage, { rows = rows, columns = columns }, { col = "e" })
  end
  local of_many = order:specialize(many)
  tiles(of_many:specialize(narrow), 128, 64)
  tiles(of_many:specialize(wide), 128, 256)
  tiles(of_many, 128, 128)
  tiles(order, 64, 64)
  gpu.tensor_sums(k.acc, { order, "tile_col" }, {
    rows = many:select(128, 64), columns = many:select(narrow:select(64, wide:select(256, 128)), 64),
    stages = o.stages, group = o.group,
  }, { col = "e" })
end

-- Has a thread compute a list for each token.
function router.a_thread_each(func, o)
  gpu.elements(func:compute_root(), { rows = { "row" }, threads = o.threads })
end

function router.store(k)
  for _, out in ipairs { k.scores, k.indices } do gpu.elements(out, { rows = { "i", "row" }, threads = 128 }) end
end

-- Searches the experts of a token and weighs them, a warp a token, for the generator with search = "maxima".
--
--   for token: largest_0 = max over experts; largest_1 = max of those below it; ..; for token: sum; for token: chosen
--     ->
--   blocks token: largest_0; largest_1; .. = maxima of all threads; threads i: sum; chosen
local function choose_by_maxima(k, o)
  local at = { k.chosen:compute_root(), "row" }
  k.chosen:reorder("i", "row"):gpu_blocks "row":gpu_threads "i":never_partition_all()
  local each = { at = at, threads = 32, vector = 4, unroll = 2 }
  for n = 0, o.top_k - 1 do gpu.reduce(k["largest_" .. n], "e", each) end
  if k:has "sum_of_all" then
    gpu.reduce(k.sum_of_all, "e", each)
  else
    gpu.each_thread(k.sum, each)
    k.sum:update(0):unroll "i"
  end
  router.store(k)
end

-- The same, a thread a token, where nothing else is said.
--
--   for token: top; for token: weight; for token: sum; for token: chosen
--     ->
--   threads token: top; weight; sum; chosen          -- in registers
function router.choose(k, o, search)
  if search == "maxima" then
    choose_by_maxima(k, o)
    return
  end
  router.a_thread_each(k.chosen, o)
  for _, list in ipairs { k.top, k.weight, k.sum } do
    list:compute_at(k.chosen, "thread"):store_in "register"
  end
  router.store(k)
end

return router
