/** Fields of bodies of data, each kind documented the same way wherever it is. */
import { type TSchema, Type } from '@sinclair/typebox'

export const nullable = (schema: TSchema, description: string, example: unknown) =>
  Type.Union([schema, Type.Null()], { description, examples: [example] })

export const decimalOrNull = (description: string, example: number) =>
  nullable(Type.Number(), description, example)

export const time = (description: string, example: string) =>
  Type.String({ format: 'date-time', description, examples: [example] })
