-- The angles of tokens, a thread a pair.

return schedule "angles" {
  target = "cuda",

  params = { threads = tune { 32, 64, 128, default = 32 } },

  apply = function(k, p)
    k.angles:split("pair", p.threads, "guard", "block", "thread")
    k.angles:reorder("thread", "block", "part", "token"):gpu_blocks { "block", "part", "token" }:gpu_threads "thread"
  end,
}
