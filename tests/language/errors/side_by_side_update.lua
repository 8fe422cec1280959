-- expect: 3: error: side_by_side: is not for hist: its stages follow each other
-- expect+   give it a definition of its own that reads the sum
return schedule "small" {
  apply = function(k, p, target)
    k.y:side_by_side(k.hist)
  end,
}
