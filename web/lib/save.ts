/** Saves the content of a chart as a file. */

import { partsOf, type Sign, SIGN_HEIGHT, SIGN_WIDTH } from './signs.ts'
import { colorOf } from './theme.ts'

function save(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  // The browser has read the address by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000)
}

export type Cell = string | number | null | undefined

/** A number without the rounding errors of sums: `0.21`, not `0.21000000000000002`. */
const printCell = (cell: Cell): Cell =>
  typeof cell === 'number' ? Number(cell.toPrecision(DIGITS)) : (cell ?? '')
const DIGITS = 15

export function saveCsv(rows: Iterable<readonly Cell[]>, name: string): void {
  let text = ''
  for (const row of rows) text += `${row.map(printCell).join(',')}\n`
  save(new Blob([text], { type: 'text/csv' }), `${name}.csv`)
}

/** Lines above a picture (title, meaning of the colours) and below it (time, source). */
export type Caption = { title: string; legend: readonly Meaning[]; notes: readonly string[] }
type Meaning = { text: string; color: string; alpha: number; sign: Sign | undefined }
const LINE = 20
const MARGIN = 8
const SIGN_ROOM = SIGN_WIDTH + 6
const FONT = '13px system-ui, sans-serif'

/**
 * Reads a legend: each text with its sign, in the colour of the sign, and with the words that a
 * narrow screen leaves out. `data-saved` replaces a text in a saved picture.
 */
export const readLegend = (section: HTMLElement): Meaning[] =>
  [...section.querySelectorAll<HTMLElement>('.legend > span:not(.unseen)')]
    .map((part): Meaning => {
      const words = [...part.childNodes].filter(
        (each) => !(each instanceof Element && each.matches('.narrow')),
      )
      const shown = words.map(({ textContent }) => textContent).join('')
      const text = (part.dataset.saved ?? shown).replace(/\s+/g, ' ').trim()
      const rect = part.querySelector('rect')
      if (rect !== null) {
        const { fill, fillOpacity } = getComputedStyle(rect)
        return { text, color: fill, alpha: Number(fillOpacity), sign: 'square' }
      }
      const key = part.querySelector<HTMLElement>('[data-sign]')
      const { color } = getComputedStyle(key ?? part)
      return { text, color, alpha: 1, sign: key?.dataset.sign as Sign | undefined }
    })
    .filter(({ text }) => text !== '')

/** Paints a sign with its left upper corner at a place. */
function paintSign(
  context: CanvasRenderingContext2D,
  { sign, color, alpha }: Meaning,
  left: number,
  top: number,
): void {
  if (sign === undefined) return
  context.save()
  context.translate(left, top)
  Object.assign(context, { fillStyle: color, strokeStyle: color })
  for (const part of partsOf(sign)) {
    context.globalAlpha = alpha * (part.alpha ?? 1)
    if ('width' in part) {
      context.lineWidth = part.width
      context.stroke(new Path2D(part.path))
    } else context.fill(new Path2D(part.path))
  }
  context.restore()
}

/** Positions of parts, wrapped onto lines. */
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

/** Characters after which an address, which has no spaces, may wrap. */
const BREAKS = /(?<=[ /?&])/

/**
 * Lays out lines below a picture of a width; returns their height and a function that paints them.
 */
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

/**
 * Lays out a caption above a picture of a width; returns its height and a function that paints it.
 */
function layOut(context: CanvasRenderingContext2D, { title, legend }: Caption, width: number) {
  const widthOf = (text: string) => context.measureText(text).width
  const room = width - 2 * MARGIN
  const words = title.split(' ')
  const wordPlaces = flow(words.map(widthOf), widthOf(' '), room)
  const below = (wordPlaces.at(-1)?.line ?? 0) + 1
  const signRoom = ({ sign }: Meaning) => (sign === undefined ? 0 : SIGN_ROOM)
  const parts = legend.map((meaning) => signRoom(meaning) + widthOf(meaning.text))
  const partPlaces = flow(parts, 2 * MARGIN, room)
  const lines = below + (partPlaces.at(-1)?.line ?? -1) + 1
  const paint = (ink: string) => {
    const write = (text: string, left: number, line: number) => {
      context.fillStyle = ink
      context.fillText(text, left, (line + 1) * LINE - 3, room)
    }
    for (const [at, { left, line }] of wordPlaces.entries()) write(words[at] ?? '', left, line)
    for (const [at, meaning] of legend.entries()) {
      const { left, line } = partPlaces[at] ?? { left: MARGIN, line: 0 }
      const top = (below + line + 1) * LINE - 3 - SIGN_HEIGHT + 2
      paintSign(context, meaning, left, top)
      write(meaning.text, left + signRoom(meaning), below + line)
    }
  }
  return { height: lines * LINE + MARGIN, paint }
}

/** The picture on its background, between its caption and its notes. */
export function savePng(picture: HTMLCanvasElement, caption: Caption, name: string): void {
  // On a screen of high density, a canvas has more pixels than its box.
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
  // Resizing a canvas resets its font.
  context.font = FONT
  paint(colorOf('--ink'))
  notes.paint(colorOf('--ink-soft'), (picture.height + head) / scale)
  canvas.toBlob((blob) => blob && save(blob, `${name}.png`))
}
