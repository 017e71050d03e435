/** Marks of a heat map: small ones that a larger mark would cover become a part of it. */

/** Marks in order of time. A group is drawn in one colour, and a mark in one shape. */
export type Marks = {
  times: Float64Array
  prices: Float64Array
  radii: Float64Array
  groups: Uint8Array
}
export const removedKinds = ['pulled', 'traded'] as const

export type Mark = { ms: number; price: number; radius: number; group: number }

export const toMarks = (marks: readonly Mark[]): Marks => ({
  times: Float64Array.from(marks, ({ ms }) => ms),
  prices: Float64Array.from(marks, ({ price }) => price),
  radii: Float64Array.from(marks, ({ radius }) => radius),
  groups: Uint8Array.from(marks, ({ group }) => group),
})

/** The radius of the largest trade; the area of a dot is to that of the largest as their sizes. */
export const DOT_MAX = 11
/** The radius of the largest cross. */
export const MARK_MAX = 6

/** Rule by which a mark takes in those of its group within `reach`. */
export type Merging = {
  reach: (radius: number, group: number) => number
  /** The largest radius. */
  radiusMax: number
  /** Leaves what would be larger beside the mark, so that every area is the sum of its parts. */
  isExact: boolean
}

/** A dot takes in trades whose middle it covers, up to the size of the largest trade. */
export const tradeMerging: Merging = {
  reach: (radius) => radius,
  radiusMax: DOT_MAX,
  isExact: true,
}

/** Sides of a diamond are this much longer than those of a cross. */
export const DIAMOND = 1.5

/** Crosses and diamonds do not touch others of their kind. */
export const removedMerging: Merging = {
  reach: (_, group) => 2 * MARK_MAX * (removedKinds[group] === 'traded' ? DIAMOND : 1) + 1,
  radiusMax: MARK_MAX,
  isExact: false,
}

/** The time and the price that one pixel spans. */
export type PixelSize = { ms: number; price: number }

/** Merged marks, by the size of a pixel. */
const merged = new WeakMap<Marks, Map<string, Marks>>()
/** Marks are merged again when the zoom changes by this factor. */
const ZOOM_STEP = Math.SQRT2

/**
 * Marks that would cover others of their group, as one mark with the area of all; the largest come
 * first and keep their place. Dragging the picture merges the same marks.
 */
export function mergeMarks(marks: Marks, { ms, price }: PixelSize, merging: Merging): Marks {
  const msPerPixel = ZOOM_STEP ** Math.round(Math.log(ms) / Math.log(ZOOM_STEP))
  const sizes = merged.get(marks) ?? new Map<string, Marks>()
  const size = `${msPerPixel} ${price}`
  const found = sizes.get(size) ?? merge(marks, { ms: msPerPixel, price }, merging)
  // A change of the picture's height makes all earlier sizes useless.
  if (sizes.size >= SIZES_MAX) sizes.clear()
  merged.set(marks, sizes.set(size, found))
  return found
}
const SIZES_MAX = 30

const orders = new WeakMap<Marks, Uint32Array>()

/** Indexes of marks, that of the largest one first. */
function largestFirst(marks: Marks): Uint32Array {
  const { radii } = marks
  const order =
    orders.get(marks) ??
    Uint32Array.from(radii.keys()).sort((a, b) => (radii[b] ?? 0) - (radii[a] ?? 0) || a - b)
  orders.set(marks, order)
  return order
}

function merge(marks: Marks, pixel: PixelSize, { reach, radiusMax, isExact }: Merging): Marks {
  const { times, prices, radii, groups } = marks
  const firstMs = times[0] ?? 0
  const xs = times.map((ms) => (ms - firstMs) / pixel.ms)
  const ys = prices.map((price) => price / pixel.price)
  const areas = radii.map((radius) => radius ** 2)
  const areaMax = isExact ? radiusMax ** 2 : Infinity
  const kept: number[] = []
  /** By square and group: the last index in `listed` of the kept marks in and around the square. */
  const squares = new Map<number, number>()
  const listed: number[] = []
  const before: number[] = []
  const sides = [0, 1, 2].map((group) => reach(radiusMax, group))

  for (const index of largestFirst(marks)) {
    const group = groups[index] ?? 0
    const side = sides[group] ?? 1
    const area = areas[index] ?? 0
    const x = xs[index] ?? 0
    const y = ys[index] ?? 0
    const square = Math.floor(x / side) * ROWS + Math.floor(y / side) * sides.length + group
    let taker = -1
    for (let item = squares.get(square) ?? -1; item >= 0; item = before[item] ?? -1) {
      const each = listed[item] ?? 0
      const own = areas[each] ?? 0
      const far = ((xs[each] ?? 0) - x) ** 2 + ((ys[each] ?? 0) - y) ** 2
      if (own + area > areaMax || far >= reach(Math.sqrt(own), group) ** 2) continue
      taker = each
      break
    }
    if (taker >= 0) {
      areas[taker] = (areas[taker] ?? 0) + area
      continue
    }
    kept.push(index)
    for (let near = 0; near < 9; near++) {
      const around = square + (Math.floor(near / 3) - 1) * ROWS + ((near % 3) - 1) * sides.length
      before.push(squares.get(around) ?? -1)
      squares.set(around, listed.push(index) - 1)
    }
  }
  // Indexes are in order of time.
  kept.sort((a, b) => a - b)
  return toMarks(
    kept.map((index) => ({
      ms: times[index] ?? 0,
      price: prices[index] ?? 0,
      radius: Math.min(radiusMax, Math.sqrt(areas[index] ?? 0)),
      group: groups[index] ?? 0,
    })),
  )
}

/** More than the squares of all groups from top to bottom of any picture. */
const ROWS = 30_000
