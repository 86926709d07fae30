-- Social Network, mixed-workload: a coin for each request; sizes come from the environment.
require "socket"
math.randomseed(socket.gettime()*1000)
math.random(); math.random(); math.random()

local function setting(name, default) return tonumber(os.getenv(name)) or default end

local max_user_index = setting("max_user_index", 962)
local text_len = setting("text_len", 256)
local num_user_mentions = setting("num_user_mentions", 5)
local start, stop = setting("start", 0), setting("stop", 10)

local charset = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

local function stringRandom(length)
  local t = {}
  for i = 1, length do
    local at = math.random(#charset)
    t[i] = charset:sub(at, at)
  end
  return table.concat(t)
end

local function read(timeline)
  local path = "/wrk2-api/" .. timeline .. "/read?user_id=" .. math.random(0, max_user_index - 1) ..
    "&start=" .. start .. "&stop=" .. stop
  return wrk.format("GET", path, {["Content-Type"] = "application/x-www-form-urlencoded"}, nil)
end

local function compose()
  local user = math.random(0, max_user_index - 1)
  local text = stringRandom(text_len)
  for i = 0, num_user_mentions do
    text = text .. " @username_" .. math.random(0, max_user_index - 1)
  end
  local body = string.format("username=username_%d&user_id=%d&text=%s&media_ids=[]&media_types=[]&post_type=0", user, user, text)
  return wrk.format("POST", "/wrk2-api/post/compose", {["Content-Type"] = "application/x-www-form-urlencoded"}, body)
end

request = function()
  local coin = math.random()
  if coin < 0.60 then
    return read("home-timeline")
  elseif coin < 0.60 + 0.30 then
    return read("user-timeline")
  else
    return compose()
  end
end
