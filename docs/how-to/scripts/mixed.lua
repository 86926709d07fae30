-- Searches and logins, in the style of the published load scripts of wrk2.
local socket = require("socket")
math.randomseed(socket.gettime() * 1000)
math.random(); math.random(); math.random()

local users = tonumber(os.getenv("max_user_index")) or 500
local searches = 0.9

function init(args)
  searches = tonumber(args[1]) or searches
end

local function search()
  local first = math.random(9, 23)
  local path = string.format("/hotels?inDate=2015-04-%02d&outDate=2015-04-%02d", first, math.random(first + 1, 24))
  local lat = 38.0235 + (math.random(0, 481) - 240.5) / 1000
  local lon = -122.095 + (math.random(0, 325) - 157) / 1000
  return wrk.format("GET", path .. "&lat=" .. lat .. "&lon=" .. lon)
end

local function login()
  local id = tostring(math.random(0, users))
  return wrk.format("POST", "/user?username=Cornell_" .. id .. "&password=" .. id:rep(10))
end

function request()
  if math.random() < searches then
    return search()
  end
  return login()
end

function done(summary, latency)
  print(string.format("%d requests, p99 %.1f ms", summary.requests, latency:percentile(99) / 1000))
end
