-- Heads of tokens in one pass: in 8 bits a head is read for its largest element, then from L1.

return schedule "store" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local task = k.y:split("token", 16, "guard", "task", "token_in_task")
    task:parallel()
    k.y:vectorize("d", lanes, "guard")
    if k:has "scale" then
      k.inverse:compute_at(k.y, "head")
      k.largest:compute_root():parallel("token", 16, "guard")
      k.largest:update(0):atomic():vectorize("depth", lanes, "guard"):parallel("token", 16, "guard")
      k.scale:parallel("token", 16, "guard")
    end
  end,
}
