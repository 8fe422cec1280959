-- Pairs of tokens and experts in the order of the experts: counts of each chunk of pairs, sums of them over chunks and experts,
-- then the place of each pair. All of it stays in cache, and is done before a second thread would have begun, unless pairs are very many.

return schedule "expert_sort" {
  target = "cpu",

  generator = {
    chunk = tune { 1, 17, 32, 64, 128, default = 32 }, -- pairs
  },

  params = {
    task = tune { 64, 256, 1024, default = 256 }, -- chunks
  },

  apply = function(k, p, target)
    local lanes = target:lanes "i32"
    k.id:compute_root():vectorize("p", lanes, "guard")
    k.counts:compute_root():parallel("c", p.task, "guard"):vectorize("e", lanes, "guard")
    k.counts:update(0):parallel("c", p.task, "guard")
    k.before:compute_root():vectorize("e", lanes, "guard")
    k.before:update(0):reorder("e", "later"):vectorize("e", lanes, "guard")
    k.first:compute_root()
    k.placed:compute_root()
    local _, in_chunk = k.placed:split("p", p.chunk, "guard", "c", "in_chunk")
    k.placed:parallel("c", p.task, "guard")
    k.rank:compute_at(in_chunk)
    k.rank:update(0):atomic():vectorize("j", math.min(lanes, p.chunk))
    k.sorted:compute_root():vectorize("row", lanes, "guard")
    for _, out in ipairs { k.order, k.row_index } do out:vectorize("row", lanes, "guard") end
  end,
}
