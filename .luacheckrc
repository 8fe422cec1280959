-- What `luacheck` knows of schedules: scripts/check runs it.
std = "lua54"
max_line_length = 140
read_globals = { "schedule", "tune" }
-- apply(k, p, target) and helpers keep the order of their arguments.
unused_args = false
exclude_files = { "schedules/meta", "build", ".halyard" }
-- Wrong on purpose.
files["tests/language/errors"] = { ignore = { "..*" } }
files["tests/ops/strange"] = { ignore = { "..*" } }
files["tests/language/golden"] = { ignore = { "..*" } }
