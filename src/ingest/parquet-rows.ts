/** Reads rows of Parquet files as texts, so that no decimal becomes a float. */

import { gunzipSync, zstdDecompressSync } from 'node:zlib'

import { parquetMetadataAsync, parquetRead, type SchemaElement } from 'hyparquet'

import { Fault } from '#src/platform/fault.ts'
import { messageOf } from '#src/platform/message.ts'

import type { Row } from './table-forms.ts'

/** The maximum number of rows in memory. */
const ROWS_AT_ONCE = 50_000
/** The first and the last bytes of every Parquet file. */
const MAGIC = 'PAR1'

/** True if a file is Parquet by its name or first bytes, even if it is damaged. */
export const isParquet = (path: string, head: string): boolean =>
  head.startsWith(MAGIC) || /\.parquet$/i.test(path)

/** Opens a file; throws a `source` fault. */
export async function openParquet(path: string) {
  const blob = Bun.file(path)
  const file = {
    byteLength: blob.size,
    slice: (start: number, end?: number) => blob.slice(start, end).arrayBuffer(),
  }
  const metadata = await guard(() => parquetMetadataAsync(file))
  const elements = new Map(metadata.schema.slice(1).map((each) => [each.name, each]))
  // Values are read as stored, because the library would convert decimals to floats.
  const schema = metadata.schema.map(({ converted_type, logical_type, ...element }) =>
    converted_type === 'UTF8' ? { ...element, converted_type } : element,
  )
  const count = Number(metadata.num_rows)

  async function* rows(): AsyncGenerator<Row[], void, undefined> {
    for (let rowStart = 0; rowStart < count; rowStart += ROWS_AT_ONCE) {
      let read: Record<string, unknown>[] = []
      const rowEnd = Math.min(count, rowStart + ROWS_AT_ONCE)
      await guard(() =>
        parquetRead({
          file,
          rowStart,
          rowEnd,
          compressors,
          rowFormat: 'object',
          metadata: { ...metadata, schema },
          onComplete(found: Record<string, unknown>[]) {
            read = found
          },
        }),
      )
      yield read.map((values) => (column) => toText(values[column], elements.get(column)))
    }
  }
  return { columns: topLevelNames(metadata.schema), rows }
}

/** Column names, except members of lists and groups. */
function topLevelNames(schema: readonly SchemaElement[]): string[] {
  const found: string[] = []
  const skip = (at: number): number => {
    let next = at + 1
    for (let child = 0; child < (schema[at]?.num_children ?? 0); child++) next = skip(next)
    return next
  }
  for (let at = 1; at < schema.length; at = skip(at)) found.push(schema[at]?.name ?? '')
  return found
}

const compressors = {
  GZIP: (bytes: Uint8Array) => new Uint8Array(gunzipSync(bytes)),
  ZSTD: (bytes: Uint8Array) => new Uint8Array(zstdDecompressSync(bytes)),
}

/** Converts any error of the library to a fault of the file. */
async function guard<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    const expected = `it begins and ends with ${MAGIC}, and is read whole`
    throw new Fault(`not a sound Parquet file (${expected}): ${messageOf(cause)}`, {
      kind: 'source',
      cause,
    })
  }
}

const decoder = new TextDecoder()

function toText(value: unknown, element: SchemaElement | undefined): string {
  if (value === undefined || value === null) return ''
  const type = element?.logical_type?.type ?? element?.converted_type
  if (type === 'DECIMAL') return toDecimal(toInteger(value), element?.scale ?? 0)
  if (type?.startsWith('TIMESTAMP')) return String(toInteger(value) / perMs(element))
  if (value instanceof Uint8Array) return decoder.decode(value)
  return typeof value === 'object' ? JSON.stringify(value, withTexts) : String(value)
}

/** Prints lists and groups as JSON, with bytes and large integers as texts. */
function withTexts(_: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return decoder.decode(value)
  return typeof value === 'bigint' ? String(value) : value
}

/** Reads big-endian bytes; no value is negative. */
const toInteger = (value: unknown): bigint =>
  value instanceof Uint8Array
    ? BigInt(`0x${Buffer.from(value).toString('hex') || '0'}`)
    : BigInt(String(value))

function perMs({ logical_type: logical, converted_type: type }: SchemaElement = { name: '' }) {
  const unit = logical?.type === 'TIMESTAMP' ? logical.unit : type?.slice('TIMESTAMP_'.length)
  return { MICROS: 1000n, NANOS: 1_000_000n }[String(unit)] ?? 1n
}

function toDecimal(integer: bigint, scale: number): string {
  const digits = String(integer).padStart(scale + 1, '0')
  const point = digits.length - scale
  const fraction = digits.slice(point).replace(/0+$/, '')
  return fraction === '' ? digits.slice(0, point) : `${digits.slice(0, point)}.${fraction}`
}
