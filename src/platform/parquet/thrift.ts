/**
 * Thrift's compact protocol, for the headers and the footer of Parquet
 * (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
 */
import type { ByteWriter } from '#src/platform/byte-writer.ts'

type Value = boolean | number | bigint | string | Uint8Array | readonly Value[] | Struct

/** Fields by id. A number is an i32, a bigint an i64; none is negative. */
export type Struct = { readonly [id: number]: Value | undefined }

const TRUE = 1
const FALSE = 2
const I32 = 5
const I64 = 6
const BINARY = 8
const LIST = 9
const STRUCT = 12
/** The longest list whose length fits into its header byte. */
const SHORT_LIST_MAX = 14

function typeOf(value: Value): number {
  if (typeof value === 'boolean') return value ? TRUE : FALSE
  if (typeof value === 'number') return I32
  if (typeof value === 'bigint') return I64
  if (typeof value === 'string' || value instanceof Uint8Array) return BINARY
  return isList(value) ? LIST : STRUCT
}

const isList = (value: Value): value is readonly Value[] => Array.isArray(value)

function writeValue(to: ByteWriter, value: Value): void {
  if (typeof value === 'boolean') return
  // The zigzag code of a non-negative integer is twice the integer.
  if (typeof value === 'number' || typeof value === 'bigint') to.varint(Number(value) * 2)
  else if (typeof value === 'string') writeValue(to, Buffer.from(value))
  else if (value instanceof Uint8Array) {
    to.varint(value.length)
    to.bytes(value)
  } else if (isList(value)) {
    writeListHeader(to, value.length, typeOf(value[0] ?? 0))
    for (const item of value) writeValue(to, item)
  } else writeStruct(to, value)
}

function writeListHeader(to: ByteWriter, count: number, type: number): void {
  to.byte((Math.min(count, SHORT_LIST_MAX + 1) << 4) | type)
  if (count > SHORT_LIST_MAX) to.varint(count)
}

/** Writes fields after the field `last` of a struct; `writeEnd` ends the struct. */
export function writeFields(to: ByteWriter, fields: Struct, last = 0): void {
  let before = last
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue
    const id = Number(key)
    to.byte(((id - before) << 4) | typeOf(value))
    writeValue(to, value)
    before = id
  }
}

export const writeEnd = (to: ByteWriter): void => to.byte(0)

export function writeStruct(to: ByteWriter, fields: Struct): void {
  writeFields(to, fields)
  writeEnd(to)
}

/** Begins the next field, a list of structs, which the caller writes. */
export function beginStructs(to: ByteWriter, count: number): void {
  to.byte((1 << 4) | LIST)
  writeListHeader(to, count, STRUCT)
}
