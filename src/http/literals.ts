import { type SchemaOptions, type TLiteral, type TUnion, Type } from '@sinclair/typebox'

/** Schema of a string that is one of `texts`. */
export const literals = <const T extends string>(
  texts: readonly T[],
  options: SchemaOptions,
): TUnion<TLiteral<T>[]> =>
  Type.Union(
    texts.map((text) => Type.Literal(text)),
    options,
  )
