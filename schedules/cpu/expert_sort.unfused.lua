-- The sort without fusion: how many pairs of a chunk are in front of each is an array of its own.

return schedule "expert_sort" {
  target = "cpu",

  generator = { chunk = 64 },

  apply = function(k, _, target)
    for _, func in ipairs { k.id, k.counts, k.before, k.first, k.rank, k.placed, k.sorted } do func:compute_root() end
    k.rank:update(0):vectorize("p", target:lanes "i32", "guard")
  end,
}
