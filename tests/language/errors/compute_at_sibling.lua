-- expect: 5: error: compute_at: Func "f" is computed at the following invalid location:
-- expect+   f.compute_at(sum, row);
-- expect+ Legal locations for this function are:
-- expect+   f.compute_root();
-- expect+ "f" is used in the following places:
-- expect+  ...
-- expect+  for sum.s1.row:
-- expect+   for sum.s1.r:
-- expect+    sum uses f
-- expect+  for g.s0.row:
-- expect+   for g.s0.col:
-- expect+    ...
-- expect+    g uses f
-- expect+  ...
return schedule "small" {
  apply = function(k, p, target)
    k.sum:compute_root()
    k.g:compute_root()
    k.f:compute_at(k.sum, "row")
  end,
}
