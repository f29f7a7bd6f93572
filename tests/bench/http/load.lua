-- SPDX-License-Identifier: MIT
-- For wrk: KEYS says what is asked. A number: each request by one of so many clients, as a trusted
-- proxy names them; none is named where it is 0. A word: a login's form, or a check service's
-- question. Prints what was answered, with microseconds where wrk itself says hundredths.
local kind = os.getenv("KEYS") or "0"
local keys = tonumber(kind)
local number = 0

local function front(uri)
	return { headers = { ["X-Forwarded-For"] = "192.0.2.1", ["X-Forwarded-Method"] = "GET",
		["X-Forwarded-Uri"] = uri } }
end

local kinds = {
	form = { method = "POST", body = "username=alice&password=correct+horse&remember=1",
		headers = { ["Content-Type"] = "application/x-www-form-urlencoded" } },
	json = { method = "POST", body = '{"username":"alice","password":"correct horse"}',
		headers = { ["Content-Type"] = "application/json" } },
	app = { method = "POST", body = '{"zones":["a"],"key":"192.0.2.1"}', headers = {} },
	check = front("/"),
	["check-limited"] = front("/limited"),
	["check-refused"] = front("/refused"),
}

if kinds[kind] then
	for name, value in pairs(kinds[kind]) do
		wrk[name] = value
	end
elseif keys > 0 then
	request = function()
		number = (number + 1) % keys
		local address = string.format("10.%d.%d.%d", math.floor(number / 65536),
			math.floor(number / 256) % 256, number % 256)
		return wrk.format(nil, nil, { ["X-Forwarded-For"] = address })
	end
end

function done(summary)
	io.write(string.format("counted %d %d %d\n", summary.requests, summary.errors.status,
		summary.duration))
end
