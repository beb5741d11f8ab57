-- Messages of the sensor hubs: (epoch, sequence) makes each count once, whatever is repeated.

-- Read the last message of a device: epoch, sequence, content, answer.
local function last_message(kept)
  local epoch, sequence, content, answer = (kept or ''):match('^(%d+) (%d+) ([^\n]*)\n(.*)$')
  return tonumber(epoch or '0'), tonumber(sequence or '0'), content, answer
end

-- Decide whether a message is the next one. Returns nil, or the answer that settles it.
local function out_of_order(state, device, epoch, sequence, content)
  local kept = redis.call('HGET', state.key, 'device.' .. device)
  local last_epoch, last_sequence, last_content, answer = last_message(kept)
  if epoch < last_epoch then
    refuse('epoch_lower', device .. ' has begun epoch ' .. int(last_epoch) ..
      ': a lower one is refused', {epoch = last_epoch, sequence = last_sequence})
  elseif epoch > last_epoch then
    last_sequence = 0
  elseif sequence == last_sequence then
    if content == last_content then
      return '{"result":"duplicate",' .. answer:match('^{"result":"%a+",(.*)$')
    end
    refuse('sequence_reused', device .. ' sent sequence ' .. int(sequence) ..
      ' before with other content', {epoch = last_epoch, sequence = last_sequence})
  elseif sequence < last_sequence then
    return '{"result":"stale","expected":' .. int(last_sequence + 1) .. ',' .. Tables.standing(state) .. '}'
  end
  if sequence ~= last_sequence + 1 then
    return '{"result":"gap","expected":' .. int(last_sequence + 1) .. ',' .. Tables.standing(state) .. '}'
  end
  return nil
end

-- Seats whose wager comes too late: those that the lock of the named round did not count.
local function late_seats(state, round, seats)
  local counted = 0
  if round == state.round then counted = state.locked end
  if round == state.round - 1 then counted = state.prev_locked end
  return seats - band(seats, counted)
end

local function message_body(state, round, message, seats)
  return concat({',"table":', quoted(state.name), ',"round":', int(round), ',"device":',
    quoted(message.device), ',"epoch":', int(message.epoch), ',"sequence":',
    int(message.sequence), ',"seats":', Seats.list(seats)})
end

-- Consume a message: its state is applied while its round is open, and late otherwise.
local function consume(book, state, message)
  local result, late = 'applied', 0
  if message.kind == 'state' then
    if state.status ~= 'open' then
      result = 'closed'
    elseif message.round == state.round and state.phase == 'open' then
      if message.seats ~= state.seats then
        Ledger.enter(book, 'seats', message_body(state, message.round, message, message.seats))
        Tables.set(state, 'seats', message.seats)
      end
    else
      late = late_seats(state, message.round, message.seats)
      if late ~= 0 then
        result = 'late'
        Ledger.enter(book, 'late', message_body(state, message.round, message, late))
        if message.round == state.round then Tables.set(state, 'late', bor(state.late, late)) end
      end
    end
  end
  local answer = concat({'{"result":"', result, '",', Tables.standing(state),
    late ~= 0 and ',"late":' .. Seats.list(late) or '', '}'})
  state.sets['device.' .. message.device] = concat({int(message.epoch), ' ', int(message.sequence),
    ' ', message.content, '\n', answer})
  return answer
end

local function take_message(book, key, args, at)
  local message = {
    device = args[at], epoch = whole(args[at + 1], 'epoch', 1, AMOUNT_MAX),
    sequence = whole(args[at + 2], 'sequence', 1, AMOUNT_MAX), kind = args[at + 3],
    round = whole(args[at + 4], 'round', 0, AMOUNT_MAX), seats = whole(args[at + 5], 'seats', 0, 511)}
  if message.kind ~= 'state' and message.kind ~= 'heartbeat' then
    refuse('bad_call', 'a message is a state or a heartbeat')
  end
  given(message.device, 'device')
  message.content = concat({message.kind, args[at + 4], args[at + 5]}, ' ')
  local state = Tables.open(book, key)
  if message.seats >= lshift(1, state.places) then
    refuse('seat_out_of_range', state.name .. ' has seats 1 to ' .. int(state.places))
  end
  local answer = out_of_order(state, message.device, message.epoch, message.sequence, message.content)
  if answer then return answer end
  answer = consume(book, state, message)
  return answer, state
