-- expect: 1: error: params: "rows ?[31mok" is not the name of a parameter
-- expect+   write it in letters, digits and underlines
return schedule "small" {
  params = { ["rows\n\27[31mok"] = tune { 1, 2 } },
  apply = function(k) end,
}
