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
local TEXTS = {'status', 'phase', 'kind', 'cards', 'first', 'awards', 'counts', 'commit'}
local FIELDS = {}
for i = 1, #NUMBERS do FIELDS[#FIELDS + 1] = NUMBERS[i] end
for i = 1, #TEXTS do FIELDS[#FIELDS + 1] = TEXTS[i] end
local MEMO = #FIELDS + 1

-- Read a table's state, and one kept answer beside it.
function Tables.read(key, memo)
  FIELDS[MEMO] = memo or 'round'
  local found = redis.call('HMGET', key, unpack(FIELDS))
  FIELDS[MEMO] = nil
  if not found[3] then
    refuse('unknown_table', key:match(':table:(.*)$') .. ' is not a table of this link')
  end
  local state = {key = key, name = key:match(':table:(.*)$'), memo = found[MEMO], sets = {}}
  for i, name in ipairs(FIELDS) do
    state[name] = i <= #NUMBERS and tonumber(found[i]) or found[i]
  end
  return state
end

-- The fields of a new table, as arguments of HSET.
function Tables.new(key, def, status)
  local fields = {key, 'def', encode(def)}
  local values = {places = int(def.seats), decks = int(def.decks), round = '1', status = status,
    phase = 'open', counts = Cards.NONE}
  for i = 1, MEMO - 1 do
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
  state[name] = value
  state.sets[name] = type(value) == 'number' and int(value) or value
end

function Tables.write(state)
  local sets = {}
  for name, text in pairs(state.sets) do
    sets[#sets + 1] = name
    sets[#sets + 1] = text
  end
  redis.call('HSET', state.key, unpack(sets))
  if state.forget then redis.call('HDEL', state.key, unpack(state.forget)) end
end

local function memo_name(verb, round)
  return verb .. '.' .. int(round % 2)
end

-- Begin a step of a round: `content` is what makes a repeat the same call. Returns the table's
-- state, or nil and the first answer where this is a repeat.
function Tables.step(keys, verb, round, content)
  local state = Tables.read(keys[3], memo_name(verb, round))
  if round < state.round - 1 then
    refuse('stale_round', 'round ' .. int(round) .. ' is over: the table is at round ' ..
      int(state.round), {round = state.round, phase = state.phase})
  elseif round > state.round then
    refuse('round_ahead', 'round ' .. int(round) .. ' has not begun: the table is at round ' ..
      int(state.round), {round = state.round, phase = state.phase})
  end
  local first, answer = (state.memo or ''):match('^([^\n]*)\n(.*)$')
  if first == content then return nil, answer end
  if round < state.round then
    refuse('stale_round', 'round ' .. int(round) .. ' is over: the table is at round ' ..
      int(state.round), {round = state.round, phase = state.phase})
  elseif first and verb ~= 'correct' then
    refuse('conflict', verb .. ' of round ' .. int(round) .. ' was done before with other content')
  elseif state.status ~= 'open' then
    refuse('table_closed', state.name .. ' is closed')
  elseif not NEXT[verb][state.phase] then
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
  for _, name in ipairs({'kind', 'cards', 'first', 'awards'}) do Tables.set(state, name, '') end
end

-- Keep the answer of a step, for a repeat of it.
function Tables.keep(state, verb, round, content, answer)
  state.sets[memo_name(verb, round)] = content .. '\n' .. answer
end

-- What each seat's bet sensor shows: - off, A accepted, K locked, L late, W winner.
function Tables.lamps(state)
  local lamps = {}
  for seat = 1, state.places do
    local bets = state.phase == 'open' and Seats.has(state.seats, seat)
    if Seats.has(state.winners, seat) and not bets then
      lamps[seat] = 'W'
    elseif state.phase ~= 'open' and Seats.has(state.locked, seat) then
      lamps[seat] = 'K'
    elseif Seats.has(state.late, seat) then
      lamps[seat] = 'L'
    elseif bets then
      lamps[seat] = 'A'
    else
      lamps[seat] = '-'
    end
  end
  return concat(lamps)
end

-- How an answer tells a device or a screen where the table stands.
function Tables.standing(state)
  return concat({'"round":', int(state.round), ',"phase":"', state.phase, '","lamps":"',
    Tables.lamps(state), '"'})
end
