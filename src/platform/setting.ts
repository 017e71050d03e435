/** Types of settings: `accepts` describes the values, `parse` returns undefined for any other. */

/** Any text, including the empty one. */
export const anyText = (accepts: string) => ({ accepts, parse: (text: string): string => text })

/** A text that matches a pattern; `accepts` describes it in words. */
export const matching = (accepts: string, pattern: RegExp) => ({
  accepts,
  parse: (text: string): string | undefined => (pattern.test(text) ? text : undefined),
})

/** Both bounds are inclusive. */
export const integer = (min: number, max: number) => ({
  accepts: `an integer from ${min} to ${max}`,
  parse(text: string): number | undefined {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : undefined
  },
})

/** A count of units, converted to bytes. */
export const bytes = (min: number, max: number, unit: number) => ({
  ...integer(min, max),
  parse(text: string): number | undefined {
    const count = integer(min, max).parse(text)
    return count === undefined ? undefined : count * unit
  },
})

/** One of several words. */
export const oneOf = <const T extends string>(...words: readonly T[]) => ({
  accepts: `${words
    .slice(0, -1)
    .map((word) => `\`${word}\``)
    .join(', ')} or \`${words.at(-1)}\``,
  parse: (text: string): T | undefined => words.find((word) => word === text),
})

/** A switch. */
export const onOff = {
  accepts: '`on` or `off`',
  parse: (text: string) => (text === 'on' || text === 'off' ? text === 'on' : undefined),
}

/** Parses `a,b`; the result is in the order of `known`. */
export const someOf = <T extends string>(known: readonly T[]) => ({
  accepts: `some of ${known.join(',')}`,
  parse(text: string): readonly T[] | undefined {
    const names = text.split(',').map((name) => name.trim())
    const isKnown = names.every((name) => known.some((each) => each === name))
    return isKnown ? known.filter((each) => names.includes(each)) : undefined
  },
})

/** A word, or a value of another type of setting. */
export const orWord = <const W extends string, T>(
  word: W,
  other: { accepts: string; parse(text: string): T | undefined },
) => ({
  accepts: `\`${word}\`, or ${other.accepts}`,
  parse: (text: string): W | T | undefined => (text === word ? word : other.parse(text)),
})
