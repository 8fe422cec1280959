-- A kept loop that is rounded up reads behind the end of what it is of.
-- params: type=float32,weights=nk
return schedule "swiglu" {
  target = "cuda",
  apply = function(k, p, target)
    k.gate:update(0):fuse("col","row","n1f")
    k.gate:update(0):gpu_blocks({"n1f"})
    local pn2 = k.gate:update(0):rfactor("k", {"n2"})
    pn2:compute_root()
    pn2:update(0):split("n2", 5, "auto", "n7o", "n8i")
  end,
}
