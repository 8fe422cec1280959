-- expect: 3: error: add_trace_tag: the argument "tag" must be one line of printable ASCII characters
-- expect+   usage: add_trace_tag(tag)
return schedule "small" {
  apply = function(k, p, target)
    k.y:trace_stores():add_trace_tag("red\27[31m")
  end,
}