end

-- message: what one device says. KEYS: link, journal, table.
-- ARGV: device, epoch, sequence, kind (state or heartbeat), round, seats (mask).
-- Answer: result (applied, duplicate, gap, stale, late, closed), round, phase, lamps, and where they
--   apply: expected sequence, late seats.
-- Refusals: epoch_lower, sequence_reused, seat_out_of_range, unknown_table.
function Verbs.message(keys, args)
  local book = Ledger.begin(keys)
  local answer, state = take_message(book, keys[3], args, 1)
  if state then Tables.write(state) end
  if #book.lines > 0 then Ledger.write(book) end
  return answer
end

-- Take a card that a shoe reader saw: it belongs to a round that is locked or dealt.
local function consume_card(book, state, message, card)
  local result = 'ignored'
  local playing = state.phase ~= 'open' and state.status == 'open'
  if playing and message.round == state.round and #state.reader < 12 then
    result = 'applied'
    Tables.set(state, 'reader', state.reader .. card)
    Ledger.enter(book, 'card', concat({',"table":', quoted(state.name), ',"round":',
      int(message.round), ',"device":', quoted(message.device), ',"epoch":', int(message.epoch),
      ',"sequence":', int(message.sequence), ',"card":', quoted(card)}))
  end
  local answer = concat({'{"result":"', result, '",', Tables.standing(state), ',"cards":',
    Cards.list(state.reader), '}'})
  state.sets['device.' .. message.device] = concat({int(message.epoch), ' ', int(message.sequence),
    ' ', message.content, '\n', answer})
  return answer
end

-- card: what a shoe reader saw. KEYS: link, journal, table.
-- ARGV: device, epoch, sequence, round, card.
-- Answer: result (applied, duplicate, gap, stale, ignored), round, phase, lamps, the round's cards.
-- Refusals: bad_card, epoch_lower, sequence_reused, unknown_table.
function Verbs.card(keys, args)
  local message = {
    device = args[1], epoch = whole(args[2], 'epoch', 1, AMOUNT_MAX),
    sequence = whole(args[3], 'sequence', 1, AMOUNT_MAX),
    round = whole(args[4], 'round', 0, AMOUNT_MAX)}
  message.content = 'card ' .. args[4] .. ' ' .. args[5]
  Cards.position(args[5])
  given(args[1], 'device')
  local book = Ledger.begin(keys)
  local state = Tables.open(book, keys[3])
  local answer = out_of_order(state, message.device, message.epoch, message.sequence, message.content)
  if answer then return answer end
  answer = consume_card(book, state, message, args[5])
  Tables.write(state)
  if #book.lines > 0 then Ledger.write(book) end
  return answer
end

-- messages: many devices' messages in one call, each on its own. KEYS: link, journal, then a table
-- for each message. ARGV: six for each message, as above. Answer: one answer a message; one that is
-- refused has {"refused": {code, message}} and does not hold up the others.
-- A table may speak once in a batch: a second message for it waits for the next.
function Verbs.messages(keys, args)
  local count = #keys - 2
  if count > BATCH_MAX or #args ~= count * 6 then
    refuse('bad_call', 'a batch takes at most ' .. BATCH_MAX .. ' messages of six arguments each')
  end
  local book = Ledger.begin(keys)
  local answers, states, seen = {}, {}, {}
  for i = 1, count do
    local ok, answer, state = pcall(take_message, book, keys[i + 2], args, i * 6 - 5)
    if seen[keys[i + 2]] then
      refuse('table_twice', 'a table may speak once in a batch')
    end
    seen[keys[i + 2]] = true
    if not ok then
      if type(answer) ~= 'table' or not answer.refusal then error(answer) end
      answer = '{"refused":' .. encode(answer.refusal) .. '}'
    end
    answers[i] = answer
    states[#states + 1] = state
  end
  for _, state in ipairs(states) do Tables.write(state) end
  if #book.lines > 0 then Ledger.write(book) end
  return answers
end
