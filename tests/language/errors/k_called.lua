-- expect: 3: error: attempt to call a table value (local 'k')
return schedule "small" {
  apply = function(k, p, target)
    k()
  end,
}
