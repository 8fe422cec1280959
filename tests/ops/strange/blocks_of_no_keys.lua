-- A parameter of the generator that its algorithm has no meaning for: every element was 0.
-- refused: key_block=0: attention does not take this value; it takes 1 to 4096
return schedule "attention" { target = "cpu", generator = { key_block = 0 }, apply = function() end }
