import type { TSchema } from '@sinclair/typebox'

/** What a schema of a text accepts, and how to say it. */
export type TextRule = { expected: string; accepts: (text: string) => boolean }

/** Reads `minLength`, `maxLength` and `pattern` of a `Type.String`. */
export function textRuleOf({ minLength = 0, maxLength, pattern }: TSchema): TextRule {
  const min: number = minLength
  const max: number = maxLength ?? Number.MAX_SAFE_INTEGER
  const matcher = pattern === undefined ? undefined : new RegExp(pattern)
  return {
    expected: [
      'a text',
      describeLength(min, maxLength),
      matcher ? ` matching ${pattern}` : '',
    ].join(''),
    accepts: (text) =>
      text.length >= min && text.length <= max && (matcher === undefined || matcher.test(text)),
  }
}

function describeLength(min: number, max: number | undefined): string {
  if (max !== undefined) return ` of ${min} to ${max} characters`
  return min > 0 ? ` of at least ${min} characters` : ''
}
