-- What two persons may do together: how each kind of proposal is carried out.

local function level_of(book, name)
  local level = type(name) == 'string' and book.link.levels[name] -- they are listed by number too
  if not level or level.closed then
    refuse('unknown_level', tostring(name) .. ' is not an open level of this link')
  end
  return level
end

local function amount_of(body, least)
  local amount = body.amount_micros
  if type(amount) ~= 'number' or amount ~= floor(amount) or math.abs(amount) > AMOUNT_MAX
      or amount < least or amount == 0 then
    refuse('bad_amount', 'amount_micros must be a whole number of micro-dollars')
  end
  return amount
end

local function all_closed(book, keys, why)
  Tables.check_all(book.link.table_names, keys, 'bad_call')
  for i = 8, #keys do
    local state = Tables.read(keys[i])
    if state.status ~= 'closed' then
      refuse('table_not_closed', state.name .. ' is open: ' .. why)
    end
  end
end

local CARRY_OUT = {}

-- Rounds that are locked may still win what Must Hit showed at their lock: nobody takes it away.
local function check_not_owed(level, keys)
  if level.maximum_micros and redis.call('ZCARD', keys[4]) > 0 then
    refuse('rounds_open', 'rounds are locked that could still win ' .. level.name)
  end
end

-- adjust: level, part (meter, reserve, overflow), amount; against the house.
function CARRY_OUT.adjust(book, keys, body)
  local level = level_of(book, body.level)
  local amount = amount_of(body, -AMOUNT_MAX)
  local part = body.part or 'meter'
  if part ~= 'meter' and part ~= 'reserve' and part ~= 'overflow' then
    refuse('bad_call', 'part is meter, reserve or overflow')
  end
  if part == 'meter' and amount > 0 then
    Levels.fill(book, level, amount)
  else
    if part == 'meter' then check_not_owed(level, keys) end
    Ledger.post(book, level.name .. '.' .. part, amount)
  end
  Ledger.post(book, 'house', -amount)
  if part ~= 'reserve' then Ledger.count(book, level.name .. '.moved', amount) end
  return ''
end

-- Take money off a meter; it may not go below zero.
local function draw(book, keys, level, amount)
  check_not_owed(level, keys)
  if book.values[level.name .. '.meter'] < amount then
    refuse('not_enough', level.name .. ' holds less than that')
  end
  Ledger.post(book, level.name .. '.meter', -amount)
  Ledger.count(book, level.name .. '.moved', -amount)
end

local function put(book, level, amount)
  Levels.fill(book, level, amount)
  Ledger.count(book, level.name .. '.moved', amount)
end

-- transfer: level, amount, to (a level of this link), or to_link and to (one of another link).
-- Money for another link waits in transit; each pair of links counts its transfers.
function CARRY_OUT.transfer(book, keys, body)
  local amount = amount_of(body, 1)
  draw(book, keys, level_of(book, body.level), amount)
  if body.to_link == nil then
    put(book, level_of(book, body.to), amount)
    return ''
  elseif not Definitions.is_name(body.to_link) or not Definitions.is_name(body.to) then
    refuse('bad_call', 'a transfer to another link names the link and its level')
  elseif body.to_link == book.key:match('^{(.*)}:link$') then
    refuse('bad_call', 'to_link is this very link: name its level alone')
  end
  local field = 'sent.' .. body.to_link
  local number = tonumber(redis.call('HGET', book.key, field) or '0') + 1
  Ledger.post(book, 'transit', amount)
  book.sets[field] = int(number)
  book.sets['transfer.' .. body.to_link .. '.' .. int(number)] =
    encode({amount_micros = amount, level = body.to, time = book.time})
  return ',"transfer":' .. int(number)
end

-- limit: level, limit_micros, above what the meter shows; in force at once.
function CARRY_OUT.limit(book, _, body)
  local level = level_of(book, body.level)
  local limit = body.limit_micros
  if level.maximum_micros or type(limit) ~= 'number' or limit ~= floor(limit) or limit > AMOUNT_MAX then
    refuse('bad_call', 'limit_micros is a whole amount, and Must Hit has a maximum instead')
  elseif limit <= book.values[level.name .. '.meter'] then
    refuse('limit_below_meter', 'a limit may be changed only to above the present amount')
  end
  for _, name in ipairs({'level.' .. level.name, 'next.' .. level.name}) do
    local text = redis.call('HGET', book.key, name)
    local changed = text and cjson.decode(text)
    if changed then
      changed.limit_micros = limit
      Definitions.check_level(changed, book.link.terms.stake_micros) -- it lies above seed and reset
      book.sets[name] = encode(changed)
    end
  end
  book.sets['config'] = int(book.head + 1)
  return ''
end

-- What all levels may come to take of a wager, whichever of their definitions are in force by then.
local function most_taken(book, changed)
  local stake, taken = book.link.terms.stake_micros, 0
  for _, level in ipairs(book.link.open_levels) do
    local waiting = redis.call('HGET', book.key, 'next.' .. level.name)
    local most = Definitions.taken(level, stake)
    if level.name == changed.name then
      most = max(most, Definitions.taken(changed, stake))
    elseif waiting then
      most = max(most, Definitions.taken(cjson.decode(waiting), stake))
    end
    taken = taken + most
  end
  return taken
end

-- level: a whole new definition, but for the limit; in force at the level's next full reset.
function CARRY_OUT.level(book, _, body)
  local def = body.definition
  local level = level_of(book, type(def) == 'table' and def.name)
  def.limit_micros = level.limit_micros or cjson.null
  Definitions.check_level(def, book.link.terms.stake_micros)
  if (level.maximum_micros ~= nil) ~= (type(def.maximum_micros) == 'number') then
    refuse('bad_call', 'a level does not change between Must Hit and a card level')
  elseif most_taken(book, def) > book.link.terms.stake_micros then
    refuse('bad_call', 'the levels would take more than the wager')
  end
  book.sets['next.' .. level.name] = encode(def)
  return ''
