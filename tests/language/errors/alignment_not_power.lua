-- expect: 3: error: set_host_alignment: the argument "bytes" is 48, but must be from 1 to 4096, a power of two
-- expect+   usage: set_host_alignment(bytes)
return schedule "small" {
  apply = function(k, p, target)
    k.x:set_host_alignment(48)
  end,
}
