-- Social Network, read-home-timeline: ten posts of a random user, from a random one on.
require "socket"
local time = socket.gettime()*1000
math.randomseed(time)
math.random(); math.random(); math.random()

local max_user_index = tonumber(os.getenv("max_user_index")) or 962

request = function()
  local user_id = tostring(math.random(0, max_user_index - 1))
  local start = tostring(math.random(0, 100))
  local stop = tostring(start + 10)
  local headers = {}
  headers["Content-Type"] = "application/x-www-form-urlencoded"
  local path = "http://localhost:8080/wrk2-api/home-timeline/read?user_id=" .. user_id .. "&start=" .. start .. "&stop=" .. stop
  return wrk.format("GET", path, headers, nil)
end