end

-- table: a new or changed definition of a table, which must be closed (or new).
function CARRY_OUT.table(book, keys, body)
  local def = body.definition
  local key = keys[8]
  Definitions.check_table(def)
  if #keys ~= 8 or key:match(':table:(.*)$') ~= def.name then
    refuse('bad_call', 'name the key of the table that is changed')
  end
  if redis.call('EXISTS', key) == 1 then
    if Tables.read(key).status ~= 'closed' then
      refuse('table_not_closed', def.name .. ' is open: seats and combinations change while it is closed')
    end
    book.tables_changed = {{key, 'def', encode(def), 'places', int(def.seats), 'decks', int(def.decks)}}
  else
    book.sets['tables'] = book.link.table_names .. ',' .. def.name
    book.tables_changed = {Tables.new(key, def, 'closed')}
  end
  book.sets['config'] = int(book.head + 1)
  return ''
end

-- terms: paytable, lines, pay limits, simultaneous wins; with every table closed.
function CARRY_OUT.terms(book, keys, body)
  all_closed(book, keys, 'the paytable and its terms change while all tables are closed')
  Definitions.check_terms(body.terms, book.link.levels)
  if body.terms.stake_micros ~= book.link.terms.stake_micros then
    refuse('bad_call', 'the stake of a link does not change')
  end
  book.sets['terms'] = encode(body.terms)
  book.sets['config'] = int(book.head + 1)
  return ''
end

-- decommission: level, to (a level), or nothing: the house. The reset goes back to the house, with
-- the reserve; what the players built goes on. All tables closed, or for Must Hit no round locked.
function CARRY_OUT.decommission(book, keys, body, reveal)
  local level = level_of(book, body.level)
  local name, part = level.name, ''
  if body.to == name then refuse('bad_call', name .. ' cannot take over from itself') end
  if level.maximum_micros then
    if redis.call('ZCARD', keys[4]) > 0 then
      refuse('rounds_open', 'rounds are locked that could still win ' .. name)
    end
    local cycle = book.values['cycle']
    if reveal then
      local shown = decode(reveal, 'reveal')
      if not (shown[int(cycle)] and shown[int(cycle + 1)]) then
        refuse('decide_again', 'a cycle ended meanwhile: reveal the present one and the next')
      end
      part = ',"revealed":' .. reveal
    end
    book.secrets_gone = {int(cycle), int(cycle + 1)}
    book.deletes[#book.deletes + 1] = 'commit.' .. int(cycle)
    book.deletes[#book.deletes + 1] = 'commit.' .. int(cycle + 1)
  else
    all_closed(book, keys, 'a level is removed while all tables are closed')
  end
  local held = book.values[name .. '.meter'] + book.values[name .. '.overflow']
  local reset = min(level.reset_micros, held)
  local reserve = book.values[name .. '.reserve']
  Ledger.post(book, name .. '.overflow', -book.values[name .. '.overflow'])
  Ledger.post(book, name .. '.meter', -book.values[name .. '.meter'])
  Ledger.post(book, name .. '.reserve', -reserve)
  Ledger.count(book, name .. '.moved', -held)
  Ledger.post(book, 'house', reserve + reset)
  if body.to ~= nil then
    put(book, level_of(book, body.to), held - reset)
  else
    Ledger.post(book, 'house', held - reset)
  end
  local closed = cjson.decode(level.text)
  closed.closed = true
  book.sets['level.' .. name] = encode(closed)
  book.sets['config'] = int(book.head + 1)
  book.deletes[#book.deletes + 1] = 'next.' .. name
  return part
end

-- pay: award, above the amount that one person may pay.
function CARRY_OUT.pay(book, keys, body)
  local award = Awards.payable(book, body.award)
  Awards.pay(book, award, '{"result":"paid","award":' .. int(award.award) .. ',"amount":' ..
    int(award.amount) .. ',"entry":' .. int(book.head + 1) .. '}')
  return ',"paid":[' .. int(award.award) .. ']'
end

-- void_award: award. Reversed as a correction would.
function CARRY_OUT.void_award(book, keys, body)
  local award = Awards.payable(book, body.award)
  local shown = Awards.reverse(book, award, '{"result":"voided","award":' .. int(award.award) ..
    ',"amount":' .. int(award.amount) .. ',"entry":' .. int(book.head + 1) .. '}')
  return ',"reversed":[' .. shown .. ']'
end

-- hand_award: table, round, seat, line: a win found after the round ended.
function CARRY_OUT.hand_award(book, keys, body)
  if #keys ~= 8 or keys[8]:match(':table:(.*)$') ~= body.table then
    refuse('bad_call', 'name the key of the table whose round it was')
  end
  local state = Tables.read(keys[8])
  local pay = type(body.line) == 'string' and book.link.terms.lines[body.line]
  if not pay then refuse('unknown_line', tostring(body.line) .. ' is not a line of the paytable') end
  if not Definitions.is_whole(body.seat, 1, state.places) then
    refuse('seat_out_of_range', state.name .. ' has seats 1 to ' .. int(state.places))
  elseif not Definitions.is_whole(body.round, 1, state.round - 1) then
    refuse('round_not_over', 'a hand award is for a round that is over')
  end
  if pay.level then level_of(book, pay.level) end
  local award = Awards.win(book, {table = body.table, round = body.round, seat = body.seat,
    line = body.line, hand = true})
  award.over = true
  return ',"awards":[' .. Awards.shown(award) .. ']'
end
