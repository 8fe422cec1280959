-- expect: 4: error: bound: promises what no call can keep: explicit bounds too small ("row", "g", 2, 5, 2, (y.extent.1 + y.min.1) + -1)
return schedule "small" {
  apply = function(k, p, target)
    k.y:bound("col", 4, 37):unroll("row", 8, "shift_inwards")
    k.g:compute_root():bound("row", 2, 4)
  end,
}
