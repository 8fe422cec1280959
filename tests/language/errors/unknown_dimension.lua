-- expect: 3: error: align_storage: there is no dimension "column" in f; its dimensions are "col", "row"
-- expect+   usage: align_storage(dim, alignment)
return schedule "small" {
  apply = function(k, p, target)
    k.f:align_storage("column", 8)
  end,
}
