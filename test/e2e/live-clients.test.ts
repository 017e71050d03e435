/** Stock clients read a live stream: curl, and the `EventSource` of a browser. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { openHistory } from '#src/history/open.ts'

import { appendAll, aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import { chromiumPath as chromium } from '../support/browser.ts'
import { parseEvents } from '../support/event-client.ts'
import { createHarness } from '../support/harness.ts'

const curl = Bun.which('curl')

const ROWS = 25
const history = openHistory(':memory:', { lagMs: 0 })
const { app, key, time } = createHarness({ history })
time.nowMs = START_MS
const path = `/v1/btc/markets/${conditionIdOf(1)}/live`
/** A page of the same origin, for which the key is added: browsers cannot send it. */
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  fetch(request) {
    if (new URL(request.url).pathname === '/') return new Response('<!doctype html><title>live')
    const headers = new Headers(request.headers)
    headers.set('authorization', `Bearer ${key}`)
    return app.fetch(new Request(request, { headers }))
  },
})
const timer = setInterval(app.tick, 2)
setDefaultTimeout(120_000)

let written = 0
async function write(count: number): Promise<void> {
  for (let row = 0; row < count; row++) {
    written++
    const outcome = written % 3 === 0 ? 'down' : 'up'
    await appendAll(history, [
      aSnapshot({ outcome, timestampMs: START_MS + written }, written * 10_000),
    ])
  }
}
await write(10)

afterAll(async () => {
  clearInterval(timer)
  Bun.WebView.closeAll()
  await server.stop(true)
  history.dispose()
})

const idsIn = (events: readonly { data: Record<string, unknown> }[]) =>
  events.map(({ data }) => Number(data.id))

describe('stock clients', () => {
  for (const query of ['', '?depth=1', '?channel=quotes']) {
    test.skipIf(!curl)(
      `default: curl -N --compressed shows each row as it is written ${query}`,
      async () => {
        const child = Bun.spawn([
          curl ?? '',
          '-sN',
          '--compressed',
          `${server.url.origin}${path}${query}`,
        ])
        let text = ''
        const first = written
        for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
          text += piece
          const last = parseEvents(text).at(-1)
          // One at a time: each is there before the next is written.
          if (last === undefined || Number(last.data.id) !== written || !text.endsWith('\n\n'))
            continue
          if (written === first + ROWS) break
          await write(1)
        }
        child.kill()
        const events = parseEvents(text)
        expect(events.map(({ name }) => name).slice(0, 3)).toEqual(['snapshot', 'snapshot', 'row'])
        expect(idsIn(events.slice(2))).toEqual(
          Array.from({ length: ROWS }, (_, at) => first + at + 1),
        )
      },
    )
  }

  test.skipIf(!chromium)(
    'default: EventSource of a browser reads it in gzip, and continues when it connects again',
    async () => {
      const argv = ['--no-sandbox', '--disable-background-networking']
      const view = new Bun.WebView({
        width: 800,
        height: 600,
        backend: { type: 'chrome', path: chromium ?? '', argv },
      })
      await view.navigate(`${server.url}`)
      await view.evaluate(`(() => {
        window.ids = []
        window.opened = 0
        window.source = new EventSource(${JSON.stringify(path)})
        source.onopen = () => opened++
        source.addEventListener('row', ({ data }) => ids.push(Number(JSON.parse(data).id)))
        })()`)
      const until = async (expression: string) => {
        while (!(await view.evaluate<boolean>(expression))) await Bun.sleep(20)
      }
      await until('opened === 1')
      const first = written
      await write(ROWS)
      await until(`ids.at(-1) === ${written}`)
      const encoding = await view.evaluate<string>(
        `fetch(${JSON.stringify(path)}).then((response) => response.headers.get('content-encoding'))`,
      )
      expect(encoding).toBe('gzip')
      // Every connection is ended; the browser comes back with `Last-Event-ID`.
      app.live.dismiss()
      await write(ROWS)
      await until(`opened === 2 && ids.at(-1) === ${written}`)
      const ids = await view.evaluate<number[]>('ids')
      expect(ids).toEqual(Array.from({ length: 2 * ROWS }, (_, at) => first + at + 1))
      await view.evaluate('source.close()')
    },
  )
})
