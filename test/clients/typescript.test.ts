/** The TypeScript client against servers: types, retries, walks, numbers, failures. */
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { generatedFiles } from '#dev/release/client.ts'
import { type ApiDocument, pythonTypesOf } from '#dev/release/python-types.ts'
import { type ErrorCode, errorCodes } from '#src/domain/errors.ts'

import { Bookfeed, BookfeedError } from '../../clients/typescript/src/bookfeed.ts'
import { saveDays, saveExport } from '../../clients/typescript/src/file.ts'
import { parseExactly } from '../../clients/typescript/src/numbers.ts'
import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { readDocument } from '../support/openapi-document.ts'
import { passWaits } from '../support/pass-waits.ts'
import { ownerOf } from '../support/provoke.ts'
import { waysToFail } from '../support/ways-to-fail.ts'

const { history, both } = await createMarketHistory()
const harness = createHarness({ history })
const { entries } = await readDocument(harness.send)
const place = { coin: both.coin, conditionId: both.conditionId }
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-client-'))
afterAll(() => rmSync(folder, { recursive: true }))

type Fetch = (url: string, init: RequestInit) => Promise<Response>
const toServer: Fetch = (url, init) => harness.send(url.replace('http://localhost', ''), init)
const clientOf = (fetch: Fetch = toServer, attempts = 5) =>
  new Bookfeed({ server: 'http://localhost', fetch, attempts })

const failureOf = async (promise: Promise<unknown>): Promise<BookfeedError> => {
  const error = await promise.then(
    () => undefined,
    (cause: unknown) => cause,
  )
  if (error instanceof BookfeedError) return error
  throw new Error(`No failure of the client: ${error}`)
}

