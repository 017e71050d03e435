/** Makes untrusted text safe to show: it cannot move the cursor, or colour or reverse a line. */

const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Replaces control characters, bidirectional marks and line separators by U+FFFD. */
export const toPrintable = (text: string): string => text.replace(unprintable, '\uFFFD')
