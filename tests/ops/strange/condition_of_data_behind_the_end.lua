-- params: weights=given,top_k=1,renormalise=false
-- shape: m=3,n=5,k=7
-- Whether a thread needs its sum is in the data, which threads behind the last row have not.
return schedule "moe_router" {
  target = "cuda",
  apply = function(k)
    k.scores:gpu_tile({ "row" }, { 8 }, "guard")
    k.sum:compute_at(k.scores, "row_thread"):store_in "register"
    k.top:compute_root()
  end,
}
