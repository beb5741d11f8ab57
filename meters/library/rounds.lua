-- The steps of a round. Each names its round, so a repeat is answered with the first answer.
-- KEYS of all: link, journal, table, locked rounds, awards, settled awards.

local Verbs = {}

local function place(state, by)
  return concat({',"table":', quoted(state.name), ',"round":', int(state.round), ',"by":', person(by)})
end

local KINDS = {played = true, free = true, simulated = true}

-- lock: no more bets; every wager contributes.
-- ARGV: round, by, seats the dealer saw (mask), kind (played, free, simulated).
-- Answer: entry, round, phase, lamps, seats, cycle, value.
-- Refusals: seats_mismatch, no_wagers_in_a_free_round, unreasonable_contribution, and those of a step.
function Verbs.lock(keys, args)
  local round, kind = whole(args[1], 'round', 0, AMOUNT_MAX), args[4]
  local saw = whole(args[3], 'seats', 0, 511)
  if not KINDS[kind] then refuse('bad_call', 'a round is played, free or simulated') end
  local content = args[3] .. ' ' .. kind
  local book = Ledger.begin(keys)
  local state, answer = Tables.step(book, keys[3], 'lock', round, content)
  if not state then return answer end
  if saw ~= state.seats then
    refuse('seats_mismatch', 'the dealer saw wagers at seats ' .. Seats.list(saw) ..
      ', the sensors report ' .. Seats.list(state.seats),
      {saw = Seats.text(saw), sensors = Seats.text(state.seats)})
  elseif kind ~= 'played' and saw ~= 0 then
    refuse('no_wagers_in_a_free_round', 'a ' .. kind .. ' round is dealt with no wagers')
  end
  local wagers = Seats.count(saw)
  local postings = Levels.contribute(book, wagers)
  local body = {place(state, args[2]), ',"seats":', Seats.list(saw)}
  if kind ~= 'played' then body[#body + 1] = ',"kind":"' .. kind .. '"' end
  local must_hit = book.link.must_hit
  if must_hit then
    Tables.set(state, 'cycle', book.values['cycle'])
    Tables.set(state, 'value', book.values[must_hit.name .. '.meter'])
    body[#body + 1] = ',"cycle":' .. int(state.cycle) .. ',"value":' .. int(state.value)
  end
  body[#body + 1] = postings
  local entry = Ledger.enter(book, 'lock', concat(body))
  if state.commit ~= '' then state.sets['line'] = book.lines[1] end -- the cards are drawn from it
  Tables.set(state, 'locked', saw)
  Tables.set(state, 'kind', kind)
  Tables.set(state, 'lock', entry)
  if state.winners ~= 0 then Tables.set(state, 'winners', 0) end
  Tables.advance(state, 'lock')
  answer = concat({'{"entry":', int(entry), ',', Tables.standing(state), ',"seats":',
    Seats.list(saw), ',"cycle":', int(state.cycle), ',"value":', int(state.value), '}'})
  Tables.keep(state, 'lock', round, content, answer)
  if must_hit and wagers > 0 then
    redis.call('ZADD', keys[4], int(entry),
      concat({state.name, int(round), int(state.cycle), int(state.value)}, ' '))
  end
  Tables.write(state)
  Ledger.write(book)
  return answer
end

-- Read `seat line` pairs and check that they decide each bettor's line, no more and no fewer.
local function lines_of(book, state, args, from)
  local lines, mask = {}, 0
  for i = from, #args, 2 do
    local seat, line = whole(args[i], 'seat', 1, 9), args[i + 1]
    if lines[seat] then refuse('bad_call', 'seat ' .. int(seat) .. ' has two lines') end
    if line ~= 'loss' and not book.link.terms.lines[line] then
      refuse('unknown_line', tostring(line) .. ' is not a line of the paytable')
    end
    lines[seat] = line
    mask = Seats.with(mask, seat)
  end
  if mask ~= state.locked then
    refuse('lines_mismatch', 'lines are given for seats ' .. Seats.list(mask) ..
      ', the wagers are at ' .. Seats.list(state.locked))
  end
  return lines
end

-- Win the lines' awards in the order of seats; `kept` are the seats' awards that stand already.
-- Returns JSON parts for the entry.
local function decide(book, state, lines, kept)
  local shown, texts, numbers = {}, {}, {}
  local winners = 0
  for seat = 1, state.places do
    local line = lines[seat]
    if line then
      texts[#texts + 1] = '"' .. seat .. '":' .. quoted(line)
      local award = kept[seat]
      if not award then
        award = Awards.win(book,
          {table = state.name, round = state.round, seat = seat, line = line})
        if award then shown[#shown + 1] = Awards.shown(award) end
      end
      if award then
        numbers[#numbers + 1] = int(award.award)
        winners = Seats.with(winners, seat)
      end
    end
  end
  Tables.set(state, 'winners', winners)
  Tables.set(state, 'awards', concat(numbers, ','))
  local body = #texts > 0 and ',"lines":{' .. concat(texts, ',') .. '}' or ''
  local listed = #shown > 0 and ',"awards":[' .. concat(shown, ',') .. ']' or ''
  return body .. listed, listed
end

local function in_force(book)
  if #book.in_force == 0 then return '' end
  return ',"in_force":[' .. concat(book.in_force, ',') .. ']'
end

local function check_hands(player, banker)
  if #player ~= 4 or #banker ~= 4 then
    refuse('bad_card', 'a deal is two cards of Player and two of Banker')
  end
end

-- deal: the four cards are on record; lines are decided by the rules and passed in.
-- ARGV: round, by, player (two cards), banker, then seat and line for each bettor. A repeat is one
-- with the same cards, since these and the locked seats decide the lines.
-- Answer: entry, round, phase, lamps, awards.
-- Refusals: bad_card, card_not_in_shoe, unknown_line, lines_mismatch, and those of a step.
function Verbs.deal(keys, args)
  local round, player, banker = whole(args[1], 'round', 0, AMOUNT_MAX), args[3], args[4]
  local content = player .. banker
  local book = Ledger.begin(keys)
  local state, answer = Tables.step(book, keys[3], 'deal', round, content)
  if not state then return answer end
  check_hands(player, banker)
  Tables.set(state, 'counts', Cards.take(state.counts, player .. banker, state.decks, 1))
  local lines = lines_of(book, state, args, 5)
  local body, listed = decide(book, state, lines, {})
  Tables.set(state, 'cards', player .. banker)
  Tables.set(state, 'first', player .. banker)
  local entry = Ledger.enter(book, 'deal', concat({place(state, args[2]), ',"player":',
    Cards.list(player), ',"banker":', Cards.list(banker), body, in_force(book),
    Ledger.postings(book)}))
  Tables.advance(state, 'deal')
  answer = concat({'{"entry":', int(entry), ',', Tables.standing(state), listed, '}'})
  Tables.keep(state, 'deal', round, content, answer)
  Awards.write(book, keys[6])
  Tables.write(state)
  Ledger.write(book)
  return answer
end

-- Reverse the round's awards, last seat first, but for those that `lines` would win again: these
-- stand as they were won, whatever has happened at other tables. Returns JSON, and those by seat.
local function reverse_all(book, state, lines, answer)
  local shown, numbers, kept = {}, {}, {}
  for number in state.awards:gmatch('%d+') do numbers[#numbers + 1] = tonumber(number) end
  for i = #numbers, 1, -1 do
    local award = Awards.pending(book)[numbers[i]]
    if lines[award.seat] == award.line then
      kept[award.seat] = award
    else
      shown[#shown + 1] = Awards.reverse(book, award, answer)
    end
  end
  return #shown > 0 and ',"reversed":[' .. concat(shown, ',') .. ']' or '', kept
end

-- correct: a misread card; awards whose line changes are reversed and decided anew in one step.
-- ARGV: round, by, number of the correction (1, 2, ...), player, banker, then seat and line.
-- Answer and refusals: as deal, and correction_number.
function Verbs.correct(keys, args)
  local round, player, banker = whole(args[1], 'round', 0, AMOUNT_MAX), args[4], args[5]
  local number = whole(args[3], 'number', 1, AMOUNT_MAX)
  local content = args[3] .. player .. banker
  local book = Ledger.begin(keys)
  local state, answer = Tables.step(book, keys[3], 'correct', round, content)
  if not state then return answer end
  if number ~= state.corrections + 1 then
    refuse('correction_number', 'the next correction of this round is number ' ..
      int(state.corrections + 1), {next = state.corrections + 1})
  end
  check_hands(player, banker)
  local seen = Cards.take(state.counts, state.cards, state.decks, -1)
  Tables.set(state, 'counts', Cards.take(seen, player .. banker, state.decks, 1))
  local lines = lines_of(book, state, args, 6)
  local reversed, kept = reverse_all(book, state, lines, '{"result":"reversed"}')
  local body, listed = decide(book, state, lines, kept)
  Tables.set(state, 'cards', player .. banker)
  Tables.set(state, 'corrections', number)
  local entry = Ledger.enter(book, 'correct', concat({place(state, args[2]), ',"number":',
    int(number), ',"player":', Cards.list(player), ',"banker":', Cards.list(banker), body,
    reversed, in_force(book), Ledger.postings(book)}))
  answer = concat({'{"entry":', int(entry), ',', Tables.standing(state), listed, reversed, '}'})
  Tables.keep(state, 'correct', round, content, answer)
  Awards.write(book, keys[6])
  Tables.write(state)
  Ledger.write(book)
  return answer
end

local function unlock(keys, state)
  if state.lock > 0 then redis.call('ZREMRANGEBYSCORE', keys[4], int(state.lock), int(state.lock)) end
end

-- Pay the round's fixed awards from the tray; the others are payable from now on.
local function pay_tray(book, state)
  local paid = {}
  for number in state.awards:gmatch('%d+') do
    local award = Awards.pending(book)[tonumber(number)]
    if award.kind == 'fixed' and award.amount <= book.link.terms.hand_pay_above_micros then
      paid[#paid + 1] = number
      Awards.pay(book, award, '{"result":"paid","award":' .. number .. ',"amount":' ..
        int(award.amount) .. ',"entry":' .. int(book.head + 1) .. '}')
    else
      award.over = true
      Awards.touch(book, award)
    end
  end
  if #paid == 0 then return '' end
  return ',"paid":[' .. concat(paid, ',') .. ']'
end

-- Refuse an end whose Must Hit was decided on what is no longer so.
local function check_decided(keys, state, cycle, named, earlier)
  local open = redis.call('ZRANGEBYSCORE', keys[4], '-inf', '(' .. int(state.lock))
  if named ~= int(cycle) or earlier ~= concat(open, ';') then
    refuse('decide_again', 'Must Hit was decided on another cycle or other open rounds: decide anew',
      {cycle = cycle, earlier = concat(open, ';')})
  end
end

-- The Must Hit award of an end call: cards and seats are checked, secrets are passed through.
local function end_must_hit(book, keys, state, draw)
  local cycle = book.values['cycle']
  local seat = whole(draw.seat, 'seat', 1, 9)
  if state.cycle ~= cycle or not Seats.has(state.locked, seat) then
    refuse('not_a_bettor', 'Must Hit goes to a bettor of a round that locked in the present cycle')
  end
  local award = Awards.win_must_hit(book,
    {table = state.name, round = state.round, seat = seat}, state.value)
  local opening = book.values[book.link.must_hit.name .. '.meter']
  Ledger.set(book, 'cycle', cycle + 1)
  Ledger.set(book, 'opening', opening)
  book.sets['opening_cards'] = Cards.sorted(state.first:sub(1, 4)) .. Cards.sorted(state.first:sub(5, 8))
  book.deletes[#book.deletes + 1] = 'commit.' .. int(cycle)
  book.sets['commit.' .. int(cycle + 2)] = draw.commit
  Tables.set(state, 'winners', Seats.with(state.winners, seat))
  return concat({',"must_hit":{"cycle":', int(cycle), ',"opening":', int(opening),
    ',"secret":', quoted(draw.secret), ',"salt":', quoted(draw.salt),
    ',"commit":', quoted(draw.commit), ',"award":', Awards.shown(award), '}'})
end

-- end: fixed awards are paid from the tray, Must Hit is decided, the next round opens.
-- KEYS: also the link's sealed secrets.
-- ARGV: round, by, third cards (or empty), cycle and earlier open rounds it was decided on, and,
--   where a bettor takes Must Hit: seat, secret, salt, next commitment, its ciphertext.
-- Answer: entry, round (the next), phase, lamps, paid, must_hit. A repeat need only name the cards.
-- Refusals: decide_again, not_a_bettor, card_not_in_shoe, and those of a step.
Verbs['end'] = function(keys, args)
  local round, more = whole(args[1], 'round', 0, AMOUNT_MAX), args[3]
  if #args ~= 5 and #args ~= 10 then refuse('bad_call', 'a Must Hit award has five parts') end
  local book = Ledger.begin(keys)
  local state, answer = Tables.step(book, keys[3], 'end', round, more)
  if not state then return answer end
  if #more > 4 or #more % 2 == 1 then
    refuse('bad_card', 'a round has at most two third cards')
  end
  Tables.set(state, 'counts', Cards.take(state.counts, more, state.decks, 1))
  local must_hit, won = book.link.must_hit, ''
  if must_hit then check_decided(keys, state, book.values['cycle'], args[4], args[5]) end
  local paid = pay_tray(book, state)
  local cycle = book.values['cycle']
  if args[6] then
    if not must_hit then refuse('unknown_level', 'the link has no Must Hit') end
    for i = 7, 10 do given(args[i], 'a secret or a commitment') end
    won = end_must_hit(book, keys, state,
      {seat = args[6], secret = args[7], salt = args[8], commit = args[9]})
  end
  local entry = Ledger.enter(book, 'end', concat({place(state, args[2]),
    more ~= '' and ',"more":' .. Cards.list(more) or '', paid, won, in_force(book),
    Ledger.postings(book)}))
  unlock(keys, state)
  if won ~= '' then
    redis.call('HDEL', keys[7], int(cycle))
    redis.call('HSET', keys[7], int(cycle + 2), args[10])
  end
  Tables.advance(state, 'end')
  answer = concat({'{"entry":', int(entry), ',', Tables.standing(state), paid, won, '}'})
  Tables.keep(state, 'end', round, more, answer)
  Awards.write(book, keys[6])
  Tables.write(state)
  Ledger.write(book)
  return answer
end

-- Close a round that does not count: void after the lock, cancel before it.
local function abandon(verb, keys, args)
  local round, reason = whole(args[1], 'round', 0, AMOUNT_MAX), quoted(args[3])
  local book = Ledger.begin(keys)
  local state, answer = Tables.step(book, keys[3], verb, round, reason)
  if not state then return answer end
  local body = {place(state, args[2]), ',"reason":', reason}
  if verb == 'void' then
    local stakes = Seats.count(state.locked) * book.link.terms.stake_micros
    body[#body + 1] = reverse_all(book, state, {}, '{"result":"reversed"}')
    Ledger.post(book, 'house', -stakes)
    Ledger.post(book, 'players', stakes)
  end
  body[#body + 1] = Ledger.postings(book)
  local entry = Ledger.enter(book, verb, concat(body))
  unlock(keys, state)
  Tables.set(state, 'winners', 0)
  Tables.advance(state, verb)
  answer = concat({'{"entry":', int(entry), ',', Tables.standing(state), '}'})
  Tables.keep(state, verb, round, reason, answer)
  Awards.write(book, keys[6])
  Tables.write(state)
  Ledger.write(book)
  return answer
end

-- void: wagers go back from the house, contributions stay, awards are reversed.
-- ARGV: round, by, reason. Answer: entry, round (the next), phase, lamps. Refusals: those of a step.
function Verbs.void(keys, args)
  return abandon('void', keys, args)
end

-- cancel: a round that was not locked; its wagers were never taken. ARGV, answer: as void.
function Verbs.cancel(keys, args)
  return abandon('cancel', keys, args)
end

-- shoe: new cards, between rounds. ARGV: number of the shoe (one more than the last), by, and for an
-- automated table: the shoe's commitment, its ciphertext, and secret and salt of the shoe before.
-- Answer: entry, shoe. Refusals: shoe_number, wrong_phase, table_closed, reveal_needed.
function Verbs.shoe(keys, args)
  local number = whole(args[1], 'shoe', 1, AMOUNT_MAX)
  local book = Ledger.begin(keys)
  local state = Tables.open(book, keys[3])
  if number == state.shoe then
    local answer = redis.call('HGET', keys[3], 'shoe.answer')
    if answer then return answer end
  end
  if number ~= state.shoe + 1 then
    refuse('shoe_number', 'the next shoe is number ' .. int(state.shoe + 1), {next = state.shoe + 1})
  elseif state.status ~= 'open' then
    refuse('table_closed', state.name .. ' is closed')
  elseif state.phase ~= 'open' then
    refuse('wrong_phase', 'the round is ' .. state.phase .. ': cards are changed between rounds',
      {round = state.round, phase = state.phase})
  end
  local by = person(args[2])
  local commit, secret, salt = args[3] or '', args[5] or '', args[6] or ''
  if (commit == '') ~= ((args[4] or '') == '') then
    refuse('bad_call', 'a commitment comes with its ciphertext')
  end
  quoted(args[4] or '')
  if state.commit ~= '' and secret == '' then
    refuse('reveal_needed', 'the shoe before was committed to: reveal its secret')
  end
  local body = {',"table":', quoted(state.name), ',"shoe":', int(number), ',"by":', by}
  local committed = state.commit
  if commit ~= '' then body[#body + 1] = ',"commit":' .. quoted(commit) end
  if secret ~= '' then
    body[#body + 1] = ',"secret":' .. quoted(secret) .. ',"salt":' .. quoted(salt)
  end
  local entry = Ledger.enter(book, 'shoe', concat(body))
  local answer = '{"entry":' .. int(entry) .. ',"shoe":' .. int(number) .. '}'
  Tables.set(state, 'shoe', number)
  Tables.set(state, 'counts', Cards.NONE)
  Tables.set(state, 'commit', commit)
  state.sets['shoe.answer'] = answer
  Tables.write(state)
  -- After the table: a sealed secret alone, torn off the rest, would not show in an audit.
  if commit ~= '' then
    redis.call('HSET', keys[7], 'shoe:' .. state.name, args[4])
  elseif committed ~= '' then
    redis.call('HDEL', keys[7], 'shoe:' .. state.name)
  end
  Ledger.write(book)
  return answer
end
