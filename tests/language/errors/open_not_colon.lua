-- expect: 3: error: open: is called without the Funcs that it is for
-- expect+   write a colon: k:open("...")
return schedule "small" {
  apply = function(k)
    k.open "f"
  end,
}
