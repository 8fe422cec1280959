-- The same, where one is fetched.
-- params: type=bfloat16,activation=relu
return schedule "transpose" {
  target = "cuda",
  apply = function(k, p, target)
    local y = k.y
    y:split("row", 32, "guard", "rb", "ri") y:split("col", 8, "guard", "cb", "ci")
    y:reorder("ci","ri","cb","rb","n"):gpu_blocks({"rb","n"}):gpu_threads("ri")
    local f = k.x:in_() f:compute_at(y,"cb"):store_in "gpu_shared" f:gpu_threads("_0")
    local l = k.linear l:compute_at(y,"cb"):store_in "gpu_shared" l:gpu_threads("row")
    local a = k.activated a:compute_at(y,"cb"):store_in "gpu_shared" a:gpu_threads("row")
    f:fetch(0)
  end,
}
