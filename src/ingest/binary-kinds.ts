/** Unsupported kinds of files, detected by their first bytes, with the conversion to use. */

const toImport = (command: string): string => `${command} | bookfeed import -`
const unpack = (command: string) => (path: string) =>
  `decompress it: ${toImport(`${command} ${path}`)}`
const asLines = (how: string) => (): string =>
  `${how} as JSON lines or CSV; bookfeed import --help has the forms`

const kinds: readonly {
  /** The name with its article. */
  name: string
  magic: readonly (string | readonly number[])[]
  /** Offset of the magic bytes; 0 by default. */
  at?: number
  next: (path: string) => string
}[] = [
  { name: 'a Zstandard file', magic: [[0x28, 0xb5, 0x2f, 0xfd]], next: unpack('zstd -dc') },
  { name: 'an xz file', magic: [[0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]], next: unpack('xz -dc') },
  {
    name: 'a bzip2 file',
    magic: Array.from({ length: 9 }, (_, level) => `BZh${level + 1}1AY`),
    next: unpack('bzip2 -dc'),
  },
  { name: 'an LZ4 file', magic: [[0x04, 0x22, 0x4d, 0x18]], next: unpack('lz4 -dc') },
  {
    name: 'a ZIP archive',
    magic: ['PK\x03\x04', 'PK\x05\x06'],
    next: (path) =>
      `extract it and import the files in it: ${toImport(`unzip -p ${path}`)} for one of lines; an .xlsx or .npz file is written as CSV first`,
  },
  {
    name: 'a 7z archive',
    magic: [[0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]],
    next: (path) => `extract it and import the files in it: 7z x ${path}`,
  },
  {
    name: 'a RAR archive',
    magic: ['Rar!\x1a'],
    next: (path) => `extract it and import the files in it: unrar x ${path}`,
  },
  {
    name: 'a tar archive',
    magic: ['ustar'],
    at: 257,
    next: (path) => `extract it and import the files in it: tar -xf ${path}`,
  },
  {
    name: 'an SQLite database',
    magic: ['SQLite format 3\0'],
    next: (path) =>
      `export its rows as CSV: sqlite3 -header -csv ${path} 'SELECT * FROM TABLE' > rows.csv; a history of this service is moved by bookfeed copy or bookfeed backup`,
  },
  { name: 'a DuckDB database', magic: ['DUCK'], at: 8, next: asLines('write its rows with COPY') },
  {
    name: 'a NumPy array',
    magic: [[0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]],
    next: asLines('write it in Python with a column for each value,'),
  },
  {
    name: 'an HDF5 file',
    magic: [[0x89, 0x48, 0x44, 0x46]],
    next: asLines('write it with pandas'),
  },
  {
    name: 'an Arrow or Feather file',
    magic: ['ARROW1', 'FEA1', [0xff, 0xff, 0xff, 0xff]],
    next: asLines('write it as Parquet, or'),
  },
  { name: 'an Avro file', magic: ['Obj\x01'], next: asLines('write it as Parquet, or') },
  {
    name: 'a Python pickle',
    magic: [2, 3, 4, 5].map((protocol) => [0x80, protocol]),
    next: asLines('open it in Python, if its source is trusted, and write it'),
  },
  {
    name: 'text in UTF-16',
    magic: [
      [0xff, 0xfe],
      [0xfe, 0xff],
    ],
    next: (path) => `write it in UTF-8: ${toImport(`iconv -f UTF-16 -t UTF-8 ${path}`)}`,
  },
]

/**
 * Names the kind of an unreadable file and the next step; undefined for a file that may be text.
 */
export function describeBinary(path: string, head: Uint8Array): string | undefined {
  const file = path === '-' ? 'FILE' : path
  const kind = kinds.find(({ magic, at = 0 }) => magic.some((each) => begins(head, at, each)))
  if (kind !== undefined) return `${kind.name}, which is not read; ${kind.next(file)}`
  if (/^\s*<(?:!doctype html|html)\b/i.test(Buffer.from(head).toString('latin1', 0, 200)))
    return 'a web page, not data; look at it: the server may have answered with an error'
  // Text contains no zero byte; Parquet is detected by its own magic bytes.
  if (head.includes(0)) return `a binary file of a kind that is not known; ${asLines('write it')()}`
  return undefined
}

function begins(head: Uint8Array, at: number, magic: string | readonly number[]): boolean {
  const bytes = typeof magic === 'string' ? Buffer.from(magic, 'latin1') : Buffer.from(magic)
  return Buffer.from(head.buffer, head.byteOffset, head.length).subarray(at).indexOf(bytes) === 0
}
