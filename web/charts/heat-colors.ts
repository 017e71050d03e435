/** Colours of sizes: from the ground to that of the side, by the square root of the size. */

export type Rgb = [red: number, green: number, blue: number]

/** Of `#08705f`, or `#fff`. */
export function toRgb(color: string): Rgb {
  const digits = color.length > 4 ? color.slice(1) : color.slice(1).replace(/./g, '$&$&')
  const value = Number.parseInt(digits, 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

const STEPS = 64
/** The least size has this much of the colour, so that it differs from none. */
const LEAST = 0.06

/** For each step a colour as ImageData has it. */
export function rampOf(ground: Rgb, full: Rgb): Uint32Array {
  return Uint32Array.from({ length: STEPS + 1 }, (_, step) => {
    const part = step === 0 ? 0 : LEAST + (1 - LEAST) * (step / STEPS)
    const [red, green, blue] = ground.map((base, index) =>
      Math.round(base + ((full[index] ?? 0) - base) * part),
    ) as Rgb
    return (255 << 24) | (blue << 16) | (green << 8) | red
  })
}

/** The step of a size, where `cutOff` and more is the full colour. */
export function stepOf(size: number, cutOff: number): number {
  if (size <= 0) return 0
  return Math.max(1, Math.min(STEPS, Math.round(STEPS * Math.sqrt(size / cutOff))))
}

/** The size that a share of all cells is below. */
export function quantileOf(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 1
}
