-- demo.lua - what `make demo` records: places queens on a board and counts the words of its own source
local function safe(queens, row, col)
	for r = 1, row - 1 do
		local c = queens[r]
		if c == col or math.abs(c - col) == row - r then return false end
	end
	return true
end

local function solve(n, row, queens, found)
	if row > n then return found + 1 end
	for col = 1, n do
		if safe(queens, row, col) then
			queens[row] = col
			found = solve(n, row + 1, queens, found)
		end
	end
	return found
end

local function count_words(path)
	local words, total = {}, 0
	for line in io.lines(path) do
		for word in line:gmatch("%a+") do
			words[word] = (words[word] or 0) + 1
			total = total + 1
		end
	end
	local list = {}
	for word in pairs(words) do list[#list + 1] = word end
	table.sort(list, function(a, b) return words[a] > words[b] or words[a] == words[b] and a < b end)
	return total, list[1], words[list[1]]
end

print(("%d ways to place 8 queens"):format(solve(8, 1, {}, 0)))
print(("%d words here, most often '%s' (%d)"):format(count_words(arg[0])))
