-- Registration: one function a verb, `pm_<verb>`; a refusal becomes the reply REFUSED {json}.

-- The keys that a verb takes, in order. `tables`: any number of tables of the link follow.
local STEP = {'link', 'journal', 'table', 'locked', 'awards', 'settled', 'secrets'}
local MESSAGE = {'link', 'journal', 'table'}
local MESSAGES = {'link', 'journal', tables = true}
local LINK = {'link', 'journal', 'proposals', 'locked', 'awards', 'settled', 'secrets'}
local TABLE = {'link', 'journal', 'proposals', 'locked', 'awards', 'settled', 'secrets', 'table'}
local TABLES = {'link', 'journal', 'proposals', 'locked', 'awards', 'settled', 'secrets', tables = true}
local SITE = {'site', 'journal', tables = true}
local ANY = {} -- a link or the site, whichever the first key names

-- What each verb takes: its keys, and how many arguments at least and at most.
local TAKES = {
  open = {TABLES, 2, 6}, message = {MESSAGE, 6, 6}, messages = {MESSAGES, 0, 65536},
  card = {MESSAGE, 5, 5}, lock = {STEP, 4, 4}, deal = {STEP, 4, 22}, correct = {STEP, 5, 23},
  ['end'] = {STEP, 5, 10}, void = {STEP, 3, 3}, cancel = {STEP, 3, 3}, shoe = {STEP, 2, 6},
  close_table = {TABLE, 2, 2}, open_table = {TABLE, 2, 2}, pay = {LINK, 2, 2},
  propose = {LINK, 5, 5}, approve = {TABLES, 2, 3}, reject = {LINK, 3, 3}, receive = {LINK, 5, 5},
  cleared = {LINK, 3, 3}, balance = {TABLES, 1, 1}, sealed = {LINK, 1, 1}, audited = {ANY, 2, 2},
  is_audited = {ANY, 0, 0}, snapshot = {TABLES, 0, 0}, due = {TABLE, 0, 0}, record = {SITE, 4, 4096},
  start = {ANY, 0, 0},
}
local READ_ONLY = {snapshot = true, is_audited = true, due = true, start = true}

-- The names of a link's keys by its first one, kept up to a bound.
local named, named_count = {}, 0
local function names_of(first)
  local names = named[first or '']
  if not names then
    local tag, kind = (first or ''):match('^({[^{}]+}):(%l+)$')
    if kind ~= 'link' and (kind ~= 'site' or tag ~= '{site}') then
      refuse('bad_call', 'the first key is that of a link, or of the site')
    end
    names = {prefix = kind == 'link' and tag .. ':table:' or tag .. ':'}
    for i = 1, #LINK do names[LINK[i]] = tag .. ':' .. LINK[i] end
    names.link = kind == 'link' and first or nil
    names.site = kind == 'site' and first or nil
    if named_count >= 4096 then named, named_count = {}, 0 end
    named[first], named_count = names, named_count + 1
  end
  return names
end

-- Refuse a call whose keys are not all of one link: it would write one link's step into another's.
local function check_keys(keys, takes)
  local names, prefix = names_of(keys[1])
  if takes == ANY then return end
  for i = 1, max(#takes, #keys) do
    local part, key = takes[i] or takes.tables and 'table', keys[i] or ''
    prefix = part == 'table' and names.prefix
    if not part or prefix and key:sub(1, #prefix) ~= prefix or not prefix and key ~= names[part] then
      refuse('bad_call', 'key ' .. int(i) .. ' is missing, or is not what the call takes there')
    end
  end
end

local function registered(name)
  local verb, takes, least, most = Verbs[name], TAKES[name][1], TAKES[name][2], TAKES[name][3]
  local function checked(keys, args)
    check_keys(keys, takes)
    if #args < least or #args > most then
      refuse('bad_call', name .. ' takes ' .. int(least) .. ' to ' .. int(most) .. ' arguments')
    end
    return verb(keys, args)
  end
  return function(keys, args)
    if not band then take_libraries() end
    local ok, answer = pcall(checked, keys, args)
    if ok then return answer end
    if type(answer) == 'table' and answer.refusal then
      return {err = 'REFUSED ' .. encode(answer.refusal)}
    end
    audited[keys[1]], links[keys[1]] = nil, nil -- it failed in the middle: closed until it is audited
    return {err = 'DEFECT ' .. tostring(type(answer) == 'table' and answer.err or answer)}
  end
end

local NAMES = {
  'open', 'message', 'messages', 'card', 'lock', 'deal', 'correct', 'end', 'void', 'cancel', 'shoe',
  'close_table', 'open_table', 'pay', 'propose', 'approve', 'reject', 'receive', 'cleared',
  'balance', 'sealed', 'audited', 'is_audited', 'snapshot', 'due', 'record', 'start',
}
for i = 1, #NAMES do
  redis.register_function({
    function_name = 'pm_' .. NAMES[i], callback = registered(NAMES[i]),
    flags = READ_ONLY[NAMES[i]] and {'no-writes'} or nil,
  })
end
