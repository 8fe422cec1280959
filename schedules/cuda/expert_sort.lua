-- The sort by counting, each step a kernel of which no thread waits for another: counts of each chunk of pairs, sums of them over
-- chunks and over experts, the place of each pair, and the pair of each place, which a thread finds from these sums.

local elementwise = require "lib.gpu_elementwise"

return schedule "expert_sort" {
  target = "cuda",

  generator = {
    chunk = tune { 16, 32, 64, 128, default = 64 }, -- pairs
  },

  params = {
    threads = tune { 64, 128, 256, default = 128 },
  },

  apply = function(k, p)
    local function each(func, loops) elementwise.elements(func, { rows = loops, threads = p.threads }) end
    -- A thread an element of what is stored, with its sum in registers.
    local function summed(func, loops)
      local all = func:in_():compute_root()
      each(all, loops)
      func:compute_at(all, "thread"):store_in "register"
      for _, loop in ipairs(loops) do func:bound_extent(loop, 1) end
    end
    summed(k.counts, { "e", "c" })
    summed(k.before, { "e", "c" })
    summed(k.first, { "e" })
    each(k.sorted:compute_root(), { "row" })
    for _, found in ipairs { k.expert, k.chunk_of, k.found } do
      found:compute_at(k.sorted, "thread"):store_in "register":bound_extent("row", 1)
    end
    each(k.offsets, { "e" })
    for _, out in ipairs { k.order, k.row_index } do each(out, { "row" }) end
    k.row_index:compute_with(k.order, "thread")
    each(k.place, { "slot", "token" })
    k.rank:compute_at(k.place, "thread"):store_in "register":bound_extent("p", 1)
  end,
}
