local rows = {}

function rows.tasks(func, count)
  local task, row = func:split("row", count, "guard")
  task:parallel()
  return row
end

return rows
