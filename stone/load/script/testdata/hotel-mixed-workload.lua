-- Hotel Reservation, mixed-workload: 60 % searches, 39 % recommendations, 0.5 % logins, 0.5 % reservations.
local socket = require("socket")
math.randomseed(socket.gettime()*1000)
math.random(); math.random(); math.random()

local url = "http://localhost:5000"

local function day(number)
  if number <= 9 then return "2015-04-0" .. number end
  return "2015-04-" .. tostring(number)
end

local function place()
  local lat = 38.0235 + (math.random(0, 481) - 240.5)/1000.0
  local lon = -122.095 + (math.random(0, 325) - 157.0)/1000.0
  return "&lat=" .. tostring(lat) .. "&lon=" .. lon
end

local function account()
  local id, password = math.random(0, 500), ""
  for i = 0, 9, 1 do password = password .. tostring(id) end
  return "Cornell_" .. tostring(id), password
end

local function search()
  local first = math.random(9, 23)
  local last = math.random(first + 1, 24)
  return wrk.format("GET", url .. "/hotels?inDate=" .. day(first) .. "&outDate=" .. day(last) .. place(), {}, nil)
end

local function recommend()
  local coin, require_ = math.random(), "price"
  if coin < 0.33 then require_ = "dis" elseif coin < 0.66 then require_ = "rate" end
  return wrk.format("GET", url .. "/recommendations?require=" .. require_ .. place(), {}, nil)
end

local function login()
  local user, password = account()
  return wrk.format("POST", url .. "/user?username=" .. user .. "&password=" .. password, {}, nil)
end

local function reserve()
  local first = math.random(9, 23)
  local user, password = account()
  return wrk.format("POST", url .. "/reservation?inDate=" .. day(first) .. "&outDate=" .. day(first + math.random(1, 5)) ..
    "&lat=" .. tostring(nil) .. "&lon=" .. tostring(nil) .. "&hotelId=" .. tostring(math.random(1, 80)) ..
    "&customerName=" .. user .. "&username=" .. user .. "&password=" .. password .. "&number=1", {}, nil)
end

request = function()
  cur_time = math.floor(socket.gettime())
  local coin = math.random()
  if coin < 0.6 then
    return search()
  elseif coin < 0.6 + 0.39 then
    return recommend()
  elseif coin < 0.6 + 0.39 + 0.005 then
    return login()
  else
    return reserve()
  end
end
