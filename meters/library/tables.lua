-- A table as one call sees it: its state, its phase, and the answers kept for repeats.

local Tables = {}

-- What a step does to the phase of a table's round. Ended, void and cancelled rounds are over: the
-- next one is open at once. An illegal step is refused and changes nothing.
local NEXT = {
  lock = {open = 'locked'},
  deal = {locked = 'dealt'},
  correct = {dealt = 'dealt'},
  ['end'] = {dealt = 'open'},
  void = {locked = 'open', dealt = 'open'},
  cancel = {open = 'open'},
}
local STEPS = {'lock', 'deal', 'correct', 'end', 'void', 'cancel'}

-- The fields of a table that make up its state: numbers, and texts.
local NUMBERS = {'places', 'decks', 'round', 'seats', 'late', 'locked', 'lock', 'cycle', 'value',
  'corrections', 'winners', 'prev_locked', 'shoe'}
local TEXTS = {'status', 'phase', 'kind', 'cards', 'first', 'awards', 'counts', 'commit', 'reader'}
local FIELDS = {}
for i = 1, #NUMBERS do FIELDS[#FIELDS + 1] = NUMBERS[i] end
for i = 1, #TEXTS do FIELDS[#FIELDS + 1] = TEXTS[i] end

local KEPT = {} -- the fields that make up the state; others are answers kept for repeats
for i = 1, #FIELDS do KEPT[FIELDS[i]] = true end

-- Read a table's state from its hash.
function Tables.read(key)
  local found = redis.call('HMGET', key, unpack(FIELDS))
  local name = key:match(':table:(.*)$')
  if not found[1] then
    refuse('unknown_table', tostring(name) .. ' is not a table of this link')
  end
  local state = {key = key, name = name}
  for i = 1, #NUMBERS do state[FIELDS[i]] = tonumber(found[i]) end
  for i = #NUMBERS + 1, #FIELDS do state[FIELDS[i]] = found[i] end
  return state
end

-- Refuse keys that are not those of every table of the link, each of them once.
function Tables.check_all(names, keys, code)
  local missing, count = {}, 0
  for name in names:gmatch('[^,]+') do
    missing[name], count = true, count + 1
  end
  for i = 8, #keys do
    local name = keys[i]:match(':table:(.*)$')
    if not missing[name] then refuse(code, 'name every table of the link once, and no other') end
    missing[name], count = nil, count - 1
  end
  if count > 0 then refuse(code, 'name every table of the link: ' .. int(count) .. ' are missing') end
end

-- Give a table as a call may change it: changes lie over what is known until they are written.
function Tables.open(book, key)
  local known = book.link.tables[key]
  if not known then
    known = Tables.read(key)
    known.overlay = {__index = known}
    book.link.tables[key] = known
  end
  return setmetatable({known = known, sets = {}}, known.overlay)
end

