// SPDX-License-Identifier: MIT
// Compiled code, calls into the runtime, many collections, a worker, exceptions: nothing of it depends on time.
const zlib = require("zlib"), crypto = require("crypto"), worker = require("worker_threads");

function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function waste(n) {
	let kept = [];
	for (let i = 0; i < n; i++)
		kept[i % 100] = { i, text: "x".repeat(i % 50), list: new Array(20).fill(i) };
	return kept.reduce((sum, x) => sum + x.text.length, 0);
}

console.log(fib(20), waste(60000), [3, 1, 2].sort(), /a(b+)/.exec("xabbb")[1]);
try { null.x; } catch (e) { console.log(e.message); }
console.log(crypto.createHash("sha256").update("x").digest("hex"), zlib.gunzipSync(zlib.gzipSync("abc")).toString());
if (worker.isMainThread)
	new worker.Worker(__filename).on("exit", (status) => console.log("worker ended", status));
