-- expect: 4: error: gpu_blocks: takes one to three loops, innermost first
return schedule "small" {
  apply = function(k, p, target)
    local co, ro, ci, ri = k.y:tile({ "col", "row" }, { 4, 4 })
    k.y:gpu_blocks({ ci, ri, co, ro })
  end,
}
