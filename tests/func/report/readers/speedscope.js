// Prints what speedscope imports from a file: of each profile its unit, its frames' own and total times, and the number of calls.
// The package is a page without modules, so its script runs here without a page. It ends where it wants to draw; by then its import
// function exists, and is found as the one that "paste" calls.
import { readFileSync, readdirSync } from 'node:fs'
import { runInThisContext } from 'node:vm'

const dir = new URL('./node_modules/speedscope/dist/release/', import.meta.url)
const script = readdirSync(dir).find(name => /^speedscope-.*\.js$/.test(name))
const text = readFileSync(new URL(script, dir), 'utf8')
const importer = /await (\w+)\("From Clipboard",/.exec(text)[1]
const page = { addEventListener() {}, location: { hash: '', protocol: 'file:' }, localStorage: {} }
Object.assign(globalThis, { window: page, document: page, localStorage: {} })
const log = console.log
console.log = console.error
try {
	runInThisContext(text.replace('(()=>{', `(()=>{globalThis.importText=(...a)=>${importer}(...a);`), { filename: script })
} catch {		// drawing, without a page
}
const group = await globalThis.importText('profile.speedscope.json', readFileSync(process.argv[2], 'utf8'))
for (const profile of group.profiles) {
	const open = new Map()
	profile.forEachCall(node => open.set(node.frame, (open.get(node.frame) ?? 0) + 1), () => {})
	const frames = []
	profile.forEachFrame(f => frames.push({ name: f.name, self: f.getSelfWeight(), total: f.getTotalWeight(), calls: open.get(f) ?? 0 }))
	log(JSON.stringify({ name: profile.getName(), unit: profile.getWeightUnit(), total: profile.getTotalWeight(), frames }))
}
