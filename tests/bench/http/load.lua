-- SPDX-License-Identifier: MIT
-- For wrk: each request by one of KEYS clients, as a trusted proxy names them; none is named where
-- KEYS is 0. Prints what was answered, with microseconds where wrk itself says hundredths.
local keys = tonumber(os.getenv("KEYS") or "0")
local number = 0

if keys > 0 then
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
