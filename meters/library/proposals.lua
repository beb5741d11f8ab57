-- What needs two persons: numbered proposals, carried out when another person approves.

local function level_of(book, name)
  local level = name and book.link.levels[name]
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
  local count = 0
  for _ in book.link.table_names:gmatch('[^,]+') do count = count + 1 end
  if #keys - 7 ~= count then refuse('bad_call', 'name every table of the link') end
  for i = 8, #keys do
    local state = Tables.read(keys[i])
    if state.status ~= 'closed' then
      refuse('table_not_closed', state.name .. ' is open: ' .. why)
    end
  end
end

local CARRY_OUT = {}

-- adjust: level, part (meter, reserve, overflow), amount; against the house.
function CARRY_OUT.adjust(book, _, body)
  local level = level_of(book, body.level)
  local amount = amount_of(body, -AMOUNT_MAX)
  local part = body.part or 'meter'
  if part ~= 'meter' and part ~= 'reserve' and part ~= 'overflow' then
    refuse('bad_call', 'part is meter, reserve or overflow')
  end
  if part == 'meter' and amount > 0 then
    Levels.fill(book, level, amount)
  else
    Ledger.post(book, level.name .. '.' .. part, amount)
  end
  Ledger.post(book, 'house', -amount)
  if part ~= 'reserve' then Ledger.count(book, level.name .. '.moved', amount) end
  return ''
end

-- Take money off a meter; it may not go below zero.
local function draw(book, level, amount)
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
function CARRY_OUT.transfer(book, _, body)
  local amount = amount_of(body, 1)
  draw(book, level_of(book, body.level), amount)
  if not body.to_link then
    put(book, level_of(book, body.to), amount)
    return ''
  end
  local field = 'sent.' .. body.to_link
  local number = tonumber(redis.call('HGET', book.key, field) or '0') + 1
  Ledger.post(book, 'transit', amount)
  book.sets[field] = int(number)
  book.sets['transfer.' .. body.to_link .. '.' .. int(number)] =
    encode({amount_micros = amount, level = body.to, time = book.time})
  return ',"transfer":' .. int(number)
end

-- A limit lies above what a level begins and begins again with: no reader takes another one.
local function insist_on_room(limit, def)
  if limit <= max(def.seed_micros, def.reset_micros) then
    refuse('bad_call', 'a limit lies above seed and reset')
  end
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
  local changed = cjson.decode(level.text)
  insist_on_room(limit, changed)
  changed.limit_micros = limit
  book.sets['level.' .. level.name] = encode(changed)
  book.sets['config'] = int(book.head + 1)
  local waiting = redis.call('HGET', book.key, 'next.' .. level.name)
  if waiting then
    changed = cjson.decode(waiting)
    insist_on_room(limit, changed)
    changed.limit_micros = limit
    book.sets['next.' .. level.name] = encode(changed)
  end
  return ''
end

-- level: a whole new definition, checked by the caller; in force at the level's next full reset.
function CARRY_OUT.level(book, _, body)
  local level = level_of(book, body.definition and body.definition.name)
  if (level.maximum_micros ~= nil) ~= (type(body.definition.maximum_micros) == 'number') then
    refuse('bad_call', 'a level does not change between Must Hit and a card level')
  end
  if level.limit_micros then
    insist_on_room(level.limit_micros, body.definition)
  end
  body.definition.limit_micros = level.limit_micros or cjson.null
  book.sets['next.' .. level.name] = encode(body.definition)
  return ''
end

-- table: a new or changed definition of a table, which must be closed (or new).
function CARRY_OUT.table(book, keys, body)
  local def = body.definition
  local key = keys[8]
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
      part = ',"revealed":' .. encode(shown)
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
  if body.to then
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
  local state = Tables.read(keys[8])
  if #keys ~= 8 or state.name ~= body.table then
    refuse('bad_call', 'name the key of the table whose round it was')
  end
  local pay = book.link.terms.lines[body.line]
  if not pay then refuse('unknown_line', tostring(body.line) .. ' is not a line of the paytable') end
  if type(body.seat) ~= 'number' or body.seat < 1 or body.seat > state.places then
    refuse('seat_out_of_range', state.name .. ' has seats 1 to ' .. int(state.places))
  elseif type(body.round) ~= 'number' or body.round < 1 or body.round >= state.round then
    refuse('round_not_over', 'a hand award is for a round that is over')
  end
  if pay.level then level_of(book, pay.level) end
  local award = Awards.win(book, {table = body.table, round = body.round, seat = body.seat,
    line = body.line, hand = true})
  award.over = true
  return ',"awards":[' .. Awards.shown(award) .. ']'
end

local function proposal_answer(entry, number, result)
  return concat({'{"entry":', int(entry), ',"number":', int(number), ',"result":"', result, '"}'})
end

-- KEYS of these: link, journal, proposals, locked rounds, awards, settled, secrets, then tables.

