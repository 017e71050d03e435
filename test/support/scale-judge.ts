/**
 * Compares the acknowledgements of a load with the stored data, without the code that reads our
 * stores: by HTTP bodies, plain SQL and the chain.
 */
import { SQL } from 'bun'

import { toIso } from '#src/domain/time.ts'

import { conditionIdOf } from '../history/books.ts'
import { faultsOf, judge } from '../recorder/judge.ts'
import { startKillableServer } from './killable-server.ts'
import { findBrokenInvariants, readTransfers } from './payment-invariants.ts'
import {
  type Answer,
  appended,
  asKey,
  codeOf,
  type Load,
  pageOf,
  request,
  type Row,
} from './scale-load.ts'
import { addDrillKey, type ScaleWorld } from './scale-world.ts'

/**
 * The age from which acknowledged data must be in a body or on a stream; otherwise `/readyz` must
 * fail.
 */
const STALE_MS = 3_000
const LOOK_MS = 200
const CAUGHT_UP_MS_MAX = 60_000
/**
 * Looks granted to a new stream, or one that was suspended with its server, to report that it is
 * late.
 */
const LATE_LOOKS = 50
const TRIES_MAX = 50
/** Rows of a batch of `append-process.ts`. */
const BATCH_ROWS = 30
const LISTS = ['snapshots', 'quotes']

/** The batch of a row. */
const batchOf = (number: number): number => Math.floor((number - 1) / 1000)
const numberOf = ({ bids }: Row): number => Math.round((bids[0]?.size ?? 0) * 1e6)

/** The newest batch that every server must have by now. */
function knownBatch({ appends }: Load): number {
  const byMs = performance.now() - STALE_MS
  return Math.max(-1, ...[...appends].flatMap(([n, { atMs }]) => (atMs < byMs ? n : [])))
}

/** Data that a server omits, or accepts, in contradiction to an old acknowledgement. */
async function findStale(origin: string, key: string, of: Load) {
  const { keys } = of
  const byMs = performance.now() - STALE_MS
  const known = knownBatch(of)
  const page = await request(origin + pageOf(appended, 'limit=10&order=desc'), asKey(key))
  const stale: string[] = []
  const rows = page.status === 200 ? (JSON.parse(page.text) as { data: Row[] }).data : []
  const newest = Math.max(-1, ...rows.map((row) => batchOf(numberOf(row))))
  if (page.status === 200 && newest < known) stale.push(`serves batch ${newest} and not ${known}`)
  const statusOf = async (held: string) =>
    (await request(`${origin}/v1/btc/markets?limit=1`, asKey(held))).status
  const revoked = keys.findLast(({ revokedMs = Infinity }) => revokedMs < byMs)
  if (revoked !== undefined && (await statusOf(revoked.key)) === 200)
    stale.push('lets in a revoked key')
  const made = keys.findLast(({ revokedMs }) => revokedMs === undefined)
  if (made !== undefined && (await statusOf(made.key)) === 401 && made.revokedMs === undefined)
    stale.push('does not know a key')
  return stale
}

