// Nothing: what most tests include is compiled with this, once for all of them.
