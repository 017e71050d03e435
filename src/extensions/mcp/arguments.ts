/**
 * Arguments of tools as models send them: numbers or text, lists or comma-separated text, names of
 * coins in any case, `now` for a moment. Each becomes the text that a query of the API has.
 */
import { parameterError } from '#src/domain/errors.ts'
import type { openApiParameters } from '#src/http/openapi-operation.ts'
import { isRecord } from '#src/platform/record.ts'

export type Arguments = Readonly<Record<string, unknown>>
/** Parameters as JSON Schema has them. */
type Parameter = ReturnType<typeof openApiParameters>[number]

/** Below this a Unix time is of seconds. */
const SECONDS_MAX = 100_000_000_000

/** Returns what writes the arguments of a tool as text; what cannot be text is refused by name. */
export function createArgumentReader(parameters: readonly Parameter[]) {
  const readers = new Map(parameters.map((each) => [each.name, readerOf(each)]))
  return (args: Arguments, nowMs: number): Record<string, string> => {
    const texts: Record<string, string> = {}
    for (const [name, value] of Object.entries(args)) {
      // Models send null for what they leave out.
      if (value === null || value === undefined) continue
      const parts: unknown[] = Array.isArray(value) ? value : [value]
      if (parts.some((part) => isRecord(part) || Array.isArray(part))) {
        throw parameterError(name, `\`${name}\` must be a text, a number, or a list of them.`)
      }
      const read = readers.get(name) ?? plainText
      texts[name] = parts.map((part) => read(part, nowMs)).join(',')
    }
    return texts
  }
}

type Read = (part: unknown, nowMs: number) => string

const plainText: Read = (part) => String(part).trim()

function readerOf({ name, schema }: Parameter): Read {
  if (name === 'offsets') return readOffsets
  if (isMoment(schema)) return readMoment
  const { enum: choices } = schema
  if (!Array.isArray(choices)) return plainText
  return (part) => {
    const text = plainText(part, 0)
    return choices.map(String).find((each) => each === text.toLowerCase()) ?? text
  }
}

const isMoment = ({ anyOf }: Parameter['schema']): boolean =>
  Array.isArray(anyOf) && anyOf.some((each) => isRecord(each) && each.format === 'date-time')

function readMoment(part: unknown, nowMs: number): string {
  if (typeof part === 'number' && !Number.isInteger(part)) {
    return String(Math.floor(part < SECONDS_MAX ? part * 1000 : part))
  }
  const text = plainText(part, nowMs)
  return text.toLowerCase() === 'now' ? String(nowMs) : text
}

/** A number alone is of seconds before the end, with a minus sign or without. */
const readOffsets: Read = (part) =>
  plainText(part, 0)
    .split(',')
    .map((offset) => offset.trim().replace(/^-?(\d+)$/, '-$1s'))
    .join(',')
