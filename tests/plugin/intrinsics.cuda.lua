-- Those of each type are a kernel. In vectors of two the words for those are printed, too.

return schedule "intrinsics" {
  target = "cuda",
  params = { vector = tune { 1, 2, default = 1 } },
  apply = function(k, p)
    k.y:gpu_blocks({ "row", "type" }):gpu_threads "x"
    for type = 0, 12 do
      local update = k.y:update(type)
      if p.vector > 1 then
        update:vectorize("x", p.vector, "guard")
      end
      update:split("x", 32, "guard", "block", "thread")
      update:gpu_blocks({ "block", "row" }):gpu_threads "thread"
    end
  end,
}
