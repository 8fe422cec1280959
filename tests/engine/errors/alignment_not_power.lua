-- expect: 3: error: set_host_alignment: the alignment is a power of two from 1 to 4096, not 48
return schedule "small" {
  apply = function(k, p, target)
    k.x:set_host_alignment(48)
  end,
}
