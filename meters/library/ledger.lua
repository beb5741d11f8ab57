-- The link as one call sees it: totals read once, postings collected, everything written at the end.

local audited = {} -- link key -> the journal head up to which this server's own memory vouches for it
local links = {}   -- link key -> its parsed definition, as of the entry that last changed it

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

-- Read the definition from the link's hash; kept until its `config` number changes.
local function read_definition(key, config)
  local found = redis.call('HMGET', key, 'terms', 'levels', 'tables')
  local link = {config = config, levels = {}, open_levels = {}, tables = found[3]}
  link.terms = cjson.decode(found[1])
  link.accounts, link.fields, link.hot = {}, {}, {}
  for _, name in ipairs(GROWING) do link.accounts[#link.accounts + 1] = name end
  for name in found[2]:gmatch('[^,]+') do
    local level = read_level(redis.call('HGET', key, 'level.' .. name))
    local stake = link.terms.stake_micros
    level.share = stake * level.increment_ppm / 1000000
    level.reserve_share = stake * level.reserve_ppm / 1000000
    link.levels[#link.levels + 1] = level
    link.levels[name] = level
    if not level.closed then
      link.open_levels[#link.open_levels + 1] = level
      if level.maximum_micros then link.must_hit = level end
    end
    for _, part in ipairs(PARTS) do
      link.accounts[#link.accounts + 1] = name .. '.' .. part
      link.fields[#link.fields + 1] = name .. '.' .. part
      if part ~= 'pending' then link.hot[#link.hot + 1] = name .. '.' .. part end
    end
    for _, part in ipairs(COUNTS) do link.fields[#link.fields + 1] = name .. '.' .. part end
    link.hot[#link.hot + 1] = name .. '.in'
  end
  link.hot[#link.hot + 1] = 'cycle'
  for _, name in ipairs({'cycle', 'opening', 'awards', 'proposals'}) do
    link.fields[#link.fields + 1] = name
  end
  return link
end

local function definition(key, config)
  local link = links[key]
  if not link or link.config ~= config then
    link = read_definition(key, config)
    links[key] = link
  end
  return link
end

-- Open the books of a link for one call, refusing one that has not been audited on this server.
-- `fields` is nil (head and definition only), 'hot' (what a lock needs) or 'fields' (everything).
function Ledger.begin(keys, fields)
  local key = keys[1]
  local head = redis.call('HMGET', key, 'head', 'time', 'config')
  if not head[1] then
    refuse('unknown_link', 'there is no such link on this server')
  end
  local book = {
    key = key, journal = keys[2], head = tonumber(head[1]), time = tonumber(head[2]),
    link = definition(key, head[3]), values = {}, posted = {},
    sets = {}, deletes = {}, lines = {}, in_force = {}, firsts = {}, changed = {},
  }
  if audited[key] ~= book.head then
    refuse('not_audited', 'the link is closed until its journal has been audited on this server')
  end
  if fields then
    local names = book.link[fields]
    local found = redis.call('HMGET', key, unpack(names))
    for i, name in ipairs(names) do book.values[name] = tonumber(found[i] or '0') end
  end
  local now = redis.call('TIME')
  book.time = max(book.time, now[1] * 1000 + floor(now[2] / 1000))
  return book
end

-- Post an amount to an account; what all postings of an entry sum to is checked when it is written.
function Ledger.post(book, account, amount)
  if amount == 0 then return end
  book.posted[account] = (book.posted[account] or 0) + amount
  if book.values[account] then
    Ledger.set(book, account, book.values[account] + amount)
  end
end

-- Set a number of the link's hash that a call has read.
function Ledger.set(book, name, value)
  book.values[name] = value
  book.sets[name] = int(value)
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
  local parts, sum = {}, 0
  for _, account in ipairs(book.link.accounts) do
    local amount = book.posted[account]
    if amount and amount ~= 0 then
      parts[#parts + 1] = '"' .. account .. '":' .. int(amount)
      sum = sum + amount
      local after = book.values[account]
      if after and (after < 0 or after > AMOUNT_MAX) then
        refuse('amount_out_of_bounds', account .. ' would come to ' .. int(after) ..
          ' micro-dollars, outside 0 to ' .. int(AMOUNT_MAX))
      end
    end
  end
  if sum ~= 0 then
    refuse('not_balanced', 'the postings sum to ' .. int(sum) .. '; this is a defect, nothing was written')
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
  for name, text in pairs(book.sets) do
    sets[#sets + 1] = name
    sets[#sets + 1] = text
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
end
