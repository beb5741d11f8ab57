-- How a level's meter moves: contributions, awards taken from it, resets, and money put back.

local Levels = {}

-- What the meter may show at most, by the parameters in force at this point of the call.
local function limit_of(book, level)
  local now = book.changed[level.name] or level
  return now.maximum_micros or now.limit_micros or AMOUNT_MAX
end

-- Put money onto the meter; what would take it over its limit waits in overflow.
function Levels.fill(book, level, amount)
  local meter = level.names.meter
  local fits = max(0, min(amount, limit_of(book, level) - book.values[meter]))
  Ledger.post(book, meter, fits)
  Ledger.post(book, level.names.overflow, amount - fits)
end

-- Take the wagers in: each level its share and its reserve, the house the rest.
local function contribute(book, wagers)
  local stakes = wagers * book.link.terms.stake_micros
  local taken = 0
  for _, level in ipairs(book.link.open_levels) do
    local amount = wagers * level.share
    if amount > level.contribution_max_micros then
      refuse('unreasonable_contribution', level.name .. ' would take ' .. int(amount) ..
        ' micro-dollars of one lock, above its bound of ' .. int(level.contribution_max_micros))
    end
    Levels.fill(book, level, amount)
    Ledger.count(book, level.names['in'], amount)
    Ledger.post(book, level.names.reserve, wagers * level.reserve_share)
    taken = taken + amount + wagers * level.reserve_share
  end
  Ledger.post(book, 'players', -stakes)
  Ledger.post(book, 'house', stakes - taken)
end

-- Where no limit is in the way, a lock of so many wagers always posts the same: it is worked out by
-- the rule above once, and kept with the meters' highest values for which it holds.
local function make_plan(book, wagers)
  contribute(book, wagers)
  local plan = {moves = {}, most = {}, players = book.posted.players, house = book.posted.house}
  for name, after in pairs(book.sets) do
    plan.moves[#plan.moves + 1] = {name, after - book.link.values[name]}
    plan.most[#plan.most + 1] = {name, AMOUNT_MAX - after + book.link.values[name]}
  end
  for _, level in ipairs(book.link.open_levels) do
    if book.posted[level.names.overflow] then return end
    plan.most[#plan.most + 1] = {level.names.meter, limit_of(book, level) - wagers * level.share}
  end
  plan.text = Ledger.postings(book)
  book.link.plans[wagers] = plan
end

local function fits(book, plan)
  local values = book.link.values
  for i = 1, #plan.most do
    if values[plan.most[i][1]] > plan.most[i][2] then return false end
  end
  return true
end

-- Contribute the shares of a lock's wagers; returns the postings as JSON.
function Levels.contribute(book, wagers)
  local plan = book.link.plans[wagers]
  if not plan then
    make_plan(book, wagers)
    return Ledger.postings(book)
  elseif not fits(book, plan) then
    contribute(book, wagers)
    return Ledger.postings(book)
  end
  local values, sets = book.values, book.sets
  for i = 1, #plan.moves do
    local name = plan.moves[i][1]
    local after = values[name] + plan.moves[i][2]
    values[name], sets[name] = after, after
  end
  book.posted.players, book.posted.house = plan.players, plan.house
  return plan.text
end

function Levels.whole_cents(amount)
  return amount - amount % CENT
end

-- Take an award off the meter, into pending.
function Levels.take(book, level, amount)
  Ledger.post(book, level.name .. '.meter', -amount)
  Ledger.post(book, level.name .. '.pending', amount)
  Ledger.count(book, level.name .. '.wins', amount)
  Ledger.count(book, level.name .. '.hits', 1)
end

-- Give `percent` of an amount in whole cents, without leaving exact numbers.
function Levels.part(amount, percent)
  local hundreds, rest = floor(amount / 100), amount % 100
  return Levels.whole_cents(hundreds * percent + floor(rest * percent / 100))
end

-- A parameter change that waited for this reset comes into force with it.
local function change_due(book, level)
  if book.changed[level.name] then return book.changed[level.name] end
  local waiting = redis.call('HGET', book.key, 'next.' .. level.name)
  if not waiting then return level end
  book.sets['level.' .. level.name] = waiting
  book.sets['config'] = int(book.head + 1)
  book.deletes[#book.deletes + 1] = 'next.' .. level.name
  book.in_force[#book.in_force + 1] = quoted(level.name)
  book.changed[level.name] = read_level(waiting)
  return book.changed[level.name]
end

-- Reopen the meter after a full award: the reset, paid by reserve and then by house, plus overflow.
-- Must Hit opens at least a cent below its maximum, so that a trigger is always ahead of it.
function Levels.reset(book, level)
  local name = level.name
  local due = change_due(book, level)
  local from_reserve = min(book.values[name .. '.reserve'], due.reset_micros)
  local from_house = due.reset_micros - from_reserve
  Ledger.post(book, name .. '.reserve', -from_reserve)
  Ledger.post(book, 'house', -from_house)
  Ledger.post(book, name .. '.meter', due.reset_micros)
  Ledger.count(book, name .. '.resets', due.reset_micros)
  local top = limit_of(book, due) - (due.maximum_micros and CENT or 0)
  local moved = min(top - book.values[name .. '.meter'], book.values[name .. '.overflow'])
  Ledger.post(book, name .. '.overflow', -moved)
  Ledger.post(book, name .. '.meter', moved)
  return from_reserve, from_house
end
