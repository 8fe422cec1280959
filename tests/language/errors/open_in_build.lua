-- expect: 4: error: open: what stands here is left to a search, so there is nothing to build yet
-- expect+   `halyard explore OP --schedule FILE -o FOUND` looks for it, and writes a script that is whole
return schedule "small" {
  apply = function(k)
    k.y:parallel "row"
    k:open()
  end,
}
