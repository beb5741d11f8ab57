-- The link as one call sees it: totals read once, postings collected, everything written at the end.

-- What this server's own memory knows, all of it good only while `head` is the journal's head: every
-- write goes through here and moves both, so a restart, a promotion or a foreign write shows at once.
local audited = {} -- link key -> the head up to which an auditor, and every step since, vouches for it
local links = {}   -- link key -> its definition, its numbers and its tables, as of its own `head`

local Ledger = {}
local PARTS = {'meter', 'reserve', 'overflow', 'pending'} -- accounts of a level
local COUNTS = {'in', 'hits', 'wins', 'added', 'resets', 'moved'} -- its running counts, no accounts
local GROWING = {'players', 'house', 'fixed.pending', 'transit'} -- only ever HINCRBYed

local function read_level(text)
  local level = cjson.decode(text)
  for name, value in pairs(level) do
    if value == cjson.null then level[name] = nil end
  end
  level.text = text
  return level
end

-- Read a level, and work out what it takes of a wager and what its numbers are called.
local function add_level(link, level)
  local name, stake = level.name, link.terms.stake_micros
  level.share = stake * level.increment_ppm / 1000000
  level.reserve_share = stake * level.reserve_ppm / 1000000
  level.names = {}
  link.levels[#link.levels + 1] = level
  link.levels[name] = level
  if not level.closed then
    link.open_levels[#link.open_levels + 1] = level
    if level.maximum_micros then link.must_hit = level end
  end
  for _, part in ipairs(PARTS) do
    level.names[part] = name .. '.' .. part
    link.accounts[#link.accounts + 1] = name .. '.' .. part
    link.fields[#link.fields + 1] = name .. '.' .. part
  end
  for _, part in ipairs(COUNTS) do
    level.names[part] = name .. '.' .. part
    link.fields[#link.fields + 1] = name .. '.' .. part
  end
end

local function read_link(key, head)
  local found = redis.call('HMGET', key, 'terms', 'levels', 'tables', 'time')
  local link = {head = head, time = tonumber(found[4]), terms = cjson.decode(found[1]), levels = {},
    open_levels = {}, table_names = found[3], accounts = {}, tables = {}, values = {}, plans = {},
    fields = {'cycle', 'opening', 'awards', 'proposals'}}
  for i, name in ipairs(GROWING) do link.accounts[i] = name end
  for name in found[2]:gmatch('[^,]+') do
    add_level(link, read_level(redis.call('HGET', key, 'level.' .. name)))
  end
  local numbers = redis.call('HMGET', key, unpack(link.fields))
  for i, name in ipairs(link.fields) do link.values[name] = tonumber(numbers[i] or '0') end
  link.overlay = {__index = link.values}
  return link
end

-- Open the books of a link for one call, refusing one that has not been audited on this server.
-- What a call changes lies over what is known, so that a refusal leaves no trace.
function Ledger.begin(keys)
  local key = keys[1]
  local head = tonumber(redis.call('HGET', key, 'head') or nil)
  if not head then
    refuse('unknown_link', 'there is no such link on this server')
  elseif audited[key] ~= head then
    refuse('not_audited', 'the link is closed until its journal has been audited on this server')
  end
  local link = links[key]
  if not link or link.head ~= head then
    link = read_link(key, head)
    links[key] = link
  end
  local now = redis.call('TIME')
  return {
    key = key, journal = keys[2], awards_key = keys[5], head = head, link = link,
    time = max(link.time, now[1] * 1000 + floor(now[2] / 1000)),
    values = setmetatable({}, link.overlay), posted = {}, sets = {}, deletes = {}, lines = {},
    in_force = {}, firsts = {}, changed = {},
  }
end

-- Post an amount to an account; what all postings of an entry sum to is checked when it is written.
function Ledger.post(book, account, amount)
  if amount == 0 then return end
  book.posted[account] = (book.posted[account] or 0) + amount
  local value = book.values[account]
  if value then
    value = value + amount
    book.values[account], book.sets[account] = value, value
  end
end

-- Set a number of the link's hash that a call has read.
function Ledger.set(book, name, value)
  book.values[name], book.sets[name] = value, value
end

-- Move a running count, which must stay exact as the accounts do.
function Ledger.count(book, name, amount)
  if amount == 0 then return end
  local after = book.values[name] + amount
  if after > AMOUNT_MAX or after < -AMOUNT_MAX then
    refuse('amount_out_of_bounds', name .. ' would come to ' .. int(after) .. ' micro-dollars')
  end
  Ledger.set(book, name, after)
end

-- Give the postings as JSON, checked: they sum to zero, and no level's account leaves its bounds.
function Ledger.postings(book)
  local parts, gained, lost = {}, 0, 0
  local accounts, posted = book.link.accounts, book.posted
  for i = 1, #accounts do
    local account = accounts[i]
    local amount = posted[account]
    if amount and amount ~= 0 then
      parts[#parts + 1] = '"' .. account .. '":' .. int(amount)
      gained, lost = gained + max(amount, 0), lost - min(amount, 0)
      local after = book.values[account]
      if after and (after < 0 or after > AMOUNT_MAX) then
        refuse('amount_out_of_bounds', account .. ' would come to ' .. int(after) ..
          ' micro-dollars, outside 0 to ' .. int(AMOUNT_MAX))
      end
    end
  end
  if gained > AMOUNT_MAX or lost > AMOUNT_MAX then -- beyond it a sum would not be exact
    refuse('amount_out_of_bounds', 'the step would move more than ' .. int(AMOUNT_MAX) .. ' micro-dollars')
  elseif gained ~= lost then
    refuse('not_balanced', 'the postings sum to ' .. int(gained - lost) ..
      '; this is a defect, nothing was written')
  end
  if #parts == 0 then return '' end
  return ',"post":{' .. concat(parts, ',') .. '}'
end

-- Number the next entry. Returns its number; the line is written by Ledger.write.
function Ledger.enter(book, kind, body)
  book.head = book.head + 1
  book.lines[#book.lines + 1] = concat({
    '{"n":', int(book.head), ',"t":', int(book.time), ',"k":"', kind, '"', body, '}'})
  return book.head
end

-- Write everything: numbers, growing accounts, and last of all the journal's lines.
function Ledger.write(book)
  local sets = {'head', int(book.head), 'time', int(book.time)}
  local link = book.link
  for name, value in pairs(book.sets) do
    sets[#sets + 1] = name
    if type(value) == 'number' then
      sets[#sets + 1] = int(value)
      link.values[name] = value
    else
      sets[#sets + 1] = value
    end
  end
  if #book.deletes > 0 then redis.call('HDEL', book.key, unpack(book.deletes)) end
  redis.call('HSET', book.key, unpack(sets))
  for _, account in ipairs(GROWING) do
    local amount = book.posted[account]
    if amount and amount ~= 0 then redis.call('HINCRBY', book.key, account, int(amount)) end
  end
  local first = book.head - #book.lines
  for i, line in ipairs(book.lines) do
    redis.call('XADD', book.journal, int(first + i) .. '-0', 'e', line)
  end
  audited[book.key] = book.head
  link.head, link.time = book.head, book.time
  if book.sets.config or book.read_anew then links[book.key] = nil end
end
