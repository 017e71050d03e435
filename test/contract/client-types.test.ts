/**
 * Whether a code generator makes a usable client of the OpenAPI document: types are generated, and
 * a program that uses them as a user would must compile, while one with a mistake must not.
 */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'

import { createHarness } from '../support/harness.ts'

const document = await (await createHarness().send('/swagger/json')).text()
const types = astToString(await openapiTS(document))

const client = `
import type { paths } from './api'

type Json<Response> = Response extends { content: { 'application/json': infer Body } } ? Body : never
type Ok<Path extends keyof paths> = paths[Path] extends { get: { responses: { 200: infer R } } } ? Json<R> : never
type Query<Path extends keyof paths> = paths[Path] extends { get: { parameters: { query?: infer Q } } } ? Q : never

async function get<Path extends keyof paths>(path: Path, params: Record<string, string>, query: Query<Path>): Promise<Ok<Path>> {
  const filled = path.replace(/\\{(\\w+)\\}/g, (_, name: string) => params[name] ?? '')
  const search = new URLSearchParams(query as Record<string, string>)
  return (await (await fetch(filled + '?' + search)).json()) as Ok<Path>
}
`

/** Compiles `program` behind the client; returns what the compiler says of it. */
function compile(program: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-client-'))
  try {
    ts.sys.writeFile(join(folder, 'api.d.ts'), types)
    const main = join(folder, 'main.ts')
    ts.sys.writeFile(main, client + program)
    const built = ts.createProgram([main], {
      strict: true,
      noEmit: true,
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
      types: [],
    })
    return ts
      .getPreEmitDiagnostics(built)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe('types generated from the OpenAPI document', () => {
  test('default: a program that reads books, quotes and a panel compiles', () => {
    const program = `
const place = { coin: 'btc', conditionId: '0x' }
const page = await get('/v1/{coin}/markets/{conditionId}/snapshots', place, { limit: 10, outcome: 'up', order: 'desc' })
const best: number | undefined = page.data[0]?.bids?.[0]?.price
const cut = await get('/v1/{coin}/markets/{conditionId}/snapshots', place, { fields: 'timestamp,asks', interval: '1m' })
const asks: number = (cut.data[0]?.asks ?? []).length
const id: string | undefined = cut.data[0]?.id
const next: string | null = page.nextCursor
const quotes = await get('/v1/{coin}/markets/{conditionId}/quotes', place, { interval: '1s' })
const mid: number | null | undefined = quotes.data[0]?.mid
const step: string | undefined = quotes.data[0]?.time
const moment = await get('/v1/{coin}/markets/{conditionId}/snapshots/at', place, { ts: 1776153610672 })
const age: number = moment.data[0]!.ageMs
const since: string | undefined = moment.data[0]?.timestamp
const panel = await get('/v1/{coin}/panel', place, { timeframe: '5m', offsets: '-60s' })
const winner: 'up' | 'down' | null | undefined = panel.data[0]?.winner
const fill = await get('/v1/{coin}/markets/{conditionId}/fill', place, { ts: 1, outcome: 'up', side: 'buy', size: '10' })
const price: number | null = fill.averagePrice
export const all = [best, next, asks, id, mid, step, age, since, winner, price]
`
    expect(compile(program)).toEqual([])
  }, 300_000)

  test('case mistakes: a member that `fields` may leave out, or that needs an interval, may be missing', () => {
    const program = `
const place = { coin: 'btc', conditionId: '0x' }
const page = await get('/v1/{coin}/markets/{conditionId}/snapshots', place, { fields: 'bids' })
export const id: string = page.data[0]!.id
const moment = await get('/v1/{coin}/markets/{conditionId}/snapshots/at', place, { ts: 1, fields: 'bids' })
export const asks: object = moment.data[0]!.asks
const quotes = await get('/v1/{coin}/markets/{conditionId}/quotes', place, {})
export const time: string = quotes.data[0]!.time
`
    const faults = compile(program)
    expect(faults.map((fault) => fault.includes("'undefined' is not assignable"))).toEqual([
      true,
      true,
      true,
    ])
  }, 300_000)

  test('case mistakes: a wrong value, a missing parameter and an unknown field do not', () => {
    const program = `
const place = { coin: 'btc', conditionId: '0x' }
await get('/v1/{coin}/markets/{conditionId}/snapshots', place, { outcome: 'yes' })
await get('/v1/{coin}/markets/{conditionId}/snapshots/at', place, {})
const market = await get('/v1/{coin}/markets/{conditionId}', place, undefined)
export const volume = market.volume
`
    const faults = compile(program)
    expect(faults).toHaveLength(3)
    expect(faults[0]).toContain('"yes"')
    expect(faults[1]).toContain('ts')
    expect(faults[2]).toContain('volume')
  }, 300_000)
})
