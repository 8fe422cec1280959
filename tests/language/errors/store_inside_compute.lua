-- expect: 3: error: store_at: Func "f" is computed at the following invalid location:
-- expect+   f.store_at(y, row).compute_root();
-- expect+ Legal locations for this function are:
-- expect+   f.compute_root();
-- expect+   f.compute_at(y, Var::outermost());
-- expect+   f.compute_at(y, row);
-- expect+   f.compute_at(y, col);
-- expect+ "f" is used in the following places:
-- expect+  for y.s0.row:
-- expect+   for y.s0.col:
-- expect+    ...
-- expect+    for hist.s1.box_y:
-- expect+     for hist.s1.box_x:
-- expect+      ...
-- expect+      for sum.s1.row:
-- expect+       for sum.s1.r:
-- expect+        sum uses f
-- expect+    ...
-- expect+    for sum.s1.row:
-- expect+     for sum.s1.r:
-- expect+      sum uses f
-- expect+    y uses f
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root():store_at(k.y, "row")
  end,
}