-- propose: the first person.
-- ARGV: number (one more than the last), by, what, reason, body (JSON).
-- Answer: entry, number, result. Refusals: proposal_number, bad_call.
function Verbs.propose(keys, args)
  local number = whole(args[1], 'number', 1, AMOUNT_MAX)
  local by, what, reason, body = args[2], args[3], args[4], args[5]
  local book = Ledger.begin(keys)
  local last = book.values['proposals']
  local kept = redis.call('HGET', keys[3], int(number))
  if number <= last then
    local proposal = kept and cjson.decode(kept)
    if proposal and proposal.by == by and proposal.what == what and proposal.reason == reason
        and proposal.body == body then
      return proposal_answer(proposal.entry, number, 'proposed')
    end
  end
  if number ~= last + 1 then
    refuse('proposal_number', 'the next proposal is number ' .. int(last + 1), {next = last + 1})
  elseif not CARRY_OUT[what] then
    refuse('bad_call', tostring(what) .. ' is nothing that can be proposed')
  elseif reason == '' or by == '' then
    refuse('bad_call', 'a proposal needs a person and a reason')
  end
  decode(body, 'body')
  Ledger.set(book, 'proposals', number)
  local entry = Ledger.enter(book, 'propose', concat({',"number":', int(number), ',"by":', quoted(by),
    ',"what":', quoted(what), ',"reason":', quoted(reason), ',"body":', body}))
  redis.call('HSET', keys[3], int(number), encode({number = number, by = by, what = what,
    reason = reason, body = body, entry = entry}))
  Ledger.write(book)
  return proposal_answer(entry, number, 'proposed')
end

-- Find an open proposal, or the answer of one that was settled in the same way by the same person.
local function open_proposal(keys, number, by, result)
  local kept = redis.call('HGET', keys[3], int(number))
  if kept then return cjson.decode(kept) end
  local slot = redis.call('HGET', keys[6], 'p' .. int(number % SETTLED_KEPT))
  local named, who, how, answer = (slot or ''):match('^(%d+) (%S+) (%a+) (.*)$')
  if named == int(number) and how == result and who == by then return nil, answer end
  if named == int(number) then
    refuse('proposal_settled', 'proposal ' .. int(number) .. ' was ' .. how .. ' by ' .. who)
  end
  refuse('unknown_proposal', 'there is no open proposal ' .. int(number))
end

local function settle(keys, proposal, by, how, answer)
  redis.call('HDEL', keys[3], int(proposal.number))
  redis.call('HSET', keys[6], 'p' .. int(proposal.number % SETTLED_KEPT),
    concat({int(proposal.number), by, how, answer}, ' '))
end

-- approve: the second person; the proposal is carried out. ARGV: number, by, and where Must Hit is
-- decommissioned what its cycles' secrets were (JSON; without it they are abandoned).
-- Answer: entry, number, result, and what it brought about. Refusals: same_person,
-- unknown_proposal, proposal_settled, and those of what is carried out.
function Verbs.approve(keys, args)
  local number, by = whole(args[1], 'number', 1, AMOUNT_MAX), args[2]
  local book = Ledger.begin(keys)
  local proposal, answer = open_proposal(keys, number, by, 'approved')
  if not proposal then return answer end
  if proposal.by == by or by == '' then
    refuse('same_person', 'a proposal is approved by another person than ' .. proposal.by)
  end
  local part = CARRY_OUT[proposal.what](book, keys, cjson.decode(proposal.body), args[3])
  local entry = Ledger.enter(book, 'approve', concat({',"number":', int(number), ',"by":', quoted(by),
    part, #book.in_force > 0 and ',"in_force":[' .. concat(book.in_force, ',') .. ']' or '',
    Ledger.postings(book)}))
  answer = concat({'{"entry":', int(entry), ',"number":', int(number), ',"result":"approved"',
    part, '}'})
  for _, fields in ipairs(book.tables_changed or {}) do redis.call('HSET', unpack(fields)) end
  for _, cycle in ipairs(book.secrets_gone or {}) do redis.call('HDEL', keys[7], cycle) end
  book.read_anew = true -- definitions may have changed
  settle(keys, proposal, by, 'approved', answer)
  Awards.write(book, keys[6])
  Ledger.write(book)
  return answer
end

-- reject: the proposer withdraws it, or another person turns it down. ARGV: number, by, reason.
-- Answer: entry, number, result. Refusals: unknown_proposal, proposal_settled.
function Verbs.reject(keys, args)
  local number, by, reason = whole(args[1], 'number', 1, AMOUNT_MAX), args[2], args[3]
  local book = Ledger.begin(keys)
  local proposal, answer = open_proposal(keys, number, by, 'rejected')
  if not proposal then return answer end
  local entry = Ledger.enter(book, 'reject', concat({',"number":', int(number), ',"by":', quoted(by),
    ',"reason":', quoted(reason)}))
  answer = proposal_answer(entry, number, 'rejected')
  settle(keys, proposal, by, 'rejected', answer)
  Ledger.write(book)
  return answer
end
