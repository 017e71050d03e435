/**
 * A facilitator in its own process: reads one line of options (JSON) from standard input, prints
 * its URL, and runs until standard input closes. So it never outlives its parent.
 */
import { createInterface } from 'node:readline'

import type { ExactFacilitatorOptions } from './exact-facilitator.ts'
import { startHttpFacilitator } from './http-facilitator.ts'

const lines = createInterface({ input: process.stdin })
lines.once('line', (line) => {
  const { url } = startHttpFacilitator(JSON.parse(line) as ExactFacilitatorOptions)
  process.stdout.write(`${url}\n`)
})
lines.once('close', () => process.exit(0))
