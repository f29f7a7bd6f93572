-- SPDX-License-Identifier: MIT
-- http-request lua.weir: asks the check service about the request. Who is over the limit is
-- answered here; else txn.weir is "passed", "down", or not set where it said something else.
local DOWN = { [502] = true, [503] = true, [504] = true }
local NOT_COPIED = { ["content-length"] = true, connection = true, date = true, server = true }

local function set_from(txn, name, values)
	if values then
		txn:set_var(name, values[0])
	end
end

local function refuse(txn, answer)
	local reply = txn:reply({ status = 429, body = answer.body })
	for name, values in pairs(answer.headers) do
		if not NOT_COPIED[name] then
			reply:add_header(name, values[0])
		end
	end
	txn:done(reply)
end

core.register_action("weir", { "http-req" }, function(txn)
	local answer = core.httpclient():get({
		url = "http://weir/haproxy",
		dst = "abns@weir",
		headers = {
			["X-HAProxy-Method"] = { txn.f:method() },
			["X-HAProxy-URI"] = { txn.f:pathq() },
			["X-HAProxy-Address"] = { txn.f:src() },
		},
	})
	if answer.status == 429 then
		refuse(txn, answer)
	elseif answer.status == 200 then
		set_from(txn, "txn.policy", answer.headers["ratelimit-policy"])
		set_from(txn, "txn.ratelimit", answer.headers["ratelimit"])
		txn:set_var("txn.weir", "passed")
	elseif DOWN[answer.status] then
		txn:set_var("txn.weir", "down")
	end
end)
