/** What commands read and print alike: option values, tables, numbers, progress. */
import { Presets, SingleBar } from 'cli-progress'
import { InvalidArgumentError, Option } from 'commander'

import { type Millionths, parseMillionths } from '#src/core/decimal.ts'
import { holdsKey } from '#src/selling/api-key.ts'

import type { CliContext } from './context.ts'

const TEXT_LENGTH_MAX = 100
const ALL = 'all'
/** Takes a value away. */
const NONE = 'none'
export type OrNone<T> = T | typeof NONE

const FAULTS_SHOWN_MAX = 50
/** Between two lines of progress where nothing can be redrawn. */
const LINE_INTERVAL_MS = 5000

/** What could move the cursor, or colour or reverse the line; labels are written by strangers. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
export const toPrintable = (text: string): string => text.replace(unprintable, '\ufffd')

/** An option whose default is shown as one would write it. */
export const optionWith = <T>(
  [flags, description]: [string, string],
  parse: (text: string) => T,
  fallback: string,
): Option => new Option(flags, description).argParser(parse).default(parse(fallback), fallback)

export const integerIn =
  (min: number, max: number) =>
  (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(
      `It must be an integer from ${formatCount(min)} to ${formatCount(max)}.`,
    )
  }

/** Creates a reader of `a,b` or `all`; the list comes in the order of `known`, each item once. */
export const listOf =
  <T extends string>(known: readonly T[]) =>
  (text: string): T[] => {
    if (text === ALL) return [...known]
    const items = new Set(text.split(',').map((item) => item.trim()))
    const unknown = [...items].find((item) => !known.some((name) => name === item))
    if (unknown === undefined) return known.filter((name) => items.has(name))
    throw new InvalidArgumentError(
      `${JSON.stringify(unknown)} is none of ${known.join(', ')}; all means all of them.`,
    )
  }

/** Reads a name or a note: one line, at most 100 characters. */
export function parseText(text: string): string {
  const trimmed = text.trim()
  if (holdsKey(trimmed))
    throw new InvalidArgumentError('It must not hold a key: it is kept in clear.')
  if (trimmed !== '' && trimmed.length <= TEXT_LENGTH_MAX && toPrintable(trimmed) === trimmed) {
    return trimmed
  }
  throw new InvalidArgumentError(`It must be one line of 1 to ${TEXT_LENGTH_MAX} characters.`)
}

/** Reads an EVM address of any case; it comes in lower case. */
export function parseAddress(text: string): string {
  if (/^0x[0-9a-fA-F]{40}$/.test(text)) return text.toLowerCase()
  throw new InvalidArgumentError('It must be 0x and 40 hex digits.')
}

export function parsePrice(text: string): Millionths {
  const millionths = parseMillionths(text)
  if (millionths !== undefined) return millionths
  throw new InvalidArgumentError('It must be a plain decimal of at most six decimals, such as 49.')
}

export const orNone =
  <T>(parse: (text: string) => T) =>
  (text: string): OrNone<T> =>
    text === NONE ? NONE : parse(text)

/** What holds after an option that may be absent or `none`. */
export function given<T>(option: OrNone<T> | undefined, before: T | undefined): T | undefined {
  if (option === undefined) return before
  return option === NONE ? undefined : option
}

/** Prints rows under their header, columns as wide as their widest cell; `-` where no value is. */
export function printTable(
  { print }: CliContext,
  header: readonly string[],
  rows: readonly (readonly (string | null | undefined)[])[],
): void {
  const lines = [header, ...rows].map((row) => row.map((cell) => toPrintable(cell ?? '') || '-'))
  const widths = header.map((_, column) =>
    lines.reduce((width, line) => Math.max(width, Bun.stringWidth(line[column] ?? '')), 0),
  )
  for (const line of lines) {
    const cells = line.map(
      (cell, column) => cell + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(cell)),
    )
    print(cells.join('  ').trimEnd())
  }
}

export const renderJson = (value: unknown): string => JSON.stringify(value, undefined, 2)

export function printFaults({ print }: CliContext, faults: Iterable<string>): number {
  let count = 0
  for (const fault of faults) if (++count <= FAULTS_SHOWN_MAX) print(fault)
  return count
}

export const formatCount = (count: number): string => count.toLocaleString('en-US')

/** `3 entries`; the plural adds an s unless it is given. */
export const count = (number: number, noun: string, plural = `${noun}s`): string =>
  `${formatCount(number)} ${number === 1 ? noun : plural}`

/** Unix milliseconds as ISO 8601; what is no time of any calendar stays a number. */
export function formatTime(timeMs: number | undefined): string | undefined {
  if (timeMs === undefined) return undefined
  const time = new Date(timeMs)
  return Number.isNaN(time.getTime()) ? String(timeMs) : time.toISOString()
}

export type Progress = ReturnType<typeof createProgress>

/** A bar on a terminal; elsewhere a line now and then that begins with the `activity`. */
export function createProgress(context: CliContext, activity: string, noun: string) {
  const { isTty, clock, printError } = context
  const options = { hideCursor: true, clearOnComplete: true, stopOnComplete: false }
  const bar = isTty
    ? new SingleBar({ format: ' {bar} {text}', ...options }, Presets.shades_classic)
    : undefined
  bar?.start(1, 0, { text: 'starting' })
  const startedMs = clock()
  let printedMs = startedMs
  const seconds = () => Math.max((clock() - startedMs) / 1000, 0.001)
  const rateOf = (done: number) => `${formatCount(Math.round(done / seconds()))} ${noun}/s`
  return {
    seconds,
    rateOf,
    /** `fraction` is from 0 to 1; undefined where it is not known. */
    update(done: number, fraction: number | undefined, more: readonly string[] = []): void {
      const percent = fraction === undefined ? [] : [`${Math.floor(fraction * 100)} %`]
      const made = [`${formatCount(done)} ${noun}`, rateOf(done)]
      const text = [...percent, ...made, ...more].join(', ')
      bar?.update(fraction ?? 0, { text })
      const nowMs = clock()
      if (bar !== undefined || nowMs - printedMs < LINE_INTERVAL_MS) return
      printedMs = nowMs
      printError(`${activity}: ${text}`)
    },
    /** Prints a line, for which the bar's is cleared; the next update draws it again below. */
    note: (line: string) => printError(bar === undefined ? line : `\r\u001b[2K${line}`),
    end: () => bar?.stop(),
  }
}
