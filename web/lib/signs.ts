/** Signs of a legend, which are the same in the page and in a picture that is saved. */

export const SIGN_WIDTH = 16
export const SIGN_HEIGHT = 12

type Stroke = { path: string; width: number; alpha?: number }
type Fill = { path: string; alpha?: number }
type Part = Stroke | Fill

/** Each in a box of 16 × 12, in the colour of its text. */
export const signs = {
  line: [{ path: 'M0 6H16', width: 3 }],
  dash: [{ path: 'M0 6H6M10 6H16', width: 3 }],
  square: [{ path: 'M2 0h12v12H2z' }],
  ramp: [
    { path: 'M0 0h4v12H0z', alpha: 0.15 },
    { path: 'M4 0h4v12H4z', alpha: 0.4 },
    { path: 'M8 0h4v12H8z', alpha: 0.7 },
    { path: 'M12 0h4v12h-4z' },
  ],
  dot: [{ path: 'M8 1a5 5 0 1 1 0 10a5 5 0 1 1 0-10z' }],
  cross: [{ path: 'M4 2l8 8M12 2l-8 8', width: 1.8 }],
  diamond: [{ path: 'M8 0l6 6-6 6-6-6z' }],
  stripes: [{ path: 'M0 7L7 0M1 12L13 0M7 12L16 3', width: 1 }],
} as const satisfies Record<string, readonly Part[]>
export type Sign = keyof typeof signs

export const partsOf = (sign: Sign): readonly Part[] => signs[sign]