/** A live stream of the appended market, until its server ends it. */
function follow(origin: string, key: string) {
  const { headers } = asKey(key) as { headers: Record<string, string> }
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/v1/stream`, { headers })
  const stream = {
    origin,
    /** Undefined until it has sent a row. */
    newest: undefined as number | undefined,
    isStale: false,
    isOver: false,
    /** Consecutive looks in which it was late without reporting it. */
    lateLooks: 0,
    close: () => socket.close(),
  }
  const wish = { op: 'subscribe', id: 'drill', channel: 'snapshots', coin: 'btc' }
  socket.onopen = () => socket.send(JSON.stringify({ ...wish, conditionId: appended }))
  socket.onclose = () => (stream.isOver = true)
  socket.onmessage = ({ data: text }: MessageEvent<string>) => {
    const { type, data } = JSON.parse(text) as { type: string; data?: Row }
    if (type === 'stale' || type === 'current') stream.isStale = type === 'stale'
    if ((type !== 'row' && type !== 'snapshot') || data === undefined) return
    stream.newest = Math.max(stream.newest ?? -1, batchOf(numberOf(data)))
  }
  return stream
}

type Stream = ReturnType<typeof follow>

/** Data that a stream lacks in contradiction to an old acknowledgement, without reporting it. */
function findLate(stream: Stream, of: Load): string[] {
  const { newest, isStale } = stream
  const known = knownBatch(of)
  const isLate = newest !== undefined && newest < known && !isStale
  stream.lateLooks = isLate ? stream.lateLooks + 1 : 0
  if (stream.lateLooks < LATE_LOOKS) return []
  stream.lateLooks = 0
  return [`stale: a stream has batch ${newest} and not ${known}, and does not say so`]
}

/** Looks for stale data on servers that report ready, and on streams that report current. */
export function watchStale({ servers }: ScaleWorld, key: string, of: Load) {
  let isOver = false
  const streams = new Map<ScaleWorld['servers'][number], Stream>()
  async function look(server: ScaleWorld['servers'][number]): Promise<void> {
    const life = server.life()
    if (life === undefined || server.isSuspended()) return
    const open = streams.get(server)
    if (open === undefined || open.isOver || open.origin !== life.origin)
      streams.set(server, follow(life.origin, key))
    else of.findings.push(...findLate(open, of))
    if ((await findStale(life.origin, key, of)).length === 0) return
    const ready = await request(`${life.origin}/readyz`)
    const stale = await findStale(life.origin, key, of)
    if (ready.status === 200) of.findings.push(...stale.map((each) => `stale: ready, but ${each}`))
  }
  async function watch(): Promise<void> {
    for (; !isOver; await Bun.sleep(LOOK_MS))
      // A server that does not respond serves nothing stale.
      for (const server of servers) await look(server).catch(() => {})
  }
  const watching = watch()
  return async (): Promise<void> => {
    isOver = true
    await watching
    for (const stream of streams.values()) stream.close()
  }
}

/** Every page of a list as served; for a problem its code, because its id differs. */
async function readList(origin: string, key: string, path: string): Promise<string[]> {
  const bodies: string[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const query = `limit=1000${cursor === '' ? '' : `&cursor=${cursor}`}`
    const { status, text } = await readPatiently(`${origin}${path}?${query}`, key)
    if (status !== 200) return [...bodies, `${status} ${codeOf(text)}`]
    bodies.push(text)
    cursor = (JSON.parse(text) as { nextCursor: string | null }).nextCursor
  }
  return bodies
}

/** Retries while a server on a busy machine requests it. */
async function readPatiently(url: string, key: string): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const answer = await request(url, asKey(key))
    if (answer.status !== 503 || tries === TRIES_MAX) return answer
    await Bun.sleep(LOOK_MS)
  }
}

const timeOf = ({ timestamp }: Row): number => Date.parse(timestamp)

const rowsIn = (bodies: readonly string[]): Row[] =>
  bodies.flatMap((text) => (text.startsWith('{') ? (JSON.parse(text) as { data: Row[] }).data : []))

function* judgeAppends({ appends }: Load, rows: readonly Row[]): Generator<string> {
  const counts = new Map<number, number>()
  for (const row of rows) counts.set(numberOf(row), (counts.get(numberOf(row)) ?? 0) + 1)
  for (const [number, count] of counts) if (count > 1) yield `doubled: appended row ${number}`
  for (const batch of appends.keys())
    for (let at = 1; at <= BATCH_ROWS; at++)
      if (!counts.has(batch * 1000 + at)) yield `lost: row ${at} of batch ${batch}`
}

function* judgeRows({ rows: read }: Load, rows: readonly Row[]): Generator<string> {
  const kept = new Map(rows.map((row) => [row.id, JSON.stringify(row)]))
  if (kept.size < rows.length) yield `doubled: ${rows.length - kept.size} ids of rows`
  for (const [id, text] of read) if (kept.get(id) !== text) yield `lost: row ${id}, which was read`
}

/** Checks tables with plain SQL, after all our programs have ended. */
async function judgeTables({ postgres, chain }: ScaleWorld, of: Load, hasKilledServer: boolean) {
  await using sql = new SQL(postgres.url, { max: 1 })
  const found: string[] = []
  const batches = await sql`SELECT id, accepted FROM bookfeed.batch WHERE id LIKE 'numbered-%'`
  const accepted = new Map(
    batches.map((row: { id: string; accepted: number }) => [row.id, Number(row.accepted)]),
  )
  for (const number of of.appends.keys())
    if (accepted.get(`numbered-${number}`) !== BATCH_ROWS)
      found.push(`lost: batch ${number} in SQL`)
  const stored =
    await sql`SELECT id, encode(digest, 'hex') AS digest, revoked_ms FROM bookfeed_ledger.api_key`
  const digestOf = (key: string) => new Bun.CryptoHasher('sha256').update(key).digest('hex')
  const byDigest = new Map(stored.map((row: { digest: string }) => [row.digest, row]))
  for (const { key, revokedMs } of of.keys) {
    const row = byDigest.get(digestOf(key)) as { revoked_ms: number | null } | undefined
    if (row === undefined) found.push('lost: a key')
    else if (revokedMs !== undefined && row.revoked_ms === null) found.push('lost: a revocation')
  }
  const reader = byDigest.get(digestOf(of.key)) as { id: string } | undefined
  const [usage] = await sql`SELECT coalesce(sum(requests), 0)::int AS requests
    FROM bookfeed_ledger.usage WHERE key_id = ${reader?.id ?? ''}`
  const { sent, answered } = of.readings
  if (usage.requests > sent) found.push(`doubled: usage ${usage.requests} of ${sent} requests`)
  // A killed server loses the counts in its memory, as documented.
  if (usage.requests < answered && !hasKilledServer)
    found.push(`lost: usage ${usage.requests} of ${answered} answers`)
  const transfers = await readTransfers({ rpcUrl: chain.url, payTo: chain.payee.address })
  for (const { wallet, accountId } of of.buyers) {
    const payer = wallet.address.toLowerCase()
    const moved = transfers.filter(({ from }) => from === payer).map(({ amount }) => amount)
    const signed = of.signed.flatMap((each) => (each.payer === payer ? each.amount : []))
    const [row] = await sql`SELECT count(*)::int AS periods FROM bookfeed_ledger.subscription
      WHERE account_id = ${accountId} AND payment_id IS NOT NULL`
    if (String(moved) !== String(signed)) found.push(`payments: signed ${signed}, moved ${moved}`)
    if (row.periods !== signed.length)
      found.push(`payments: ${signed.length}, periods: ${row.periods}`)
  }
  return found
}

/** Compares everything acknowledged with the stored data; ends all programs. */
export async function judgeAll(
  world: ScaleWorld,
  of: Load,
  { sinceMs = 0, hasKilledServer = false },
) {
  const { servers, venue, postgres, chain } = world
  for (const recorder of world.recorders) await recorder.kill()
  const markets = [conditionIdOf(1), appended, world.hot, world.cold]
  const recorded = venue.markets().map(({ conditionId }) => conditionId)
  const paths = [...markets, ...recorded].flatMap((id) =>
    LISTS.map((list) => `/v1/btc/markets/${id}/${list}`),
  )
  const [first = '', second = ''] = servers.map((server) => server.life()?.origin ?? '')
  const bodies = new Map<string, string[]>()
  const judging = await addDrillKey(world)
  const compare = async (origin: string, name: string): Promise<string[]> => {
    const differences: string[] = []
    for (const path of paths) {
      const expected = String(bodies.get(path))
      const body = String(await readList(origin, judging, path))
      const at = [...expected].findIndex((letter, index) => letter !== body[index])
      const part = (text: string) => text.slice(Math.max(0, at - 60), at + 60)
      if (body !== expected)
        differences.push(`${path} of ${name} has ${part(body)}, the first server ${part(expected)}`)
    }
    return differences
  }
  const rowsOf = (ids: readonly string[]) =>
    ids.flatMap((id) => rowsIn(bodies.get(`/v1/btc/markets/${id}/snapshots`) ?? []))
  const look = async (): Promise<string[]> => {
    for (const path of paths) bodies.set(path, await readList(first, judging, path))
    const empty = markets
      .map((id) => `/v1/btc/markets/${id}/snapshots`)
      .flatMap((path) => {
        const texts = bodies.get(path) ?? []
        return rowsIn(texts).length === 0 ? [`${path}: ${texts}`] : []
      })
    return [
      ...empty,
      ...judgeAppends(of, rowsOf(markets.slice(0, 2))),
      ...judgeRows(of, rowsOf(recorded)),
      ...(await compare(second, 'the second server')),
    ]
  }
  // Both servers may be behind for as long as the machine is busy.
  const endMs = performance.now() + CAUGHT_UP_MS_MAX
  let found = await look()
  while (found.length > 0 && performance.now() < endMs) found = await look()
  const ask = async (path: string) => JSON.parse((await request(first + path, asKey(judging))).text)
  for (const market of venue.markets()) {
    const rows = rowsOf([market.conditionId])
    const lastOf = (outcome: string) =>
      Date.parse(rows.findLast((row) => row.outcome === outcome)?.timestamp ?? toIso(0))
    const heldMs = Math.min(lastOf('up'), lastOf('down'))
    const states = venue.played(market.conditionId).filter((each) => each.timestampMs <= heldMs)
    if (states.length === 0) continue
    const judgement = await judge(ask, { market, states })
    found.push(...faultsOf([judgement]))
    for (const { outcome, fromMs, toMs, reason } of judgement.gaps) {
      // A market is listed long before its window, and recorded once it is found.
      if (toMs <= sinceMs || reason === 'not_open') continue
      const times = rows.filter((row) => row.outcome === outcome).map(timeOf)
      const held = times.filter((ms) => fromMs < ms && ms < toMs).length
      const played = states.filter((each) => fromMs < each.timestampMs && each.timestampMs < toMs)
      const span = `${toIso(fromMs)} to ${toIso(toMs)} of ${market.slug} ${outcome}`
      found.push(`gap: ${span}, ${reason}, with ${held} rows of ${played.length} states`)
    }
  }
  for (const server of servers) await server.stop()
  found.push(...(await judgeTables(world, of, hasKilledServer)))
  const evidence = { rpcUrl: chain.url, payTo: chain.payee.address, ledgerPath: postgres.url }
  found.push(...(await findBrokenInvariants({ ...evidence, answers: of.given })))
  const commands = [
    ['verify'],
    ['audit', 'verify'],
    ['copy', '--keep-source', '--from', postgres.url, '--to', world.fileServerEnv.BOOKFEED_DATA],
  ]
  for (const words of commands) {
    const { exitCode, printed, errors } = await world.run(...words)
    if (exitCode !== 0) found.push(`${words[0]}: ${printed}${errors}`)
  }
  const file = await startKillableServer(world.fileServerEnv)
  found.push(...(await compare(file.origin, 'a file')))
  await file.kill()
  return found
}
