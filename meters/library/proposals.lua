-- What needs two persons: numbered proposals, carried out when another person approves.

local function proposal_answer(entry, number, result)
  return concat({'{"entry":', int(entry), ',"number":', int(number), ',"result":"', result, '"}'})
end

-- What makes a repeat of a proposal the same one.
local function hash_of(by, what, reason, body)
  return redis.sha1hex(concat({quoted(by), quoted(what), quoted(reason), body}, ' '))
end

-- A settled proposal, as far as it is kept: its hash and entry, how it was settled, the answer, by whom.
local function settled_proposal(keys, number)
  local slot = redis.call('HGET', keys[6], 'p' .. int(number % SETTLED_KEPT)) or ''
  local named, hash, entry, how, answer, who = slot:match('^(%d+) (%x+) (%d+) (%a+) ([^\n]*)\n(.*)$')
  if named ~= int(number) then return nil end
  return {hash = hash, entry = tonumber(entry), how = how, answer = answer, who = who}
end

-- Find the entry of a proposal that was made before with this content, open or settled meanwhile.
local function proposed_before(keys, number, hash)
  local kept = redis.call('HGET', keys[3], int(number))
  if kept then
    local proposal = cjson.decode(kept)
    return hash_of(proposal.by, proposal.what, proposal.reason, proposal.body) == hash and proposal.entry
  end
  local settled = settled_proposal(keys, number)
  return settled and settled.hash == hash and settled.entry
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
  local entry = number <= last and proposed_before(keys, number, hash_of(by, what, reason, body))
  if entry then return proposal_answer(entry, number, 'proposed') end
  if number ~= last + 1 then
    refuse('proposal_number', 'the next proposal is number ' .. int(last + 1), {next = last + 1})
  elseif not CARRY_OUT[what] then
    refuse('bad_call', tostring(what) .. ' is nothing that can be proposed')
  elseif reason == '' or by == '' then
    refuse('bad_call', 'a proposal needs a person and a reason')
  end
  decode(body, 'body')
  Ledger.set(book, 'proposals', number)
  entry = Ledger.enter(book, 'propose', concat({',"number":', int(number), ',"by":', quoted(by),
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
  local settled = settled_proposal(keys, number)
  if settled and settled.how == result and settled.who == by then return nil, settled.answer end
  if settled then
    refuse('proposal_settled', 'proposal ' .. int(number) .. ' was ' .. settled.how .. ' by ' .. settled.who)
  end
  refuse('unknown_proposal', 'there is no open proposal ' .. int(number))
end

local function settle(keys, proposal, by, how, answer)
  redis.call('HDEL', keys[3], int(proposal.number))
  redis.call('HSET', keys[6], 'p' .. int(proposal.number % SETTLED_KEPT),
    concat({int(proposal.number), hash_of(proposal.by, proposal.what, proposal.reason, proposal.body),
      int(proposal.entry), how, answer}, ' ') .. '\n' .. by)
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
  local number, by, reason = whole(args[1], 'number', 1, AMOUNT_MAX), args[2], quoted(args[3])
  local book = Ledger.begin(keys)
  local proposal, answer = open_proposal(keys, number, by, 'rejected')
  if not proposal then return answer end
  local entry = Ledger.enter(book, 'reject', concat({',"number":', int(number), ',"by":', person(by),
    ',"reason":', reason}))
  answer = proposal_answer(entry, number, 'rejected')
  settle(keys, proposal, by, 'rejected', answer)
  Ledger.write(book)
  return answer
end
