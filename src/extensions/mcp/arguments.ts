/**
 * Arguments of tools as models send them: numbers or text, lists or comma-separated text, coins by
 * symbol or name, markets by URL, durations in words, days for moments, and parameters under other
 * names. Each is converted to a query parameter of the API.
 */
import { parameterError } from '#src/domain/errors.ts'
import { coins, coinTable } from '#src/domain/market.ts'
import { DAY_MS, toIsoDay } from '#src/domain/time.ts'
import type { openApiParameters } from '#src/http/openapi.ts'
import { isRecord } from '#src/platform/record.ts'

export type Arguments = Readonly<Record<string, unknown>>
/** Parameters as JSON Schema. */
type Parameter = ReturnType<typeof openApiParameters>[number]

/** A smaller Unix time is in seconds. */
const SECONDS_MAX = 100_000_000_000

/**
 * Creates a reader that converts the arguments of a tool to text; arguments that cannot be text are
 * refused by name.
 */
export function createArgumentReader(parameters: readonly Parameter[]) {
  const readers = new Map(parameters.map((each) => [each.name, readerOf(each)]))
  const nameOf = createNaming([...readers.keys()])
  return (args: Arguments, nowMs: number): Record<string, string> => {
    const texts: Record<string, string> = {}
    for (const [sent, value] of Object.entries(args)) {
      // Models send null for omitted arguments.
      if (value === null || value === undefined) continue
      const name = nameOf(sent)
      if (Object.hasOwn(texts, name) || (name !== sent && (args[name] ?? null) !== null)) {
        throw parameterError(name, `\`${name}\` is sent twice, as \`${sent}\` too. Send it once.`)
      }
      const parts: unknown[] = Array.isArray(value) ? value : [value]
      if (parts.some((part) => isRecord(part) || Array.isArray(part))) {
        throw parameterError(name, `\`${name}\` must be text, a number, or a list of these.`)
      }
      const read = readers.get(name) ?? plainText
      texts[name] = parts.map((part) => read(part, nowMs)).join(',')
    }
    return texts
  }
}

/** Other names that models send for a parameter, if the tool has no parameter of that name. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  ts: ['time', 'timestamp', 'at', 'moment'],
  market: ['slug'],
  coin: ['symbol'],
  from: ['start'],
  to: ['end'],
}

/** Creates a lookup of parameters by their own name or another one, also in snake case. */
function createNaming(names: readonly string[]): (sent: string) => string {
  const known = new Set(names)
  const others = new Map(
    names.flatMap((name) => (otherNames[name] ?? []).map((other) => [other, name] as const)),
  )
  return (sent) => {
    if (known.has(sent)) return sent
    const camel = sent.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    return others.get(camel) ?? (known.has(camel) ? camel : sent)
  }
}

type Read = (part: unknown, nowMs: number) => string

const plainText = (part: unknown): string => String(part).trim()

function readerOf({ name, schema }: Parameter): Read {
  if (name === 'offsets') return readOffsets
  if (name === 'coin') return readCoin
  if (name === 'market' || name === 'conditionId') return readMarket
  if (isTime(schema)) return readMoment
  const { enum: choices } = schema
  return Array.isArray(choices) ? choiceReader(choices.map(String)) : plainText
}

/** True of moments and of days, which are sent as a moment in them. */
const isTime = ({ anyOf }: Parameter['schema']): boolean =>
  Array.isArray(anyOf) && anyOf.some((each) => isRecord(each) && each.format === 'date-time')

/** Other words that models send for a choice: the venue calls open markets active. */
const otherWords = new Map([
  ['active', 'open'],
  ['ascending', 'asc'],
  ['descending', 'desc'],
])

/** A choice in any case; for lengths of time also `10`, `60s`, `5 minutes` and `day`. */
function choiceReader(choices: readonly string[]): Read {
  const lengths = new Map(choices.map((each) => [lengthMsOf(each), each]))
  lengths.delete(undefined)
  return (part) => {
    const text = plainText(part).toLowerCase()
    const words = [text, otherWords.get(text)]
    const choice = choices.find((each) => words.includes(each))
    return choice ?? lengths.get(lengthMsOf(text)) ?? plainText(part)
  }
}

const units = [
  [/^(s|secs?|seconds?)?$/, 1000],
  [/^(m|mins?|minutes?)$/, 60_000],
  [/^(h|hrs?|hours?|hourly)$/, 3_600_000],
  [/^(d|days?|daily)$/, DAY_MS],
] as const

/** Milliseconds of a length; a plain number is in seconds, a plain unit is one of it. */
function lengthMsOf(text: string): number | undefined {
  const [, number, unit = ''] = /^(\d+)? ?([a-z]*)$/.exec(text) ?? []
  const unitMs = units.find(([pattern]) => pattern.test(unit))?.[1]
  if (unitMs === undefined || (number === undefined && unit === '')) return undefined
  return Number(number ?? 1) * unitMs
}

/** A coin by its symbol, or by another name used by people or the venue. */
function readCoin(part: unknown): string {
  const text = plainText(part).toLowerCase()
  const found = coins.find((coin) => {
    const { name, slugNames } = coinTable[coin]
    return [coin, name.toLowerCase(), ...slugNames].includes(text)
  })
  return found ?? plainText(part)
}

/** A market by its name, or by the address of its page, which ends with its slug. */
function readMarket(part: unknown): string {
  const text = plainText(part)
  if (!text.includes('/')) return text
  const [address = ''] = text.split(/[?#]/)
  return address.split('/').findLast((step) => step !== '') ?? text
}

function readDay(part: unknown, nowMs: number): string {
  const text = plainText(part)
  const daysAgo = ['today', 'yesterday'].indexOf(text.toLowerCase())
  return daysAgo < 0 ? text : toIsoDay(nowMs - daysAgo * DAY_MS)
}

const localTime = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?)?$/i

/** A day is its first moment, and a time without a zone is in UTC. */
function readMoment(part: unknown, nowMs: number): string {
  if (typeof part === 'number' && !Number.isInteger(part)) {
    return String(Math.floor(part < SECONDS_MAX ? part * 1000 : part))
  }
  const text = readDay(part, nowMs)
  if (text.toLowerCase() === 'now') return String(nowMs)
  const [, day, minute = '00:00', second = ':00'] = localTime.exec(text) ?? []
  return day === undefined ? text : `${day}T${minute}${second}Z`
}

/** Lengths before the end, with or without a minus sign; a plain number is in seconds. */
const readOffsets = (part: unknown): string =>
  plainText(part)
    .split(',')
    .map((each) => {
      const offset = each.trim().replace(/^-\s*/, '')
      if (/^\d+(ms|s|m|h)$/.test(offset)) return `-${offset}`
      const lengthMs = lengthMsOf(offset.toLowerCase())
      return lengthMs === undefined ? each.trim() : `-${lengthMs / 1000}s`
    })
    .join(',')
