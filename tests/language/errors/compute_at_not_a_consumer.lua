-- expect: 4: error: compute_at: Func "f" is computed at the following invalid location:
-- expect+   f.compute_at(hist, i);
-- expect+ Legal locations for this function are:
-- expect+   f.compute_root();
-- expect+   f.compute_at(g, Var::outermost());
-- expect+   f.compute_at(g, row);
-- expect+   f.compute_at(g, col);
-- expect+ "f" is used in the following places:
-- expect+  for g.s0.row:
-- expect+   for g.s0.col:
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
-- expect+    g uses f
-- expect+  ...
return schedule "small" {
  apply = function(k, p, target)
    k.g:compute_root()
    k.f:compute_at(k.hist, "i")
  end,
}
