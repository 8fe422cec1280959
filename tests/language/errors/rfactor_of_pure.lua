-- expect: 3: error: rfactor: works on an update stage
-- expect+   write `sum:update(0):rfactor(...)`
return schedule "small" {
  apply = function(k, p, target)
    k.sum:rfactor("row")
  end,
}
