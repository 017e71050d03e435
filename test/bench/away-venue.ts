/**
 * A venue in a process of its own, so that a figure of memory is the recorder's alone. Its clock is
 * that of the rig, which waits until a moment was played.
 */
import type { VenueUrls } from '../recorder/rig.ts'
import { type GeneratedOptions, generatedPlaybook } from '../support/venue/generated.ts'
import { START_MS } from '../support/venue/ground.ts'
import { startVenue } from '../support/venue/venue.ts'

type Generated = Partial<GeneratedOptions>
/** To the process: what to play, then up to when; from it: its addresses, then when it was. */
type Order = { generated: Generated } | { nowMs: number }
type Answer = { urls: VenueUrls } | { playedMs: number }

export async function openAwayVenue(generated: Generated) {
  let heard = Promise.withResolvers<Answer>()
  const child = Bun.spawn({
    cmd: [process.execPath, import.meta.filename],
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc: (answer: Answer) => heard.resolve(answer),
  })
  function ask(order: Order): Promise<Answer> {
    heard = Promise.withResolvers()
    child.send(order)
    return heard.promise
  }
  const answer = await ask({ generated })
  if (!('urls' in answer)) throw new Error('The venue did not start.')
  return {
    urls: answer.urls,
    play: async (nowMs: number): Promise<void> => void (await ask({ nowMs })),
    async [Symbol.asyncDispose]() {
      child.kill()
      await child.exited
    },
  }
}

async function serve(): Promise<void> {
  let nowMs = START_MS
  let askedMs = START_MS
  const answer = (said: Answer) => process.send?.(said)

  async function start(generated: Generated): Promise<void> {
    const playbook = generatedPlaybook({ seed: 'rig', startMs: START_MS, ...generated })
    const { marketUrl, gammaUrl, clobUrl, cryptoPriceUrl } = await startVenue({
      doesKeep: false,
      pace: { by: 'clock', clock: () => nowMs },
      playbook: {
        ...playbook,
        next(untilMs) {
          const step = playbook.next(untilMs)
          if (step === undefined && untilMs > askedMs) {
            askedMs = untilMs
            // What was played is sent in the same turn.
            setImmediate(() => answer({ playedMs: untilMs }))
          }
          return step
        },
      },
    })
    answer({ urls: { marketUrl, gammaUrl, clobUrl, cryptoPriceUrl } })
  }
  process.on('message', (order: Order) => {
    if ('nowMs' in order) nowMs = order.nowMs
    else void start(order.generated)
  })
}

if (import.meta.main) await serve()
