/** Digits as texts, for what prints numbers by the thousand. */

/** 0 to 999 with all three digits. */
export const threeDigits: readonly string[] = Array.from({ length: 1000 }, (_, value) =>
  String(value).padStart(3, '0'),
)
