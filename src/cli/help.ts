/** Formats help for a terminal: wraps text of any line length. */

/** Longer lines of prose are hard to read. */
const WIDTH_MAX = 100
/** If less room is left beside its term, a description begins on the next line. */
const ABOUT_WIDTH_MIN = 30
/** A line with at least this indentation continues the description above it. */
export const CONTINUATION_MIN = 10
export const NO_BREAK_SPACE = '\u00a0'
/** The beginning of commander's usage line. */
const USAGE = 'Usage: '
const ROW = /^( +)(\S.*?)(?:( {2,})(\S.*))?$/

type Row = {
  /** The term with its indentation. */
  term: string
  about: string
  /** The column of the description; 0 if it had its own line. */
  column: number
}

/**
 * Wraps help to the width of a terminal. Lines without indentation are prose: they are joined and
 * wrapped. So is an item, which begins with `- ` and continues on lines with two spaces. Other
 * indented lines are rows: a term, and after two spaces its description. A term alone may be a
 * command; if it is too long, it continues on the next line as in a shell. Lines never break at a
 * no-break space, which is printed as a space. A command that is too long for a line by itself is
 * not broken, because its parts would still be too long.
 */
export function layoutHelp(text: string, columns: number): string {
  const width = Math.min(columns, WIDTH_MAX)
  const laidOut: string[] = []
  const lines = text.split('\n')
  /** Removes and returns the leading lines that match. */
  const takeWhile = (pattern: RegExp): string[] => {
    const end = lines.findIndex((line) => !pattern.test(line))
    return lines.splice(0, end === -1 ? lines.length : end)
  }
  for (let line = lines[0]; line !== undefined; line = lines[0]) {
    if (line.trim() === '' || line.startsWith(USAGE)) {
      laidOut.push(line)
      lines.shift()
    } else if (line.startsWith('- ')) {
      lines.shift()
      const rest = takeWhile(/^ {2}\S/).map((each) => each.trim())
      laidOut.push(...wrap([line, ...rest].join(' '), width, '  '))
    } else if (line.startsWith(' ')) {
      laidOut.push(...layoutRows(readRows(takeWhile(/^ +\S/)), width))
    } else {
      laidOut.push(...wrap(takeWhile(/^(?!- )\S/).join(' '), width))
    }
  }
  return laidOut.join('\n').replaceAll(NO_BREAK_SPACE, ' ')
}

/** Wraps words into lines; all but the first begin with `indent`. */
function wrap(text: string, width: number, indent = ''): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line.trim() === '' || Bun.stringWidth(longer) <= width) {
      line = longer
      continue
    }
    lines.push(line)
    line = indent + word
  }
  return [...lines, line]
}

function readRows(lines: readonly string[]): Row[] {
  const rows: Row[] = []
  for (const line of lines) {
    const [, indent = '', term = '', gap = '', about = ''] = ROW.exec(line) ?? []
    const above = rows.at(-1)
    if (indent.length >= CONTINUATION_MIN && above) {
      above.about = `${above.about} ${line.trim()}`.trim()
    } else {
      const column = about === '' ? 0 : Bun.stringWidth(indent + term + gap)
      rows.push({ term: indent + term, about, column })
    }
  }
  return rows
}

function layoutRows(rows: readonly Row[], width: number): string[] {
  const column = Math.max(...rows.map((row) => row.column))
  const room = width - column
  const isBeside =
    column > 0 &&
    (room >= ABOUT_WIDTH_MIN || rows.every(({ about }) => Bun.stringWidth(about) <= room))
  return rows.flatMap(({ term, about }) => {
    const command = breakCommand(term, width)
    if (about === '') return command
    const indent = ' '.repeat(isBeside ? column : indentOf(term) + 4)
    const lines = wrap(about, width - indent.length).map((line) => indent + line)
    if (!isBeside || Bun.stringWidth(term) > column - 2) return [...command, ...lines]
    const [first = '', ...rest] = lines
    return [term + first.slice(Bun.stringWidth(term)), ...rest]
  })
}

const indentOf = (text: string): number => text.length - text.trimStart().length

/**
 * Splits a command where a shell permits a backslash: before an option or a pipe, otherwise before
 * a word.
 */
function breakCommand(term: string, width: number): string[] {
  if (Bun.stringWidth(term) <= width) return [term]
  const indent = ' '.repeat(indentOf(term) + 4)
  const room = width - ' \\'.length
  const lines: string[] = []
  let line = ''
  for (const part of term.split(/ (?=--[a-z]|[|>] )/)) {
    const longer = line === '' ? part : `${line} ${part}`
    if (line === '' || Bun.stringWidth(longer) <= room) {
      line = longer
      continue
    }
    lines.push(line)
    line = indent + part
  }
  const broken = [...lines, line].flatMap((each) => {
    const own = each.slice(0, indentOf(each))
    const words = wrap(each.slice(own.length), room - own.length, indent.slice(own.length))
    const fits = words.every((some) => Bun.stringWidth(own + some) <= room)
    return fits ? words.map((some) => own + some) : [each]
  })
  return broken.map((each, index) => (index < broken.length - 1 ? `${each} \\` : each))
}
