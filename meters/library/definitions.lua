-- What a link, a level, a table and a paytable must be. A definition that the journal's readers would
-- not take, or that could not be kept exactly, is refused before anything of it is written.

local Definitions = {}

local function is_whole(value, least, most)
  return type(value) == 'number' and value == floor(value) and value >= least and value <= most
end

Definitions.is_whole = is_whole

local function is_text(value)
  return type(value) == 'string' and value ~= ''
end

-- Names become part of keys, of fields and of lists: letters, digits and dashes.
local function is_name(value)
  return is_text(value) and #value <= 64 and value:match('^%w[%w_-]*$') ~= nil
end

Definitions.is_name = is_name

-- A level's name begins its fields in the link's hash, where these words begin others.
local TAKEN = {level = true, next = true, first = true, commit = true, sent = true, received = true,
  transfer = true, fixed = true}
local function is_level_name(value)
  return is_name(value) and value:match('^%l[%l%d_]*$') and not TAKEN[value]
end

local function amount(least)
  return function(value) return is_whole(value, least, AMOUNT_MAX) end
end

local function nullable(check)
  return function(value) return value == cjson.null or check(value) end
end

local function optional(check)
  return function(value) return value == nil or check(value) end
end

-- An empty list and an empty object are one and the same to `cjson`, so neither is taken for the other.
local function is_object(value)
  return type(value) == 'table' and #value == 0 and next(value) ~= nil
end

local function is_list(value)
  return type(value) == 'table' and #value > 0
end

local function is_list_of_texts(value)
  if not is_list(value) then return false end
  for _, item in pairs(value) do
    if not is_text(item) then return false end
  end
  return true
end

-- Every field is as its shape says, and there is no other.
local function check_shape(value, shape, what)
  if not is_object(value) then refuse('bad_call', what .. ' is not an object') end
  for name in pairs(value) do
    if not shape[name] then refuse('bad_call', what .. ' has no ' .. tostring(name)) end
  end
  for name, check in pairs(shape) do
    if not check(value[name]) then refuse('bad_call', what .. ': ' .. name .. ' is missing or wrong') end
  end
end

local function ppm(least)
  return function(value) return is_whole(value, least, 1000000) end
end

local LEVEL = {
  name = is_level_name, seed_micros = amount(0), reset_micros = amount(0), increment_ppm = ppm(1),
  reserve_ppm = ppm(0), limit_micros = nullable(amount(1)), contribution_max_micros = amount(0),
  maximum_micros = optional(nullable(amount(1))), distribution = optional(nullable(is_object)),
  closed = optional(function(value) return value == false end),
}

-- Amounts are whole cents below what the meter may show at most, and shares of the stake are exact.
function Definitions.check_level(level, stake)
  check_shape(level, LEVEL, 'a level')
  local name = level.name
  for _, rate in ipairs({'increment_ppm', 'reserve_ppm'}) do
    if stake * level[rate] % 1000000 ~= 0 then
      refuse('not_exact', name .. ': ' .. rate .. ' of the stake is no whole micro-dollar')
    end
  end
  local limit, maximum = level.limit_micros, level.maximum_micros or cjson.null
  for _, part in ipairs({'seed_micros', 'reset_micros'}) do
    local value = level[part]
    if value == 0 or value % CENT ~= 0 then
      refuse('amount_out_of_bounds', name .. ': ' .. part .. ' is no whole-cent amount')
    elseif limit ~= cjson.null and value >= limit then
      refuse('amount_out_of_bounds', name .. ': ' .. part .. ' is not below the limit')
    end
  end
  if maximum ~= cjson.null and level.reset_micros >= maximum then -- a seed may be of times gone by
    refuse('amount_out_of_bounds', name .. ': the reset is not below the maximum')
  end
end

-- What a level takes of one wager.
function Definitions.taken(level, stake)
  return stake * (level.increment_ppm + level.reserve_ppm) / 1000000
end

local TABLE = {
  name = is_name, asset = is_text, kind = is_text, combinations = is_list_of_texts,
  seats = function(value) return is_whole(value, 1, 9) end,
  decks = function(value) return is_whole(value, 1, 9) end, -- a card's count is one digit
}

function Definitions.check_table(at)
  check_shape(at, TABLE, 'a table')
end

local PAYS = {
  level = optional(is_text), percent = optional(function(value) return is_whole(value, 1, 100) end),
  amount_micros = optional(amount(1)),
}
local TERMS = {
  paytable = is_text, stake_micros = amount(1), lines = is_object, hand_pay_above_micros = amount(0),
  two_person_above_micros = amount(0),
  simultaneous_seconds = function(value) return is_whole(value, 0, 1000000000) end,
}

-- A line pays a part of a level that cards can win, or a fixed amount.
local function check_line(line, pay, levels)
  check_shape(pay, PAYS, 'line ' .. line)
  if pay.amount_micros and (pay.level or pay.percent) or not pay.amount_micros and
      not (pay.level and pay.percent) then
    refuse('bad_call', 'line ' .. line .. ' pays percent of a level, or an amount')
  end
  local level = pay.level and levels[pay.level]
  if pay.level and (not level or (level.maximum_micros or cjson.null) ~= cjson.null) then
    refuse('unknown_level', 'line ' .. line .. ': ' .. pay.level .. ' is no level that cards win')
  end
end

-- `levels` are the link's, by name.
function Definitions.check_terms(terms, levels)
  check_shape(terms, TERMS, 'terms')
  for line, pay in pairs(terms.lines) do check_line(line, pay, levels) end
end

local LINK = {link = is_name, terms = is_object, levels = is_list, tables = is_list}

-- Check a whole link. Returns whether one of its levels is Must Hit.
function Definitions.check_link(def, name)
  check_shape(def, LINK, 'a link')
  if def.link ~= name then refuse('bad_call', 'the keys are not those of ' .. def.link) end
  local stake = def.terms.stake_micros
  if not is_whole(stake, 1, AMOUNT_MAX / 1000000) then
    refuse('bad_call', 'terms: stake_micros is missing or wrong')
  end
  local levels, seen, must_hits, taken, seeds = {}, {}, 0, 0, 0
  for _, level in ipairs(def.levels) do
    Definitions.check_level(level, stake)
    if levels[level.name] then refuse('bad_call', level.name .. ' is there twice') end
    levels[level.name] = level
    taken = taken + Definitions.taken(level, stake)
    seeds = seeds + level.seed_micros
    if seeds > AMOUNT_MAX then refuse('amount_out_of_bounds', 'the seeds together are too much') end
    if (level.maximum_micros or cjson.null) ~= cjson.null then
      must_hits = must_hits + 1
      if level.seed_micros >= level.maximum_micros then
        refuse('amount_out_of_bounds', level.name .. ': the seed is not below the maximum')
      end
    end
  end
  if taken > stake then refuse('bad_call', 'the levels take more than the wager') end
  if must_hits > 1 then refuse('bad_call', 'a link has one Must Hit at most') end
  Definitions.check_terms(def.terms, levels)
  for _, at in ipairs(def.tables) do
    Definitions.check_table(at)
    if seen[at.name] then refuse('bad_call', at.name .. ' is there twice') end
    seen[at.name] = true
  end
  return must_hits == 1
end
