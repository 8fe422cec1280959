-- expect: 3: error: store_at: k.f:store_at(k.y, "row"):compute_root() is no place for it: f is stored around all that read it, and computed in the same loop or further in
-- expect+   there are k.f:compute_root(), k.f:compute_at(k.y, "outermost"), k.f:compute_at(k.y, "row"), k.f:compute_at(k.y, "col")
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root():store_at(k.y, "row")
  end,
}
