-- Registration: one function a verb, `pm_<verb>`; a refusal becomes the reply REFUSED {json}.

local READ_ONLY = {snapshot = true, is_audited = true, due = true, start = true}

local function registered(verb)
  return function(keys, args)
    if not band then take_libraries() end
    local ok, answer = pcall(verb, keys, args)
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
    function_name = 'pm_' .. NAMES[i], callback = registered(Verbs[NAMES[i]]),
    flags = READ_ONLY[NAMES[i]] and {'no-writes'} or nil,
  })
end