describe('types of the client', () => {
  test('default: those of TypeScript and Python, and the routes of llms.txt, are of the API document', async () => {
    const document = (await (await createHarness().send('/swagger/json')).json()) as ApiDocument
    for (const [path, text] of Object.entries(await generatedFiles(document)))
      expect([
        path,
        readFileSync(path, 'utf8') === text ? '' : 'Run: bun run client types',
      ]).toEqual([path, ''])
  }, 300_000)

  test('behavior: in Python, members that can be null are optional, and no others', async () => {
    const document = (await (await createHarness().send('/swagger/json')).json()) as ApiDocument
    const canBeNull = Object.entries(document.components.schemas).flatMap(([row, schema]) =>
      Object.entries(schema.properties ?? {}).flatMap(([member, { nullable }]) =>
        nullable ? [`${row}.${member}`] : [],
      ),
    )
    expect(canBeNull).toContain('Market.winner')
    const text = pythonTypesOf(document)
    const optional = text.split('\n)\n').flatMap((type) => {
      const [, row] = /\n?(\w+) = TypedDict\(/.exec(type) ?? []
      return [...type.matchAll(/^ +"(\w+)": Optional\[/gm)].map(([, member]) => `${row}.${member}`)
    })
    expect(optional.toSorted()).toEqual(canBeNull.toSorted())
    expect(text).not.toContain('"null"')
    expect(text).toContain('"winner": Optional[Literal["up", "down"]],')
  })

  test('behavior: npm and JSR get the version of the server', async () => {
    const versionIn = async (name: string) =>
      ((await Bun.file(join(import.meta.dir, '../..', name)).json()) as { version: string }).version
    const version = await versionIn('package.json')
    expect(await versionIn('clients/typescript/package.json')).toBe(version)
    expect(await versionIn('clients/typescript/jsr.json')).toBe(version)
  })
})

describe('failures', () => {
  const codes = (Object.keys(errorCodes) as ErrorCode[]).filter((code) => code in waysToFail)
  test.each(codes)('default: %s is an error of its code', async (code) => {
    const answer = await waysToFail[code]?.(ownerOf(entries, code))
    if (answer === undefined) throw new Error(`No way to ${code}.`)
    const problem = (await answer.clone().json()) as Record<string, unknown>
    const error = await failureOf(clientOf(async () => answer, 1).get('/v1/coins', {}))
    expect([error.code, error.status]).toEqual([code, errorCodes[code].status])
    expect(error.message).toBe(String(problem.detail))
    expect({ ...error.problem, code, detail: error.message }).toEqual(problem as never)
  })

  test('error: an answer that is no problem document, and none at all', async () => {
    const proxy = async () => new Response('<h1>Too large</h1>', { status: 413 })
    const silent = async () => Promise.reject(new TypeError('refused'))
    const refused = await failureOf(clientOf(proxy).get('/v1/coins', {}))
    expect([refused.code, refused.status]).toEqual(['unexpected_answer', 413])
    const none = await failureOf(clientOf(silent, 2).get('/v1/coins', {}))
    expect([none.code, none.status, String(none.cause)]).toEqual([
      'no_answer',
      0,
      'TypeError: refused',
    ])
  })
})

describe('retries', () => {
  /** Fails so often, then asks the server. */
  const failing = (times: number, answer: () => Response) => {
    const asked: string[] = []
    const fetch: Fetch = (url, init) => {
      asked.push(url)
      return asked.length <= times ? Promise.resolve(answer()) : toServer(url, init)
    }
    return { asked, fetch }
  }
  const busy = (seconds: string) => () =>
    new Response('', { status: 503, headers: { 'retry-after': seconds } })

  test('default: not before Retry-After, and at once where it may be', async () => {
    const { asked, fetch } = failing(2, busy('40'))
    using waits = passWaits()
    const { data } = await clientOf(fetch).get('/v1/coins', {})
    expect([data.length > 0, asked.length]).toEqual([true, 3])
    expect(waits.seconds).toEqual([40, 40])
  })

  test('behavior: a body that is cut off is asked for again', async () => {
    const cut = () =>
      new Response(new ReadableStream({ pull: (to) => to.error(new TypeError('cut')) }))
    const { asked, fetch } = failing(1, cut)
    await clientOf(fetch).get('/v1/coins', {})
    expect(asked).toHaveLength(2)
  })

  test('error: no more often than asked for, no longer than asked for, not what stays', async () => {
    for (const [answer, attempts, count] of [
      [busy('0'), 3, 3],
      [busy('3600'), 3, 1],
      [() => new Response('', { status: 404 }), 3, 1],
    ] as const) {
      const { asked, fetch } = failing(9, answer)
      await failureOf(clientOf(fetch, attempts).get('/v1/coins', {}))
      expect(asked).toHaveLength(count)
    }
  })

  test('behavior: an abort ends the wait with its own reason', async () => {
    const { fetch } = failing(9, busy('30'))
    const signal = AbortSignal.timeout(50)
    await expect(clientOf(fetch).get('/v1/coins', { signal })).rejects.toThrow('timed out')
  })
})

describe('walks', () => {
  const lists = {
    snapshots: (more: object) => clientOf().snapshots({ ...place, limit: 7, ...more }),
    descending: (more: object) => clientOf().quotes({ ...place, order: 'desc', limit: 7, ...more }),
    quotes: (more: object) => clientOf().quotes({ ...place, interval: '1s', limit: 7, ...more }),
    prices: (more: object) => clientOf().prices({ ...place, limit: 7, ...more }),
    bars: (more: object) => clientOf().prices({ ...place, interval: '1s', limit: 7, ...more }),
    trades: (more: object) => clientOf().trades({ ...place, limit: 2, ...more }),
    markets: (more: object) => clientOf().markets({ coin: both.coin, limit: 2, ...more }),
    panel: (more: object) =>
      clientOf().panel({
        coin: both.coin,
        timeframe: '5m',
        offsets: '-60s,-30s,-5s',
        limit: 2,
        ...more,
      }),
  }

  for (const [name, list] of Object.entries(lists)) {
    test(`default: ${name}, cut after every row and continued elsewhere, each once`, async () => {
      const whole: unknown[] = await list({}).take(40)
      expect(whole.length).toBeGreaterThan(1)
      for (let cut = 1; cut < whole.length; cut++) {
        const walk = list({})
        const rows: unknown[] = await walk.take(cut)
        const cursor = await walk.cursor()
        rows.push(...(await list({ cursor, limit: 3 }).take(whole.length - cut)))
        expect([cut, rows]).toEqual([cut, whole])
      }
    })
  }

  test('behavior: pages continue where a loop over rows was left', async () => {
    const walk = lists.snapshots({})
    const rows = await walk.take(3)
    for await (const { data, coverage } of walk.pages()) {
      rows.push(...data)
      expect(coverage).toBeString()
    }
    expect(rows).toEqual(await lists.snapshots({}).take(100_000))
  })

  test('behavior: one that is over gives nothing again, and a history where later rows will be', async () => {
    const [coins, quotes] = [clientOf().walk('/v1/coins', {}), lists.quotes({})]
    expect([await coins.cursor(), await quotes.cursor()]).toEqual([undefined, undefined])
    for (const walk of [coins, quotes]) await walk.take(100_000)
    expect(await coins.cursor()).toBeNull()
    expect(await clientOf().walk('/v1/coins', { cursor: null }).take(1)).toEqual([])
    expect(await quotes.cursor()).toBeString()
    expect(await lists.quotes({ cursor: await quotes.cursor() }).take(1)).toEqual([])
  })

  test('error: a cursor of another query', async () => {
    const walk = lists.snapshots({})
    await walk.take(3)
    const other = lists.descending({ cursor: await walk.cursor() })
    expect((await failureOf(other.take(1))).code).toBe('cursor_mismatch')
  })
})

describe('exact numbers', () => {
  test('default: digits as they were printed, and strings as they were', () => {
    const text = '{"a":9007199254.740993123,"b":[-0.10,1e-7,null],"c":"1 \\"2\\" \\\\","d":true}'
    expect(parseExactly(text, String)).toEqual({
      a: '9007199254.740993123',
      b: ['-0.10', '1e-7', null],
      c: '1 "2" \\',
      d: true,
    })
  })

  test('behavior: those of data alone, and the types follow', async () => {
    const exact = new Bookfeed({ server: 'http://localhost', fetch: toServer, numbers: String })
    const [row] = await exact.snapshots(place).take(1)
    const price: string | undefined = row?.bids?.[0]?.price
    const [float] = await clientOf().snapshots(place).take(1)
    expect(Number(price)).toBe(float?.bids?.[0]?.price ?? 0)
    expect(price).toBeString()
    const { data } = await exact.booksAt({
      coin: both.coin,
      requests: [
        { conditionId: both.conditionId, outcome: 'up', ts: Date.parse(row?.timestamp ?? '') },
      ],
    })
    expect(data).toHaveLength(1)
  })
})

/** Only compiled: `bun check` fails where a type is another. */
describe('types', () => {
  type Equal<A, B> =
    (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
  const holds = <T extends true>(_?: T): void => {}
  const client = clientOf()

  test('default: members of rows are there, unless the request names fields', () => {
    const books = () => client.snapshots(place)
    type Book = Awaited<ReturnType<ReturnType<typeof books>['take']>>[number]
    holds<Equal<Book['timestamp'], string>>()
    holds<Equal<Book['receivedAt'], string | null | undefined>>()
    const cut = () => client.snapshots({ ...place, fields: 'timestamp' })
    type Cut = Awaited<ReturnType<ReturnType<typeof cut>['take']>>[number]
    holds<Equal<Cut['timestamp'], string | undefined>>()
    const at = () => client.bookAt({ ...place, ts: 0 })
    type At = Awaited<ReturnType<typeof at>>['data'][number]
    holds<Equal<At['ageMs'], number>>()
    holds<Equal<At['outcome'], 'up' | 'down'>>()
    // @ts-expect-error: no such parameter
    void (() => client.snapshots({ ...place, dept: 1 }))
  })

  test('default: a stream has the rows of its channel alone', () => {
    const trades = () => client.live({ channel: 'trades', coin: 'btc' })
    type Message = typeof trades extends () => AsyncGenerator<infer M> ? M : never
    type Row = Extract<Message, { type: 'row' | 'snapshot' }>
    holds<Equal<Row['channel'], 'trades'>>()
    holds<Equal<Row['data']['price'], number>>()
    const markets = () => client.live({ channel: 'markets', coin: 'btc' })
    type Event = typeof markets extends () => AsyncGenerator<infer M> ? M : never
    holds<Equal<Extract<Event, { type: 'row' }>, never>>()
    const both = () => client.replay({ channel: 'quotes', coin: 'btc', with: 'spot' })
    type Played = typeof both extends () => AsyncGenerator<infer M> ? M : never
    holds<Equal<Extract<Played, { type: 'row' | 'snapshot' }>['channel'], 'quotes' | 'spot'>>()
  })
})

describe('exports', () => {
  test('default: a file is there once it is whole and its digest is right', async () => {
    const path = join(folder, 'market.ndjson')
    const saved = await saveExport(clientOf(), { ...place, format: 'ndjson' }, path)
    const text = readFileSync(path, 'utf8')
    expect(text.trim().split('\n')).toHaveLength(saved.snapshots)
    expect(new Bun.CryptoHasher('sha256').update(text).digest('hex')).toBe(saved.sha256)
  })

  test('error: what differs from what was sent is no file', async () => {
    using _ = passWaits()
    const path = join(folder, 'changed.ndjson')
    let count = 0
    const client = clientOf(async (url, init) => {
      const response = await toServer(url, init)
      if (!url.includes('/export?')) return response
      count++
      return new Response(`${await response.text()} `, response)
    })
    const error = await failureOf(saveExport(client, { ...place, format: 'ndjson' }, path))
    expect([error.code, count]).toEqual(['digest_mismatch', 4])
    expect([existsSync(path), existsSync(`${path}.part`)]).toEqual([false, false])
  }, 300_000)

  const sha256Of = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest('hex')
  const days = ['2026-04-12', '2026-04-13', '2026-04-14', '2026-04-15']
  const dayFiles = days.map((day) => {
    const text = `rows of ${day}`
    const name = `btc-5m-${day}-quotes-double-r1.parquet`
    return { name, day, text, isLatest: true, bytes: text.length, sha256: sha256Of(text) }
  })

  /** A server of files, of which the first answer is damaged. */
  function startFiles() {
    const requested: string[] = []
    const client = clientOf(async (url) => {
      const { pathname } = new URL(url)
      if (pathname.endsWith('/files')) return Response.json({ data: dayFiles, nextCursor: null })
      const name = pathname.split('/').at(-1) ?? ''
      requested.push(name)
      const file = dayFiles.find((each) => each.name === name)
      return new Response(requested.length === 1 ? 'damaged' : file?.text)
    })
    return { client, requested }
  }

  test('default: the files of a range of days, of which none comes twice', async () => {
    const { client, requested } = startFiles()
    const target = join(folder, 'days')
    const progress: [number, number][] = []
    const query = { coin: 'btc', kind: 'quotes', from: '2026-04-13', to: '2026-04-15' } as const
    const onProgress = (...each: [number, number]) => progress.push(each)
    const saved = await saveDays(client, { ...query, onProgress, connections: 1 }, target)
    expect(saved.map(({ day }) => day)).toEqual(['2026-04-13', '2026-04-14'])
    for (const { path, day } of saved) expect(readFileSync(path, 'utf8')).toBe(`rows of ${day}`)
    const total = dayFiles.slice(1, 3).reduce((sum, { bytes }) => sum + bytes, 0)
    expect(progress.at(-1)).toEqual([total, total])
    // The damaged one was requested again.
    expect(requested).toHaveLength(3)

    await saveDays(client, query, target)
    expect(requested).toHaveLength(3)
    await Bun.write(saved[0]?.path ?? '', 'changed')
    await saveDays(client, query, target)
    expect(requested.slice(3)).toEqual([saved[0]?.name ?? ''])
  })

  test('error: once a file fails no other begins, and what is there is whole', async () => {
    const target = join(folder, 'broken-days')
    const requested: string[] = []
    const client = clientOf(async (url) => {
      const { pathname } = new URL(url)
      if (pathname.endsWith('/files')) return Response.json({ data: dayFiles, nextCursor: null })
      requested.push(pathname)
      if (requested.length === 2) return Response.json({ code: 'tier_route' }, { status: 403 })
      return new Response(dayFiles[requested.length - 1]?.text)
    })
    const query = { coin: 'btc', kind: 'quotes', connections: 1 } as const
    expect((await failureOf(saveDays(client, query, target))).status).toBe(403)
    expect(requested).toHaveLength(2)
    expect(readdirSync(target)).toEqual([dayFiles[0]?.name ?? ''])
  })
})
