-- expect: 3: error: prefetch: "clam" is no prefetch; there are "clamp", "guard_with_if", "non_faulting"
-- expect+   did you mean "clamp"?
return schedule "small" {
  apply = function(k, p, target)
    k.y:prefetch(k.x, "row", "row", 2, "clam")
  end,
}
