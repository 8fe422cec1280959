-- expect: 3: error: compute_at: Func "f" is computed at the following invalid location:
-- expect+   f.compute_at(g, row);
-- expect+ Legal locations for this function are:
-- expect+   f.compute_root();
-- expect+ "f" is used in the following places:
-- expect+  ...
-- expect+  for sum.s1.row:
-- expect+   for sum.s1.r:
-- expect+    sum uses f
-- expect+  for y.s0.row:
-- expect+   for y.s0.col:
-- expect+    ...
-- expect+    y uses f
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_at(k.g, "row")
    k.sum:compute_root()
  end,
}
