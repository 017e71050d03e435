-- Sends a page after each pause on every connection, and counts the answers by status.
-- Arguments: file with one path a line, pause of a connection in milliseconds.
local paths, at, pause, threads = {}, 0, 0, {}
counts = {}

function setup(thread) threads[#threads + 1] = thread end

function init(args)
  for path in io.lines(args[1]) do paths[#paths + 1] = wrk.format('GET', path) end
  pause = tonumber(args[2])
end

function delay() return math.random(0, 2 * pause) end

function request()
  at = at % #paths + 1
  return paths[at]
end

function response(status) counts['s' .. status] = (counts['s' .. status] or 0) + 1 end

function done(summary)
  local all = {}
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get('counts')) do all[status] = (all[status] or 0) + count end
  end
  local parts = {}
  for status, count in pairs(all) do
    parts[#parts + 1] = string.format('"%s":%d', string.sub(status, 2), count)
  end
  local errors = summary.errors
  io.write(string.format('\nresult {"requests":%d,"durationUs":%d,"cut":%d,"late":%d,"statuses":{%s}}\n',
    summary.requests, summary.duration, errors.connect + errors.read + errors.write, errors.timeout,
    table.concat(parts, ',')))
end
