-- JSON that a caller hands over: it goes into the journal as it is, so it must be what it seems.

local JSON_MAX, JSON_DEPTH_MAX = 1048576, 16

-- Tell whether a bare word of JSON is one that every reader takes for the same: `cjson` would also
-- take NaN, 0x10 and 007. Where `whole_only`, a number is one that a double holds exactly.
local function is_word(word, whole_only)
  if word == 'true' or word == 'false' or word == 'null' then return true end
  local number = word
  if not whole_only then number = number:gsub('[eE][+-]?%d+$', ''):gsub('%.%d+$', '') end
  if not number:match('^%-?%d+$') or number:match('^%-?0%d') or number == '-0' then return false end
  return not whole_only or math.abs(tonumber(number)) <= AMOUNT_MAX
end

local function is_plain(text, whole_only)
  if #text > JSON_MAX or text:find('%c') or not is_utf8(text) or not text:find('^{') then return false end
  local bare, depth = text:gsub('\\.', ''):gsub('"[^"]*"', '"'), 0
  for word in bare:gmatch('[^%[%]{}:,%s"]+') do
    if not is_word(word, whole_only) then return false end
  end
  for bracket in bare:gmatch('[%[%]{}]') do
    depth = depth + ((bracket == '{' or bracket == '[') and 1 or -1)
    if depth > JSON_DEPTH_MAX then return false end
  end
  return true
end

-- Read a JSON object of whole numbers; `any_number` takes fractions too, where nothing is counted.
local function decode(text, name, any_number)
  local ok, value = pcall(cjson.decode, text)
  if not ok or type(value) ~= 'table' or not is_plain(text, not any_number) then
    refuse('bad_call', name .. ' is not a JSON object on one line' ..
      (any_number and '' or ', its numbers whole and below 2^53'))
  end
  return value
end
