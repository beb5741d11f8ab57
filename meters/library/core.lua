-- What every verb uses: refusals, exact numbers, JSON, seats as bit masks, cards.
--
-- Rules that hold in all of these files:
--   * A function does not roll back, so every verb checks everything first and writes last.
--   * The journal entry is the very last write: whatever is torn off, the journal is the truth.
--   * Lua numbers are doubles. Amounts and meters are asserted to stay within 2^53 micro-dollars;
--     `players` and `house` may grow past it and are only ever HINCRBYed.
--   * Rates are whole ppm and shares are whole percents: nothing is multiplied by a fraction.

local AMOUNT_MAX = 9007199254740991
local CENT = 10000
local BATCH_MAX = 256
local TEXT_MAX = 65536 -- bytes of a name, a reason or a sealed secret
local SETTLED_KEPT = 256 -- settled awards and proposals whose answers are kept for a repeat

-- Lua's own libraries are not there while a library loads: these are taken at the first call.
local band, bor, lshift, format, concat, floor, max, min
local function take_libraries()
  band, bor, lshift = bit.band, bit.bor, bit.lshift
  format, concat, floor, max, min = string.format, table.concat, math.floor, math.max, math.min
end

local function int(number)
  return format('%d', number) -- a long: exact wherever a double is
end

-- Sequences of UTF-8; what none of them takes is not UTF-8, and nobody could read it back.
local UTF8 = {
  '[\194-\223][\128-\191]', '\224[\160-\191][\128-\191]', '[\225-\236\238\239][\128-\191][\128-\191]',
  '\237[\128-\159][\128-\191]', '\240[\144-\191][\128-\191][\128-\191]',
  '[\241-\243][\128-\191][\128-\191][\128-\191]', '\244[\128-\143][\128-\191][\128-\191]',
}
local function is_utf8(text)
  if not text:find('[\128-\255]') then return true end
  for i = 1, #UTF8 do text = text:gsub(UTF8[i], '.') end
  return not text:find('[\128-\255]')
end

-- A refusal is raised before anything is written, and becomes the reply `REFUSED {json}`. What it
-- quotes of the call may be anything.
local function refuse(code, message, detail)
  if #message > 1000 then message = message:sub(1, 1000) end
  if not is_utf8(message) then message = message:gsub('[\128-\255]', '?') end
  error({refusal = {code = code, message = message, detail = detail}})
end

-- Names of tables, people and lines come again and again: their JSON is kept, up to a bound.
local QUOTED_KEPT = 256 -- bytes: longer texts are seldom said twice
local quotes, quote_count = {}, 0
local function quoted(text)
  local known = quotes[text]
  if not known then
    if not is_utf8(text) or #text > TEXT_MAX then
      refuse('bad_call', 'a text is UTF-8 and at most ' .. int(TEXT_MAX) .. ' bytes long')
    end
    known = cjson.encode(text)
    if #text > QUOTED_KEPT then return known end
    if quote_count >= 4096 then quotes, quote_count = {}, 0 end
    quotes[text], quote_count = known, quote_count + 1
  end
  return known
end

-- Write a decoded JSON value again, with whole numbers exact (cjson would keep 14 digits).
local function encode(value)
  local kind = type(value)
  if kind == 'number' then
    return int(value)
  elseif kind == 'string' then
    return quoted(value)
  elseif kind == 'boolean' then
    return value and 'true' or 'false'
  elseif value == cjson.null then
    return 'null'
  end
  local parts = {}
  if #value > 0 then
    for i = 1, #value do parts[i] = encode(value[i]) end
    return '[' .. concat(parts, ',') .. ']'
  end
  local names = {}
  for name in pairs(value) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do parts[i] = quoted(name) .. ':' .. encode(value[name]) end
  return '{' .. concat(parts, ',') .. '}'
end

-- Read a whole number from an argument, written in digits and in no other way (`tonumber` would also
-- take 1e3, 0x10 and blanks); the caller's bound keeps it exact.
local function whole(text, name, least, most)
  local number = text:match('^%d+$') and (text == '0' or text:byte() ~= 48) and tonumber(text)
  if not number or number < least or number > most then
    refuse('bad_call', name .. ' must be a whole number from ' .. int(least) .. ' to ' .. int(most))
  end
  return number
end

-- Give the JSON of a text that must not be empty.
local function given(text, what)
  if text == '' then refuse('bad_call', what .. ' is missing') end
  return quoted(text)
end

local function person(by)
  return given(by, 'who takes the step')
end

-- Seats are a mask: seat 1 is bit 0. Nine seats make 512 masks, so their texts are kept.
local Seats = {texts = {}}

function Seats.text(mask)
  local known = Seats.texts[mask]
  if not known then
    local seats = {}
    for seat = 1, 9 do
      if band(mask, lshift(1, seat - 1)) ~= 0 then seats[#seats + 1] = seat end
    end
    known = concat(seats, ',')
    Seats.texts[mask] = known
  end
  return known
end

function Seats.list(mask)
  return '[' .. Seats.text(mask) .. ']'
end

function Seats.has(mask, seat)
  return band(mask, lshift(1, seat - 1)) ~= 0
end

function Seats.with(mask, seat)
  return bor(mask, lshift(1, seat - 1))
end

function Seats.count(mask)
  local count = 0
  while mask > 0 do
    count = count + mask % 2
    mask = floor(mask / 2)
  end
  return count
end

-- Cards are texts such as KS9H; a shoe is 52 digits, how often each card has been seen.
local Cards = {NONE = '0000000000000000000000000000000000000000000000000000'}
local RANKS, SUITS = 'A23456789TJQK', 'SHDC'

function Cards.position(card)
  local rank = RANKS:find(card:sub(1, 1), 1, true)
  local suit = SUITS:find(card:sub(2, 2), 1, true)
  if #card ~= 2 or not rank or not suit then
    refuse('bad_card', card .. ' is not a card')
  end
  return (rank - 1) * 4 + suit
end

-- Take cards out of the shoe, or with `by` -1 put them back.
function Cards.take(seen, cards, decks, by)
  for i = 1, #cards, 2 do
    local card = cards:sub(i, i + 1)
    local at = Cards.position(card)
    local count = tonumber(seen:sub(at, at)) + by
    if count > decks then
      refuse('card_not_in_shoe', card .. ' has been seen ' .. decks ..
        ' times in this shoe, which has ' .. decks .. ' decks; check the cards, or record the new shoe')
    end
    seen = seen:sub(1, at - 1) .. int(count) .. seen:sub(at + 1)
  end
  return seen
end

function Cards.list(cards)
  local parts = {}
  for i = 1, #cards, 2 do parts[#parts + 1] = '"' .. cards:sub(i, i + 1) .. '"' end
  return '[' .. concat(parts, ',') .. ']'
end

function Cards.sorted(cards)
  local parts = {}
  for i = 1, #cards, 2 do parts[#parts + 1] = cards:sub(i, i + 1) end
  table.sort(parts)
  return concat(parts)
end
