/**
 * Reads an 80 MB list and prints the number of addresses, how often other work ran, and the growth
 * of memory.
 */
import { readOfacList } from '#src/screening/ofac-list.ts'

import { sdnXml } from './ofac-xml.ts'

const LIST_BYTES = 80 * 1024 * 1024
const ENTRIES_PER_PIECE = 100

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const body = sdnXml().slice(sdnXml().indexOf('<sdnEntry>'), -'</sdnList>\n'.length)
const long = `<sdnEntry><remarks>${'x'.repeat(50_000)}</remarks></sdnEntry>`
const piece = bytesOf(`${body.repeat(4)}${long}`.repeat(20))
const pieces = Math.ceil(LIST_BYTES / piece.length)

async function* list(): AsyncGenerator<Uint8Array> {
  const recordCount = pieces * ENTRIES_PER_PIECE
  yield bytesOf(sdnXml({ recordCount }).split('<sdnEntry>', 1)[0] ?? '')
  for (let n = 0; n < pieces; n++) yield piece
  yield bytesOf('</sdnList>')
}

let turns = 0
let peak = 0
const before = process.memoryUsage().rss
const watch = setInterval(() => {
  turns++
  peak = Math.max(peak, process.memoryUsage().rss)
}, 5)
const { addresses } = await readOfacList(list())
clearInterval(watch)
process.stdout.write(JSON.stringify({ addresses: [...addresses], turns, growth: peak - before }))
