/** OpenAPI 3.0 as a plain object: TypeBox writes JSON Schema, which 3.0 only resembles. */
import { isDeepStrictEqual } from 'node:util'

import { assert } from '#src/lib/assert.ts'
import { isRecord } from '#src/lib/record.ts'

export type OpenApiSchema = Record<string, unknown>
type Named = Record<string, OpenApiSchema>

/**
 * Translates a TypeBox schema: `examples` becomes `example`, a literal or a union of them an
 * `enum`, a union with null `nullable`. An `enum` says null too: 3.0.3 has `nullable` not add to
 * it. A schema with an `$id` goes to `named`, and a reference to it takes its place. The result
 * shares nothing with the schema.
 */
export function toOpenApiSchema(schema: object, named: Named): OpenApiSchema {
  // The copy drops TypeBox's symbols, which a copy key by key would have to know.
  return translate(JSON.parse(JSON.stringify(schema)) as OpenApiSchema, named)
}

function translate({ $id, ...schema }: OpenApiSchema, named: Named): OpenApiSchema {
  const result = translatePlain(schema, named)
  if (typeof $id !== 'string') return result
  named[$id] ??= result
  assert(isDeepStrictEqual(named[$id], result), 'A name is of one schema.')
  return { $ref: `#/components/schemas/${$id}` }
}

function translatePlain(schema: OpenApiSchema, named: Named): OpenApiSchema {
  const { examples, anyOf, const: literal, ...rest } = schema
  const union = Array.isArray(anyOf) ? translateUnion(anyOf as OpenApiSchema[], named) : {}
  const result: OpenApiSchema = { ...rest, ...union }
  if (literal !== undefined) result.enum = [literal]
  if (Array.isArray(examples)) result.example = examples[0]
  if (isRecord(result.items)) result.items = translate(result.items, named)
  if (isRecord(result.properties)) {
    result.properties = Object.fromEntries(
      Object.entries(result.properties).map(([name, property]) => [
        name,
        translate(property as OpenApiSchema, named),
      ]),
    )
  }
  return result
}

function translateUnion(options: readonly OpenApiSchema[], named: Named): OpenApiSchema {
  const others = options.filter((option) => option.type !== 'null')
  const nullable = others.length < options.length ? { nullable: true } : {}
  const [only] = others
  if (only && others.length === 1) {
    // In place: beside a reference `nullable` would count for nothing.
    const { $id: _, ...inline } = only
    return { ...withNull(translate(inline, named), options), ...nullable }
  }
  if (others.every((option) => typeof option.const === 'string')) {
    const literals = { type: 'string', enum: others.map((option) => option.const) }
    return { ...withNull(literals, options), ...nullable }
  }
  return { anyOf: others.map((option) => translate(option, named)), ...nullable }
}

function withNull(schema: OpenApiSchema, options: readonly OpenApiSchema[]): OpenApiSchema {
  const isNullable = options.some((option) => option.type === 'null')
  return isNullable && Array.isArray(schema.enum)
    ? { ...schema, enum: [...schema.enum, null] }
    : schema
}
