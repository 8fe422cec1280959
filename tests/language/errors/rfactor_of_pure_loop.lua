-- expect: 3: error: rfactor: "row" is not a reduction loop
return schedule "small" {
  apply = function(k, p, target)
    k.sum:update(0):rfactor("row")
  end,
}
