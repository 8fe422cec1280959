-- A vector under a mask in an array of one element, which is not aligned as a vector.
-- target: avx512
-- params: add_bias=true
return schedule "bias_activation" {
  target = "cpu",
  apply = function(k, p, target)
k.biased:compute_at(k.y,"col") k.biased:split("row",8,"guard","o","i") k.biased:vectorize("i",4,"guard")
  end }
