/** Saves what a picture shows as a file of the visitor's. */

import { colorOf } from './theme.ts'

function save(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  // The browser has taken it by the next turn.
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000)
}

export type Cell = string | number | null | undefined

/** A number without what sums of binary fractions add to it: `0.21`, not `0.21000000000000002`. */
const printCell = (cell: Cell): Cell =>
  typeof cell === 'number' ? Number(cell.toPrecision(DIGITS)) : (cell ?? '')
const DIGITS = 15

export function saveCsv(rows: Iterable<readonly Cell[]>, name: string): void {
  let text = ''
  for (const row of rows) text += `${row.map(printCell).join(',')}\n`
  save(new Blob([text], { type: 'text/csv' }), `${name}.csv`)
}

/** Above a picture, what it is and what its colours mean; below it, of when it is and where it is from. */
export type Caption = { title: string; legend: readonly Meaning[]; notes: readonly string[] }
type Meaning = { text: string; color: string; alpha: number }
const LINE = 20
const MARGIN = 8
const SQUARE = 10
const FONT = '13px system-ui, sans-serif'

/** Where parts stand, on as many lines as they take. */
function flow(widths: readonly number[], gap: number, room: number) {
  let left = 0
  let line = 0
  return widths.map((width) => {
    if (left > 0 && left + width > room) [left, line] = [0, line + 1]
    const place = { left: MARGIN + left, line }
    left += width + gap
    return place
  })
}

/** Where addresses may be broken, which have no spaces. */
const BREAKS = /(?<=[ /?&])/

/** Finds room for lines below a picture of a width, and returns how they are painted. */
function layOutNotes(context: CanvasRenderingContext2D, notes: readonly string[], width: number) {
  const lines: string[] = []
  for (const note of notes) {
    let line = ''
    for (const piece of note.split(BREAKS)) {
      const isFull = context.measureText(line + piece).width > width - 2 * MARGIN
      if (isFull && line !== '') lines.push(line)
      line = isFull ? piece : line + piece
    }
    lines.push(line)
  }
  const paint = (ink: string, top: number) => {
    context.fillStyle = ink
    for (const [at, line] of lines.entries())
      context.fillText(line.trimEnd(), MARGIN, top + (at + 1) * LINE - 3, width - 2 * MARGIN)
  }
  return { height: lines.length * LINE + MARGIN, paint }
}

/** Finds room for a caption above a picture of a width, and returns how it is painted. */
function layOut(context: CanvasRenderingContext2D, { title, legend }: Caption, width: number) {
  const widthOf = (text: string) => context.measureText(text).width
  const room = width - 2 * MARGIN
  const words = title.split(' ')
  const wordPlaces = flow(words.map(widthOf), widthOf(' '), room)
  const below = (wordPlaces.at(-1)?.line ?? 0) + 1
  const parts = legend.map(({ text }) => SQUARE + MARGIN + widthOf(text))
  const partPlaces = flow(parts, 2 * MARGIN, room)
  const lines = below + (partPlaces.at(-1)?.line ?? -1) + 1
  const paint = (ink: string) => {
    const write = (text: string, left: number, line: number) => {
      context.fillStyle = ink
      context.fillText(text, left, (line + 1) * LINE - 3, room)
    }
    for (const [at, { left, line }] of wordPlaces.entries()) write(words[at] ?? '', left, line)
    for (const [at, { text, color, alpha }] of legend.entries()) {
      const { left, line } = partPlaces[at] ?? { left: MARGIN, line: 0 }
      context.fillStyle = color
      context.globalAlpha = alpha
      context.fillRect(left, (below + line) * LINE + MARGIN, SQUARE, SQUARE)
      context.globalAlpha = 1
      write(text, left + SQUARE + MARGIN, below + line)
    }
  }
  return { height: lines * LINE + MARGIN, paint }
}

/** The picture on the ground that it is seen on, between its caption and its notes. */
export function savePng(picture: HTMLCanvasElement, caption: Caption, name: string): void {
  // A picture that is shown has more pixels than its place, on a fine screen.
  const scale = picture.clientWidth > 0 ? picture.width / picture.clientWidth : 1
  const canvas = document.createElement('canvas')
  const context = canvas.getContext('2d')
  if (context === null) return
  context.font = FONT
  const { height, paint } = layOut(context, caption, picture.width / scale)
  const notes = layOutNotes(context, caption.notes, picture.width / scale)
  const head = Math.ceil(height * scale)
  canvas.width = picture.width
  canvas.height = picture.height + head + Math.ceil(notes.height * scale)
  context.fillStyle = colorOf('--surface')
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(picture, 0, head)
  context.scale(scale, scale)
  // Another size of a canvas takes it away.
  context.font = FONT
  paint(colorOf('--ink'))
  notes.paint(colorOf('--ink-soft'), (picture.height + head) / scale)
  canvas.toBlob((blob) => blob && save(blob, `${name}.png`))
}