-- The fields of a new table, as arguments of HSET.
function Tables.new(key, def, status)
  local fields = {key, 'def', encode(def)}
  local values = {places = int(def.seats), decks = int(def.decks), round = '1', status = status,
    phase = 'open', counts = Cards.NONE}
  for i = 1, #FIELDS do
    fields[#fields + 1] = FIELDS[i]
    fields[#fields + 1] = values[FIELDS[i]] or (i <= #NUMBERS and '0' or '')
  end
  return fields
end

-- A table's state as JSON, without the answers kept for repeats.
function Tables.dump(key)
  local state = Tables.read(key)
  local parts = {'"def":' .. redis.call('HGET', key, 'def')}
  for _, name in ipairs(NUMBERS) do parts[#parts + 1] = '"' .. name .. '":' .. int(state[name]) end
  for _, name in ipairs(TEXTS) do parts[#parts + 1] = '"' .. name .. '":' .. quoted(state[name]) end
  return quoted(state.name) .. ':{' .. concat(parts, ',') .. '}'
end

function Tables.set(state, name, value)
  state[name], state.sets[name] = value, value
end

function Tables.write(state)
  local sets = {}
  for name, value in pairs(state.sets) do
    sets[#sets + 1] = name
    sets[#sets + 1] = type(value) == 'number' and int(value) or value
    if KEPT[name] then state.known[name] = value end
  end
  redis.call('HSET', state.key, unpack(sets))
  if state.forget then redis.call('HDEL', state.key, unpack(state.forget)) end
end

local function memo_name(verb, round)
  return verb .. '.' .. int(round % 2)
end

local function wrong_round(state, round, code, what)
  refuse(code, 'round ' .. int(round) .. what .. int(state.round),
    {round = state.round, phase = state.phase})
end

-- Begin a step of a round: `content` is what makes a repeat the same call. Returns the table's
-- state, or nil and the first answer where this is a repeat.
function Tables.step(book, key, verb, round, content)
  local state = Tables.open(book, key)
  if round < state.round - 1 then
    wrong_round(state, round, 'stale_round', ' is over: the table is at round ')
  elseif round > state.round then
    wrong_round(state, round, 'round_ahead', ' has not begun: the table is at round ')
  end
  local legal = round == state.round and NEXT[verb][state.phase]
  -- A step that is legal has not been done in this round; a correction may be done again.
  if not legal or verb == 'correct' then
    local memo = redis.call('HGET', key, memo_name(verb, round))
    local first, answer = (memo or ''):match('^([^\n]*)\n(.*)$')
    if first == content then return nil, answer end
    if round < state.round then
      wrong_round(state, round, 'stale_round', ' is over: the table is at round ')
    elseif first and verb ~= 'correct' then
      refuse('conflict', verb .. ' of round ' .. int(round) .. ' was done before with other content')
    end
  end
  if state.status ~= 'open' then
    refuse('table_closed', state.name .. ' is closed')
  elseif not legal then
    refuse('wrong_phase', 'round ' .. int(round) .. ' is ' .. state.phase .. ': it cannot take ' ..
      verb, {round = state.round, phase = state.phase})
  end
  return state
end

-- Go to the step's next phase; where the round is over, open the next one.
function Tables.advance(state, verb)
  local phase = NEXT[verb][state.phase]
  Tables.set(state, 'phase', phase)
  if phase ~= 'open' then return end
  state.forget = {}
  for _, step in ipairs(STEPS) do
    state.forget[#state.forget + 1] = memo_name(step, state.round + 1)
  end
  Tables.set(state, 'round', state.round + 1)
  Tables.set(state, 'prev_locked', state.locked)
  for _, name in ipairs({'seats', 'late', 'locked', 'lock', 'cycle', 'value', 'corrections'}) do
    Tables.set(state, name, 0)
  end
  for _, name in ipairs({'kind', 'cards', 'first', 'awards', 'reader'}) do Tables.set(state, name, '') end
end

-- Keep the answer of a step, for a repeat of it.
function Tables.keep(state, verb, round, content, answer)
  state.sets[memo_name(verb, round)] = content .. '\n' .. answer
end

local function lamp(state, seat)
  local bets = state.phase == 'open' and Seats.has(state.seats, seat)
  if Seats.has(state.winners, seat) and not bets then return 'W' end
  if state.phase ~= 'open' and Seats.has(state.locked, seat) then return 'K' end
  if Seats.has(state.late, seat) then return 'L' end
  return bets and 'A' or '-'
end

-- What each seat's bet sensor shows: - off, A accepted, K locked, L late, W winner.
-- Few patterns ever occur, so their texts are kept, up to a bound.
local patterns, pattern_count = {}, 0
function Tables.lamps(state)
  local bets = state.phase == 'open' and state.seats or state.locked + 512
  local pattern = ((bets * 512 + state.winners) * 512 + state.late) * 10 + state.places
  local known = patterns[pattern]
  if not known then
    local lamps = {}
    for seat = 1, state.places do lamps[seat] = lamp(state, seat) end
    known = concat(lamps)
    if pattern_count >= 4096 then patterns, pattern_count = {}, 0 end
    patterns[pattern], pattern_count = known, pattern_count + 1
  end
  return known
end

-- How an answer tells a device or a screen where the table stands.
function Tables.standing(state)
  return concat({'"round":', int(state.round), ',"phase":"', state.phase, '","lamps":"',
    Tables.lamps(state), '"'})
end
