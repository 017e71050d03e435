import { byteOf } from '#src/domain/wire/json-bytes.ts'

type Init = { status?: number; headers?: Record<string, string> }

/** Answers with JSON of known length, so that the access log has it. */
export const jsonResponse = (value: unknown, init?: Init) =>
  jsonTextResponse(JSON.stringify(value), init)

export const jsonTextResponse = (body: string, { status = 200, headers = {} }: Init = {}) =>
  new Response(body, {
    status,
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
      ...headers,
    },
  })

/** Levels of lists and objects in JSON that is sent to us; no body of ours has more than a few. */
export const NESTING_MAX = 16
/** Members at all levels; 500 moments have 1,500. */
export const NAMES_MAX = 2_000
/** Entries of lists and members; 500 moments have 2,000. */
export const VALUES_MAX = 4_000

/** Counts, without parsing, how deeply a text is nested and how many names and values it holds. */
export function measureJson(json: string): { depth: number; names: number; values: number } {
  let level = 0
  let depth = 0
  let names = 0
  let values = 1
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === byteOf.quote) at = endOfText(json, at)
    else if (code === byteOf.colon) names++
    else if (code === byteOf.comma) values++
    else if (code === byteOf.openBrace || code === byteOf.openBracket) {
      depth = Math.max(depth, ++level)
    } else if (code === byteOf.closeBrace || code === byteOf.closeBracket) level--
  }
  return { depth, names, values }
}

/** Finds a name that occurs twice in an object of valid JSON: parsers differ in which value they take. */
export function repeatedName(json: string): string | undefined {
  const open: Set<string>[] = []
  let text = ''
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === byteOf.quote) {
      const end = endOfText(json, at)
      text = json.slice(at, end + 1)
      at = end
    } else if (code === byteOf.openBrace) open.push(new Set())
    else if (code === byteOf.closeBrace) open.pop()
    else if (code === byteOf.colon) {
      const name = String(JSON.parse(text))
      if (open.at(-1)?.has(name)) return name
      open.at(-1)?.add(name)
    }
  }
  return undefined
}

/** Offset of the quote that ends a text; of the end of `json` where none does. */
function endOfText(json: string, start: number): number {
  let at = start + 1
  while (at < json.length && json.charCodeAt(at) !== byteOf.quote) {
    at += json.charCodeAt(at) === byteOf.backslash ? 2 : 1
  }
  return at
}
