-- Social Network, compose-post: every request is a post with text, mentions, URLs and media.
local socket = require("socket")
math.randomseed(socket.gettime()*1000)
math.random(); math.random(); math.random()

local letters = {}
for code = 48, 57 do letters[#letters + 1] = string.char(code) end
for code = 65, 90 do letters[#letters + 1] = string.char(code) end
for code = 97, 122 do letters[#letters + 1] = string.char(code) end
local digits = {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9'}

local users = tonumber(os.getenv("max_user_index")) or 962

-- Recursive on purpose: the published scripts are, and it is the deepest that they go.
local function draw(set, length)
  if length > 0 then
    return draw(set, length - 1) .. set[math.random(1, #set)]
  else
    return ""
  end
end

request = function()
  local user = math.random(0, users - 1)
  local text = draw(letters, 256)
  local ids, types = "[", "["

  for i = 0, math.random(0, 5), 1 do
    local other
    while (true) do
      other = math.random(0, users - 1)
      if other ~= user then break end
    end
    text = text .. " @username_" .. tostring(other)
  end
  for i = 0, math.random(0, 5), 1 do
    text = text .. " http://" .. draw(letters, 64)
  end
  for i = 0, math.random(0, 4), 1 do
    ids = ids .. "\"" .. draw(digits, 18) .. "\","
    types = types .. "\"png\","
  end
  ids = ids:sub(1, #ids - 1) .. "]"
  types = types:sub(1, #types - 1) .. "]"

  local headers = {}
  headers["Content-Type"] = "application/x-www-form-urlencoded"
  local body = "username=username_" .. user .. "&user_id=" .. user .. "&text=" .. text ..
    "&media_ids=" .. ids .. "&media_types=" .. types .. "&post_type=0"
  return wrk.format("POST", "http://localhost:8080/wrk2-api/post/compose", headers, body)
end
