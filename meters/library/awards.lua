-- Awards: won and pending, paid, or reversed. Valkey keeps the unpaid ones; the rest is history.

local Awards = {}

-- Give the pending awards of a link, by number; they are read when a call first needs them.
function Awards.pending(book)
  if not book.pending then
    book.pending, book.touched = {}, {}
    local found = redis.call('HGETALL', book.awards_key)
    for i = 1, #found, 2 do
      book.pending[tonumber(found[i])] = cjson.decode(found[i + 1])
    end
  end
  return book.pending
end

local function numbers_of(records)
  local numbers = {}
  for number in pairs(records) do numbers[#numbers + 1] = number end
  table.sort(numbers)
  return numbers
end

-- Keep a new or changed award.
function Awards.touch(book, award)
  Awards.pending(book)[award.award] = award
  book.touched[award.award] = award
end

-- Forget a settled award, keeping `answer` for a repeat of the call that settled it.
local function forget(book, award, answer)
  book.pending[award.award] = nil
  book.touched[award.award] = answer
end

-- Write what changed; settled awards leave a bounded trace in the ring.
function Awards.write(book, settled_key)
  for _, number in ipairs(numbers_of(book.touched or {})) do
    local award = book.touched[number]
    if type(award) == 'table' then
      redis.call('HSET', book.awards_key, int(number), encode(award))
    else
      redis.call('HDEL', book.awards_key, int(number))
      redis.call('HSET', settled_key, int(number % SETTLED_KEPT), int(number) .. ' ' .. award)
    end
  end
end

-- Give the kept answer of an award that was settled, or nil.
function Awards.settled(settled_key, number)
  local kept = redis.call('HGET', settled_key, int(number % SETTLED_KEPT))
  local named, answer = (kept or ''):match('^(%d+) (.*)$')
  return named == int(number) and answer or nil
end

local function new_award(book, fields)
  Ledger.count(book, 'awards', 1)
  fields.award = book.values['awards']
  fields.entry = book.head + 1
  fields.time = book.time
  Awards.touch(book, fields)
  return fields
end

-- Tell earlier pending full awards of the level which award came next, should they be reversed.
local function follow(book, award)
  for _, number in ipairs(numbers_of(Awards.pending(book))) do
    local earlier = Awards.pending(book)[number]
    if earlier.level == award.level and earlier.kind == 'full' and not earlier.next
        and number < award.award then
      earlier.next = award.award
      earlier.next_at = {award.table, award.round, award.seat}
      Awards.touch(book, earlier)
    end
  end
end

-- The level's first full award of late, as `time amount award`, or false.
local function first_of(book, name)
  if book.firsts[name] == nil then
    book.firsts[name] = redis.call('HGET', book.key, 'first.' .. name)
  end
  return book.firsts[name]
end

local function set_first(book, name, award)
  book.firsts[name] = concat({int(award.time), int(award.amount), int(award.award)}, ' ')
  book.sets['first.' .. name] = book.firsts[name]
end

-- Within the site's seconds of a level's first full award, the house adds up to that amount.
local function top_up(book, name, award)
  local seconds = book.link.terms.simultaneous_seconds
  if seconds == 0 then return 0 end
  local since, amount = (first_of(book, name) or ''):match('^(%d+) (%d+)')
  if since and book.time - tonumber(since) <= seconds * 1000 then
    return max(0, tonumber(amount) - award.amount)
  end
  set_first(book, name, award)
  return 0
end

local function win_full(book, at, level)
  local award = new_award(book, {
    table = at.table, round = at.round, seat = at.seat, line = at.line, hand = at.hand,
    kind = 'full', level = level.name,
    amount = Levels.whole_cents(book.values[level.name .. '.meter'])})
  Levels.take(book, level, award.amount)
  local added = top_up(book, level.name, award)
  Ledger.post(book, 'house', -added)
  Ledger.post(book, level.name .. '.pending', added)
  Ledger.count(book, level.name .. '.added', added)
  award.amount = award.amount + added
  award.added = added
  award.from_reserve, award.from_house = Levels.reset(book, level)
  follow(book, award)
  return award
end

local function win_share(book, at, level, percent)
  local award = new_award(book, {
    table = at.table, round = at.round, seat = at.seat, line = at.line, hand = at.hand,
    kind = 'share', level = level.name,
    amount = Levels.part(book.values[level.name .. '.meter'], percent)})
  Levels.take(book, level, award.amount)
  return award
end

local function win_fixed(book, at, amount)
  Ledger.post(book, 'house', -amount)
  Ledger.post(book, 'fixed.pending', amount)
  return new_award(book, {
    table = at.table, round = at.round, seat = at.seat, line = at.line, hand = at.hand,
    kind = 'fixed', amount = amount})
end

-- Win what a line pays; returns the pending award, or nil for a line that pays nothing.
function Awards.win(book, at)
  local pay = book.link.terms.lines[at.line]
  if not pay then return nil end
  if pay.amount_micros then return win_fixed(book, at, pay.amount_micros) end
  local level = book.link.levels[pay.level]
  if pay.percent == 100 then return win_full(book, at, level) end
  return win_share(book, at, level, pay.percent)
end

-- Must Hit: the winning round takes the value its lock left, and what came later stays.
function Awards.win_must_hit(book, at, value)
  local level = book.link.must_hit
  local award = new_award(book, {
    table = at.table, round = at.round, seat = at.seat, line = level.name,
    kind = 'must_hit', level = level.name, over = true, amount = Levels.whole_cents(value)})
  Levels.take(book, level, award.amount)
  award.from_reserve, award.from_house = Levels.reset(book, level)
  return award
end

-- Hand what a reversed full award leaves to the level's first later award, paid or not.
local function hand_on(book, award, rest)
  local later = Awards.pending(book)[award.next]
  local level = award.level
  if not later then
    later = new_award(book, {
      table = award.next_at[1], round = award.next_at[2], seat = award.next_at[3],
      line = award.line, kind = 'addition', level = level, amount = 0, over = true,
      of = award.next})
  end
  local back = min(later.added or 0, rest) -- the house had topped up what now arrives
  Ledger.post(book, 'house', back)
  Ledger.count(book, level .. '.added', -back)
  Ledger.post(book, level .. '.pending', rest - back)
  Ledger.count(book, level .. '.wins', rest)
  later.added = (later.added or 0) - back
  later.amount = later.amount + rest - back
  Awards.touch(book, later)
  local first = tonumber((first_of(book, level) or ''):match(' (%d+)$'))
  if later.award == award.next and (first == award.award or first == later.award) then
    set_first(book, level, later) -- what further wins are raised to
  end
  return later.award
end

-- Give the reset that an award led to back to who funded it. Returns what is left of `own`.
local function give_back_reset(book, award, own)
  local to_reserve = min(award.from_reserve, own)
  local to_house = min(award.from_house, own - to_reserve)
  Ledger.post(book, award.level .. '.reserve', to_reserve)
  Ledger.post(book, 'house', to_house)
  Ledger.count(book, award.level .. '.resets', -to_reserve - to_house)
  return own - to_reserve - to_house
end

local function reverse_full(book, award)
  local level, name = book.link.levels[award.level], award.level
  local own = award.amount - (award.added or 0)
  Ledger.post(book, name .. '.pending', -award.amount)
  Ledger.post(book, 'house', award.added or 0)
  Ledger.count(book, name .. '.added', -(award.added or 0))
  Ledger.count(book, name .. '.wins', -own)
  local rest = give_back_reset(book, award, own)
  if award.next then return hand_on(book, award, rest) end
  Levels.fill(book, level, rest)
  return nil
end

local REVERSE = {
  full = reverse_full,
  fixed = function(book, award)
    Ledger.post(book, 'fixed.pending', -award.amount)
    Ledger.post(book, 'house', award.amount)
  end,
  must_hit = function(book, award)
    Ledger.post(book, award.level .. '.pending', -award.amount)
    Ledger.post(book, award.level .. '.overflow', give_back_reset(book, award, award.amount))
    Ledger.count(book, award.level .. '.wins', -award.amount)
  end,
}

local function reverse_to_meter(book, award)
  Ledger.post(book, award.level .. '.pending', -award.amount)
  Ledger.count(book, award.level .. '.wins', -award.amount)
  Levels.fill(book, book.link.levels[award.level], award.amount)
end
REVERSE.share = reverse_to_meter
REVERSE.addition = reverse_to_meter

-- Earlier awards that named this one as the next now name the one after it, or none.
local function unfollow(book, award)
  for _, number in ipairs(numbers_of(Awards.pending(book))) do
    local earlier = Awards.pending(book)[number]
    if earlier.next == award.award then
      earlier.next, earlier.next_at = award.next, award.next_at
      Awards.touch(book, earlier)
    end
  end
  local first = award.level and first_of(book, award.level)
  if first and first:match(' (%d+)$') == int(award.award) then
    book.firsts[award.level] = false
    book.deletes[#book.deletes + 1] = 'first.' .. award.level
  end
end

-- Reverse a pending award; the answer goes to whoever repeats the call that did it.
function Awards.reverse(book, award, answer)
  if award.level and book.link.levels[award.level].closed then
    refuse('level_closed', award.level .. ' has been decommissioned: its pending awards are paid')
  end
  if award.level and award.kind ~= 'addition' then
    Ledger.count(book, award.level .. '.hits', -1)
  end
  local later = REVERSE[award.kind](book, award)
  unfollow(book, award)
  forget(book, award, answer)
  return '{"award":' .. int(award.award) .. ',"amount":' .. int(award.amount) ..
    (later and ',"to":' .. int(later) or '') .. '}'
end

function Awards.pay(book, award, answer)
  local account = award.level and (award.level .. '.pending') or 'fixed.pending'
  Ledger.post(book, account, -award.amount)
  Ledger.post(book, 'players', award.amount)
  forget(book, award, answer)
end

-- An award as a journal entry shows it when it is won.
function Awards.shown(award)
  local parts = {'{"award":', int(award.award), ',"seat":', int(award.seat),
    ',"line":', quoted(award.line), ',"amount":', int(award.amount)}
  if award.level then parts[#parts + 1] = ',"level":' .. quoted(award.level) end
  for _, name in ipairs({'added', 'from_reserve', 'from_house'}) do
    if award[name] and award[name] ~= 0 then
      parts[#parts + 1] = ',"' .. name .. '":' .. int(award[name])
    end
  end
  return concat(parts) .. '}'
end

-- Find a pending award whose round is over.
function Awards.payable(book, number)
  local award = Awards.pending(book)[number]
  if not award then
    refuse('unknown_award', 'award ' .. tostring(number) .. ' is not pending: it was settled, or never was')
  elseif not award.over then
    refuse('round_not_over', 'the round of award ' .. int(number) .. ' is not over: correct or void it instead')
  end
  return award
end
