-- expect: 4: error: vectorize: In schedule for sum.update(0), marking var r# as parallel or vectorized may introduce a race condition resulting in incorrect output. It is possible to parallelize this by using the atomic() method if the operation is associative, or set override_associativity_test to true in the atomic method if you are certain that the operation is associative. It is also possible to override this error using the allow_race_conditions() method. Use allow_race_conditions() with great caution, and only when you are willing to accept non-deterministic output, or you can prove that any race conditions in this code do not change the output, or you can prove that there are actually no race conditions, and that Halide is being too cautious.
return schedule "small" {
  apply = function(k, p, target)
    k.sum:compute_root()
    k.sum:update(0):vectorize("r", 8)
  end,
}
