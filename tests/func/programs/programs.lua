-- SPDX-License-Identifier: MIT
-- What a Lua program uses: closures, tables, strings, errors that unwind (longjmp) and coroutines.
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print("fib", fib(15))

local t = {}
for i = 1, 500 do t[i] = ("%03d"):format(i * 7919 % 500) end
table.sort(t)
print("sorted", t[1], t[250], t[500], #table.concat(t, ","))

local function dig(n) if n == 0 then error({ code = 42 }) end return 1 + dig(n - 1) end
local caught = 0
for i = 1, 100 do
	local ok, e = pcall(dig, i % 20)
	if not ok and e.code == 42 then caught = caught + 1 end
end
print("caught", caught)

local gen = {}
for i = 1, 20 do
	gen[i] = coroutine.wrap(function()
		for j = 1, 50 do
			if j % 10 == 0 then pcall(coroutine.yield, i * j) else coroutine.yield(i * j) end
		end
		return 0
	end)
end
local sum = 0
for _ = 1, 50 do for i = 1, 20 do sum = sum + gen[i]() end end
print("sum", sum)
print("words", select(2, ("the quick brown fox "):rep(100):gsub("%w+", string.upper)))
print(pcall(string.rep, "x", -1), (pcall(error)), collectgarbage("count") > 0)
