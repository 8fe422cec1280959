-- What the features of a target say of its processor.

local processor = {}

-- Whether it is one of Intel's with AVX512-BF16, Sapphire Rapids and after it: with AMX, or the level avx512_avxvnni.
function processor.is_intel(target)
  return target:has "avx512_sapphirerapids" or
    target:has "avx512_zen4" and target:has "avxvnni" and not target:has "avx512_zen5"
end

-- Whether it is a Zen 4, and no later one of AMD's.
function processor.is_zen4(target)
  return target:has "avx512_zen4" and not target:has "avxvnni"
end

return processor
