-- Opening a link, its tables' doors, transfers that arrive, and what keeps the journal short.
-- KEYS of all: link, journal, proposals, locked rounds, awards, settled, secrets, then tables.

local Upkeep = {}

-- open: a new link, its seeds funded by the house. ARGV: by, definition (JSON), and for Must Hit the
-- commitments of cycles 1 and 2 and their ciphertexts.
-- Answer: entry. Refusals: link_exists, not_exact, amount_out_of_bounds, unknown_level, bad_call.
function Verbs.open(keys, args)
  local key, text = keys[1], args[2]
  local known = redis.call('HGET', key, 'opened')
  if known then
    if known == redis.sha1hex(text) then return '{"entry":1}' end
    refuse('link_exists', 'the link was opened before with another definition')
  end
  if redis.call('EXISTS', keys[2]) == 1 then
    refuse('link_exists', 'there is a journal of this link, but no link: restore it')
  end
  local def, by = decode(text, 'definition'), person(args[1])
  local must_hit = Definitions.check_link(def, key:match('^{(.*)}:link$'))
  if #args ~= (must_hit and 6 or 2) then
    refuse('bad_call', 'Must Hit brings two commitments and two ciphertexts, other links none')
  end
  for i = 3, #args do given(args[i], 'a commitment or a ciphertext') end
  local names, tables, sets = {}, {}, {}
  for i, at in ipairs(def.tables) do tables[i] = at.name end
  Tables.check_all(concat(tables, ','), keys, 'bad_call')
  for i, level in ipairs(def.levels) do
    names[i] = level.name
    sets[#sets + 1] = 'level.' .. level.name
    sets[#sets + 1] = encode(level)
  end
  redis.call('HSET', key, 'head', '0', 'time', '0', 'config', '1', 'opened', redis.sha1hex(text),
    'terms', encode(def.terms), 'levels', concat(names, ','), 'tables', concat(tables, ','), unpack(sets))
  local prefix = '{' .. def.link .. '}:table:'
  for _, at in ipairs(def.tables) do redis.call('HSET', unpack(Tables.new(prefix .. at.name, at, 'open'))) end
  audited[key], links[key] = 0, nil
  local book = Ledger.begin(keys)
  for _, name in ipairs(book.link.fields) do Ledger.set(book, name, 0) end
  for _, level in ipairs(book.link.levels) do
    Ledger.post(book, level.name .. '.meter', level.seed_micros)
    Ledger.post(book, 'house', -level.seed_micros)
    Ledger.count(book, level.name .. '.resets', level.seed_micros)
  end
  local commits = ''
  if book.link.must_hit then
    Ledger.set(book, 'cycle', 1)
    Ledger.set(book, 'opening', book.link.must_hit.seed_micros)
    book.sets['commit.1'], book.sets['commit.2'] = args[3], args[4]
    commits = ',"commits":[' .. quoted(args[3]) .. ',' .. quoted(args[4]) .. ']'
    redis.call('HSET', keys[7], '1', args[5], '2', args[6])
  end
  Ledger.enter(book, 'open', concat({',"by":', by, ',"definition":', text, commits,
    Ledger.postings(book)}))
  Ledger.write(book)
  return '{"entry":1}'
end

-- Open or close a table's door. The round stays; wagers that were not locked are forgotten.
local function door(keys, args, verb, status)
  local by, reason = person(args[1]), quoted(args[2])
  local book = Ledger.begin(keys)
  local state = Tables.open(book, keys[8])
  if state.status == status then return '{"result":"' .. status .. '",' .. Tables.standing(state) .. '}' end
  if state.phase ~= 'open' then
    refuse('wrong_phase', 'the round is ' .. state.phase .. ': end or void it first',
      {round = state.round, phase = state.phase})
  end
  if status == 'open' then
    for _, level in ipairs(book.link.levels) do
      if level.closed and not level.maximum_micros then
        refuse('level_closed', level.name .. ' has been decommissioned: tables of this link stay closed')
      end
    end
  end
  Tables.set(state, 'status', status)
  Tables.set(state, 'seats', 0)
  Tables.set(state, 'winners', 0)
  Ledger.enter(book, verb, concat({',"table":', quoted(state.name), ',"by":', by,
    ',"reason":', reason}))
  Tables.write(state)
  Ledger.write(book)
  return '{"result":"' .. status .. '",' .. Tables.standing(state) .. '}'
end

-- close_table, open_table: ARGV: by, reason. Answer: result, round, phase, lamps.
-- Refusals: wrong_phase, level_closed, unknown_table.
function Verbs.close_table(keys, args) return door(keys, args, 'close_table', 'closed') end
function Verbs.open_table(keys, args) return door(keys, args, 'open_table', 'open') end

-- pay: one person pays a pending award. ARGV: award, by. Answer: result, award, amount, entry.
-- Refusals: unknown_award, round_not_over, second_person_needed.
function Verbs.pay(keys, args)
  local number, by = whole(args[1], 'award', 1, AMOUNT_MAX), person(args[2])
  local book = Ledger.begin(keys)
  local kept = Awards.settled(keys[6], number)
  if kept then return kept end
  local award = Awards.payable(book, number)
  if award.amount > book.link.terms.two_person_above_micros then
    refuse('second_person_needed', 'award ' .. int(number) .. ' is above what one person may pay: propose it',
      {amount = award.amount})
  end
  local answer = concat({'{"result":"paid","award":', int(number), ',"amount":', int(award.amount),
    ',"entry":', int(book.head + 1), '}'})
  Awards.pay(book, award, answer)
  Ledger.enter(book, 'pay', concat({',"by":', by, ',"award":', int(number),
    ',"amount":', int(award.amount), Ledger.postings(book)}))
  Awards.write(book, keys[6])
  Ledger.write(book)
  return answer
end

-- receive: money that another link sent. ARGV: by, from (link), number of the transfer, level, amount.
-- Answer: result, entry. Refusals: transfer_order, unknown_level, amount_out_of_bounds.
function Verbs.receive(keys, args)
  local by, from, number = person(args[1]), args[2], whole(args[3], 'transfer', 1, AMOUNT_MAX)
  if not Definitions.is_name(from) then refuse('bad_call', 'a transfer comes from a link') end
  local amount = whole(args[5], 'amount', 1, AMOUNT_MAX)
  local book = Ledger.begin(keys)
  local field = 'received.' .. from
  local last = tonumber(redis.call('HGET', book.key, field) or '0')
  if number <= last then return '{"result":"duplicate"}' end
  if number ~= last + 1 then
    refuse('transfer_order', 'the next transfer from ' .. from .. ' is number ' .. int(last + 1), {next = last + 1})
  end
  local level = book.link.levels[args[4]]
  if not level or level.closed then
    refuse('unknown_level', args[4] .. ' is not an open level of this link')
  end
  Ledger.post(book, 'transit', -amount)
  Levels.fill(book, level, amount)
  Ledger.count(book, level.name .. '.moved', amount)
  book.sets[field] = int(number)
  local entry = Ledger.enter(book, 'receive', concat({',"by":', by, ',"from":', quoted(from),
    ',"transfer":', int(number), ',"level":', quoted(level.name), ',"amount":', int(amount),
    Ledger.postings(book)}))
  Ledger.write(book)
  return '{"result":"received","entry":' .. int(entry) .. '}'
end

-- cleared: the other link has it. ARGV: by, to (link), number. Answer: result. No refusals of its own.
function Verbs.cleared(keys, args)
  local by, to, number = person(args[1]), quoted(args[2]), whole(args[3], 'transfer', 1, AMOUNT_MAX)
  local book = Ledger.begin(keys)
  local field = 'transfer.' .. args[2] .. '.' .. int(number)
  if redis.call('HEXISTS', book.key, field) == 0 then return '{"result":"duplicate"}' end
  book.deletes[1] = field
  Ledger.enter(book, 'cleared', concat({',"by":', by, ',"to":', to, ',"transfer":', int(number)}))
  Ledger.write(book)
  return '{"result":"cleared"}'
end

local GROUPS = {level = 'levels', next = 'next', first = 'firsts', commit = 'commits', sent = 'sent',
  received = 'received', transfer = 'transfers'}
local TEXT_GROUPS = {firsts = true, commits = true}
local TEXT_FIELDS = {levels = true, tables = true, opening_cards = true}

local function records(key)
  local found, parts = redis.call('HVALS', key), {}
  for i, text in ipairs(found) do parts[i] = text end
  return '[' .. concat(parts, ',') .. ']'
end

-- The whole state of a link as JSON, without what is kept for repeats.
function Upkeep.dump(keys)
  local found = redis.call('HGETALL', keys[1])
  local groups = {numbers = {}, texts = {}, levels = {}, next = {}, firsts = {}, commits = {}, sent = {},
    received = {}, transfers = {}}
  local terms = '{}'
  for i = 1, #found, 2 do
    local name, value = found[i], found[i + 1]
    local prefix, rest = name:match('^(%a+)%.(.+)$')
    local group = GROUPS[prefix or '']
    if name == 'terms' then
      terms = value
    elseif name ~= 'opened' then
      if not group then group = TEXT_FIELDS[name] and 'texts' or 'numbers' else name = rest end
      if TEXT_GROUPS[group] or group == 'texts' then value = quoted(value) end
      table.insert(groups[group], quoted(name) .. ':' .. value)
    end
  end
  local parts, tables = {'"terms":' .. terms}, {}
  for name, fields in pairs(groups) do parts[#parts + 1] = quoted(name) .. ':{' .. concat(fields, ',') .. '}' end
  for i = 8, #keys do tables[#tables + 1] = Tables.dump(keys[i]) end
  parts[#parts + 1] = '"tables":{' .. concat(tables, ',') .. '}'
  parts[#parts + 1] = '"awards":' .. records(keys[5])
  parts[#parts + 1] = '"proposals":' .. records(keys[3])
  return '{' .. concat(parts, ',') .. '}'
end

local function every_table(keys)
  local names = redis.call('HGET', keys[1], 'tables')
  if not names then refuse('unknown_link', 'there is no such link on this server') end
  Tables.check_all(names, keys, 'tables_changed')
end

-- snapshot: all of a link in one consistent look. Answer: the state. Read only.
-- Refusals: unknown_link, tables_changed.
function Verbs.snapshot(keys)
  every_table(keys)
  return Upkeep.dump(keys)
end

-- balance: the state goes into the journal, so that a replay can begin here. Answer: entry.
function Verbs.balance(keys, args)
  every_table(keys)
  local by = person(args[1])
  local book = Ledger.begin(keys)
  local state = Upkeep.dump(keys)
  local entry = Ledger.enter(book, 'balance', ',"by":' .. by .. ',"state":' .. state)
  book.sets['balance'] = int(entry)
  Ledger.write(book)
  return '{"entry":' .. int(entry) .. '}'
end

-- sealed: the sealer's cursor; the journal is trimmed behind the last balance that is sealed, once
-- the link has been audited: until then the auditor may need what lies behind it.
-- ARGV: how many entries are sealed. Answer: sealed, first entry kept. Refusals: seal_ahead.
function Verbs.sealed(keys, args)
  local sealed = whole(args[1], 'sealed', 0, AMOUNT_MAX)
  local found = redis.call('HMGET', keys[1], 'head', 'balance')
  if not found[1] then refuse('unknown_link', 'there is no such link on this server') end
  if sealed > tonumber(found[1]) then
    refuse('seal_ahead', 'the seal holds ' .. int(sealed) .. ' entries, the journal ' .. found[1] ..
      ': this server is behind its seal and must stay closed')
  end
  local balance = tonumber(found[2] or '0')
  if balance > 0 and balance <= sealed and audited[keys[1]] == tonumber(found[1]) then
    redis.call('XTRIM', keys[2], 'MINID', int(balance) .. '-0')
  end
  return '{"sealed":' .. int(sealed) .. ',"balance":' .. int(balance) .. '}'
end

local started -- names this start of the server; known from when an auditor first asks for it

-- start: the name of this start, which an auditor hands back with its word. Read only.
function Verbs.start()
  if not started then
    local now = redis.call('TIME')
    started = now[1] .. '.' .. now[2]
  end
  return started
end

-- audited: an auditor vouches for the journal up to its head; only then is anything written.
-- ARGV: head, and the start in which it was audited. Answer: head.
-- Refusals: unknown_link, head_moved, restarted.
function Verbs.audited(keys, args)
  local head = redis.call('HGET', keys[1], 'head')
  if not head then refuse('unknown_link', 'there is no such link on this server') end
  if head ~= args[1] then
    refuse('head_moved', 'the journal is at entry ' .. head .. ', the audit at another')
  end
  if args[2] ~= started then
    refuse('restarted', 'the server was started again during the audit: audit it anew')
  end
  audited[keys[1]], links[keys[1]] = tonumber(head), nil
  return '{"head":' .. head .. '}'
end

-- is_audited: whether this server would take a step. Answer: 1 or 0. Read only.
function Verbs.is_audited(keys)
  local head = redis.call('HGET', keys[1], 'head')
  return head and audited[keys[1]] == tonumber(head) and 1 or 0
end

-- Read the changes that an entry of the site's journal makes: key, field and value.
local function changes_of(keys, args)
  if #args % 3 ~= 1 then refuse('bad_call', 'a change is a hash, a field and a value') end
  local changes = {}
  for i = 5, #args, 3 do
    local key = keys[2 + whole(args[i], 'hash', 1, #keys - 2)]
    if redis.call('TYPE', key).ok ~= 'hash' and redis.call('EXISTS', key) == 1 then
      refuse('bad_call', key .. ' is no hash')
    end
    changes[#changes + 1] = {key = key, field = args[i + 1], value = args[i + 2]}
  end
  return changes
end

-- record: an entry of the site's own journal, and the records it changes. KEYS: site, journal, then
-- the hashes that change. ARGV: number (one more than the last), by, kind, body (JSON object), then
-- for each change: which of the hashes (1, 2, ...), field, value; no value deletes. Answer: entry.
-- Refusals: entry_number (with the next), not_audited, bad_call.
function Verbs.record(keys, args)
  local number, by, kind = whole(args[1], 'number', 1, AMOUNT_MAX), person(args[2]), given(args[3], 'kind')
  local changes = changes_of(keys, args)
  local found = redis.call('HMGET', keys[1], 'head', 'time', 'last')
  local head, content = tonumber(found[1] or '0'), concat(args, '\n', 2)
  if not found[1] and redis.call('EXISTS', keys[2]) == 0 then audited[keys[1]] = 0 end
  if audited[keys[1]] ~= head then
    refuse('not_audited', 'the site journal is closed until it has been audited on this server')
  end
  if number == head and found[3] == redis.sha1hex(content) then return '{"entry":' .. int(number) .. '}' end
  if number ~= head + 1 then
    refuse('entry_number', 'the next entry of the site journal is ' .. int(head + 1), {next = head + 1})
  end
  decode(args[4], 'body', true)
  local now = redis.call('TIME')
  local time = max(tonumber(found[2] or '0'), now[1] * 1000 + floor(now[2] / 1000))
  for _, change in ipairs(changes) do
    if change.value == '' then
      redis.call('HDEL', change.key, change.field)
    else
      redis.call('HSET', change.key, change.field, change.value)
    end
  end
  redis.call('HSET', keys[1], 'head', int(number), 'time', int(time), 'last', redis.sha1hex(content))
  redis.call('XADD', keys[2], int(number) .. '-0', 'e', concat({'{"n":', int(number), ',"t":', int(time),
    ',"k":', kind, ',"by":', by, ',"body":', args[4], '}'}))
  audited[keys[1]] = number
  return '{"entry":' .. int(number) .. '}'
end

-- due: what deciding Must Hit needs. KEYS: as above, the table eighth. Answer: the round's lock,
-- cycle, value, bettors and cards as first recorded; the present cycle, its opening value and the
-- cards that opened it; the sealed secret; the earlier rounds still open; for an automated table the
-- shoe's number, its sealed secret, the cards that are gone, and the line of the lock. Read only.
function Verbs.due(keys)
  local state = Tables.read(keys[8])
  local line = redis.call('HGET', keys[8], 'line')
  local shoe = redis.call('HGET', keys[7], 'shoe:' .. state.name)
  local link = redis.call('HMGET', keys[1], 'cycle', 'opening', 'opening_cards')
  local open = redis.call('ZRANGEBYSCORE', keys[4], '-inf', '(' .. int(state.lock))
  local sealed = redis.call('HGET', keys[7], link[1] or '0')
  return concat({'{"round":', int(state.round), ',"phase":"', state.phase, '","lock":', int(state.lock),
    ',"cycle":', int(state.cycle), ',"value":', int(state.value), ',"seats":', Seats.list(state.locked),
    ',"first":', quoted(state.first), ',"present":', link[1] or '0', ',"opening":', link[2] or '0',
    ',"opening_cards":', quoted(link[3] or ''), ',"sealed":', quoted(sealed or ''),
    ',"earlier":', quoted(concat(open, ';')), ',"shoe":', int(state.shoe), ',"cards":',
    quoted(state.cards), ',"reader":', Cards.list(state.reader), ',"counts":', quoted(state.counts), ',"shoe_sealed":', quoted(shoe or ''),
    ',"line":', quoted(line or ''), '}'})
end
