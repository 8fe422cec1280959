-- An Expr that one version leaves for another, whose pipeline is a copy.
-- refused: expr_of_another_version.lua:9: error: eq: is given an Expr of another version
local extent
return schedule "softmax" {
  target = "cuda",
  params = { v = tune { 1, 2, default = 1 } },
  versions = function(k) return { { when = k.x:dim(0):extent():eq(16), v = 1 }, { v = 2 } } end,
  apply = function(k, p)
    if p.v == 1 then extent = k.x:dim(0):extent() else k.y:specialize(extent:eq(37)) end
    k.y:gpu_tile({ "col" }, { 8 }, "guard")
  end,
}
