/**
 * Colours of sizes: from the ground to that of the side, by the root or the logarithm of the size.
 */

export const sizeScales = ['root', 'log'] as const
export type SizeScale = (typeof sizeScales)[number]

export type Rgb = [red: number, green: number, blue: number]

/** Parses `#08705f` or `#fff`. */
export function toRgb(color: string): Rgb {
  const digits = color.length > 4 ? color.slice(1) : color.slice(1).replace(/./g, '$&$&')
  const value = Number.parseInt(digits, 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

const STEPS = 64
/** The smallest size has this share of the colour, so that it differs from an empty cell. */
const LEAST = 0.06

/** The colour of each step, as a pixel of ImageData. */
export function rampOf(ground: Rgb, full: Rgb): Uint32Array {
  return Uint32Array.from({ length: STEPS + 1 }, (_, step) => {
    const part = step === 0 ? 0 : LEAST + (1 - LEAST) * (step / STEPS)
    const [red, green, blue] = ground.map((base, index) =>
      Math.round(base + ((full[index] ?? 0) - base) * part),
    ) as Rgb
    return (255 << 24) | (blue << 16) | (green << 8) | red
  })
}

/** The share of the colour that a size has; from `cutOff` on, all of it. */
const partOf = (size: number, cutOff: number, scale: SizeScale): number =>
  scale === 'root' ? Math.sqrt(size / cutOff) : Math.log1p(size) / Math.log1p(cutOff)

/** The size that has half of the colour. */
export const halfOf = (cutOff: number, scale: SizeScale): number =>
  scale === 'root' ? cutOff / 4 : Math.sqrt(1 + cutOff) - 1

export function stepOf(size: number, cutOff: number, scale: SizeScale): number {
  if (size <= 0) return 0
  return Math.max(1, Math.min(STEPS, Math.round(STEPS * partOf(size, cutOff, scale))))
}

/** The size that a share of all cells is below. */
export function quantileOf(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 1
}
