/**
 * Everything goes wrong at the venue, in an order that a seed decides. `MIXTURE_ROUNDS=100 bun test
 * test/recorder/mixture.test.ts` is the long run; `MIXTURE_SEED` chooses other orders.
 */
import { describe, expect, test } from 'bun:test'

import { createRandom, type Random } from '#src/platform/random.ts'

import type { Fault } from '../support/venue/faults.ts'
import { faultsOf } from './judge.ts'
import { startRig } from './rig.ts'

// biome-ignore lint/style/noProcessEnv: how long a test runs is not for the product's settings.
const { MIXTURE_ROUNDS = '2', MIXTURE_SEED = 'mixture' } = process.env
const ROUNDS = Number(MIXTURE_ROUNDS)
const ROUND_MS_MAX = 300_000
const FAULTS_MAX = 25
/** Until whoever lost a book in vain several times in a row asks for it again. */
const CALM_MS = 60_000
/** What becomes right in it waits for seconds. */
const CALM_STEP_MS = 20

const drawFault = (random: Random): Fault =>
  random.pick<Fault>([
    { kind: 'drop', hasCloseFrame: random.uniform() < 0.5 },
    { kind: 'freeze' },
    { kind: 'freeze', forMs: 200 + random.integer(3000) },
    { kind: 'no-book', tokens: 1 + random.integer(3) },
    { kind: 'duplicate', frames: 1 + random.integer(20) },
    { kind: 'lose', frames: 1 + random.integer(5) },
    { kind: 'reorder', batches: 1 + random.integer(20) },
    { kind: 'corrupt-level', of: random.pick(['size', 'price']), frames: 1 + random.integer(3) },
    { kind: 'wrong-hash', batches: 1 + random.integer(3) },
    { kind: 'late-trade', trades: 1 + random.integer(3), byMs: 20 + random.integer(120) },
    { kind: 'hold', batches: 1 + random.integer(3), forMs: 50 + random.integer(2500) },
    { kind: 'garbage' },
    { kind: 'unknown-event' },
    { kind: 'slow-drip', bytes: 40, everyMs: 5 },
    { kind: 'no-upgrade', connections: 1 },
    { kind: 'refuse', forMs: 100 + random.integer(2000) },
    { kind: 'other-recipe' },
    { kind: 'clock-jump', byMs: random.integer(1500) - 500 },
    { kind: 'gamma-status', status: random.pick([429, 500]), requests: 1 + random.integer(4) },
  ])

async function suffer(seed: string) {
  const random = createRandom(seed)
  await using rig = await startRig({
    generated: { seed },
    recorder: { feedCopies: 1 + random.integer(2) },
  })
  await rig.advance(2000)
  const said: Fault[] = []
  for (let count = 5 + random.integer(FAULTS_MAX); count > 0; count--) {
    const fault = drawFault(random)
    said.push(fault)
    rig.venue.inject(fault)
    await rig.advance(random.integer(1500))
  }
  const isOther = said.filter(({ kind }) => kind === 'other-recipe').length % 2 === 1
  if (isOther) rig.venue.inject({ kind: 'other-recipe' })
  await rig.advance(CALM_MS, CALM_STEP_MS)
  await rig.quiet()
  const judgements = await rig.judgeAll()
  return { said: said.map((fault) => JSON.stringify(fault)), faults: faultsOf(judgements) }
}

describe('startRecorder at a venue where everything goes wrong', () => {
  test.each(Array.from({ length: ROUNDS }, (_, round) => `${MIXTURE_SEED}${round}`))(
    'behavior: nothing false is served, and at the end all is right: %s',
    async (seed) => {
      const { said, faults } = await suffer(seed)
      expect({ faults, said: faults.length === 0 ? [] : said }).toEqual({ faults: [], said: [] })
    },
    ROUND_MS_MAX,
  )
})
