-- expect: 3: error: store_root: says where f is stored, and f is computed inline: it has no memory
-- expect+   say where it is computed too, by k.f:compute_at(...) or k.f:compute_root()
return schedule "small" {
  apply = function(k, p, target)
    k.f:store_root()
  end,
}
