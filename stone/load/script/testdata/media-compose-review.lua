-- Media, compose-review: the URL is an argument, the title is URL-encoded.
math.randomseed(os.time())
math.random(); math.random(); math.random()

local titles = {"The Long Way", "Über den Bergen", "100% Proof", "Fish & Chips", "Who? Me!"}
local alphabet = "qwertyuiopasdfghjklzxcvbnmQWERTYUIOPASDFGHJKLZXCVBNM1234567890"
local url

function init(args)
  url = args[1] or "http://localhost:8080"
end

function string.random(length)
  if length > 0 then
    local at = math.random(1, #alphabet)
    return string.random(length - 1) .. alphabet:sub(at, at)
  end
  return ""
end

local function encode(s)
  s = string.gsub(s, "([^%w%.%- ])", function(c) return string.format("%%%02X", string.byte(c)) end)
  return string.gsub(s, " ", "+")
end

request = function()
  local user = math.random(1000)
  local title = encode(titles[math.random(#titles)])
  local body = "username=username_" .. tostring(user) .. "&password=password_" .. tostring(user) .. "&title=" ..
    title .. "&rating=" .. math.random(0, 10) .. "&text=" .. string.random(256)
  local headers = {}
  headers["Content-Type"] = "application/x-www-form-urlencoded"
  return wrk.format("POST", url .. "/wrk2-api/review/compose", headers, body)
end
